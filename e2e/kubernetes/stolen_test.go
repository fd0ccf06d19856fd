package kubernetes

import (
	"encoding/base64"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
	"github.com/limpet-proxy/limpet/token"
)

// evil makes a shop that of a namespace with a Gateway and a route of its own, to the same pods.
var evil = strings.NewReplacer("default", "evil", "edge", "gw", "CART", "EVIL")

// The scopes of the two rules.
const (
	shopScope = "HTTPRoute/default/cart/rule/cart"
	evilScope = "HTTPRoute/evil/cart/rule/cart"
)

// secretRoot reads the root secret that a Gateway's proxies have.
func (c *cluster) secretRoot(t *testing.T, namespace, name string) string {
	t.Helper()
	var text []byte
	eventually(t, "the Gateway has a Secret", func() bool {
		secret := c.get(t, object("v1", "Secret", namespace, name))
		if secret == nil {
			return false
		}
		encoded, _, _ := unstructured.NestedString(secret.Object, "data", "root")
		var err error
		text, err = base64.StdEncoding.DecodeString(encoded)
		return err == nil && len(text) > 0
	})
	return string(text)
}

// sealedTexts are what is sealed in what an Envoy has of limpet.
func sealedTexts(dump string) []string {
	return regexp.MustCompile(`1\.[A-Za-z0-9_-]{60,}`).FindAllString(dump, -1)
}

// TestStolenSecret: who has the Secret of a Gateway that limpet runs, and all that its proxies are sent, has the keys of the rules that
// this Gateway serves, and opens neither the ring nor another rule's. Proxies with that Secret, those with limpet's own root secret, and
// those with the ring in LIMPET_KEYS serve the same sessions, and so does whoever has the ring.
func TestStolenSecret(t *testing.T) {
	pods := []string{"10.244.0.1", "10.244.0.2", "10.244.0.3"}
	c, port := openShop(t, pods...)
	evilPort := harness.FreePort(t)
	c.set(t, evil.Replace(shopAt(evilPort)+"---"+slice(pods...)))
	defer c.remove(t, object("gateway.networking.k8s.io/v1", "Gateway", "evil", "gw"))
	const audience = "limpet.dev"
	authority := harness.NewAuthority(t)
	folder := c.setTLSSecret(t, "xds-tls", authority, harness.NewAuthority(t))
	ring := harness.NewRing("k")
	s := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, ring, "--system-namespace", "default", "--tls-cert", "secret/xds-tls",
		"--token-audience", audience, "--manage-proxies", "envoy:1", "--helper-image", "limpet:1", "--proxy-server", "localhost:18000")
	flags := func(namespace, account string) []string {
		file := filepath.Join(folder, account+".token")
		replace(t, file, c.token(t, namespace, account, audience))
		return []string{"--token-file", file, "--tls-ca", filepath.Join(folder, "server-ca.crt"), "--server-name", "localhost"}
	}
	shops, stolen := c.secretRoot(t, "default", "edge-limpet"), c.secretRoot(t, "evil", "gw-limpet")
	asShop := flags("default", "limpet-edge")
	own := s.BootstrapOf(t, harness.EdgeGateway, port, shops, asShop...).Start(t)
	mallorys := s.BootstrapOf(t, "evil/gw", evilPort, stolen, append(flags("evil", "limpet-gw"), "--admin=all")...).Start(t)
	s.AwaitAcknowledged(t)

	dump := mallorys.Admin(t, "/config_dump")
	roots, err := token.ParseRoots(stolen)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]*token.Scope{}
	for _, text := range sealedTexts(dump) {
		if plain, err := token.Unseal(roots, text); err == nil {
			t.Fatalf("the Gateway's Secret opens a ring of %d bytes", len(plain))
		}
		for _, scope := range []string{shopScope, evilScope} {
			if opened, _, err := token.OpenScope(roots, scope, text); err == nil {
				keys[scope] = opened
			}
		}
	}
	if keys[shopScope] != nil || keys[evilScope] == nil {
		t.Errorf("mallory has the keys of %v", keys)
	}
	for _, secret := range append(ring.Secrets(), shops) {
		if strings.Contains(dump, secret) {
			t.Error("the ring or the shop's root is in what mallory's Envoy shows")
		}
	}

	pinned := func(e *harness.Envoy, cookie string, scope *token.Scope) (count int) {
		for _, pod := range pods {
			answer := e.Stranger().Get(t, "/cart", "Cookie: "+cookie+"="+harness.Mint(t, scope, pod+":8080", harness.Dates{}))
			if answer.Backend == pod && len(answer.Header["Set-Cookie"]) == 0 {
				count++
			}
		}
		return count
	}
	if n := pinned(mallorys, "EVIL", keys[evilScope]); n != len(pods) {
		t.Errorf("%d of mallory's tokens lead to pods of her own rule; so this shows nothing", n)
	}
	if n := pinned(own, "CART", keys[evilScope]); n > 0 {
		t.Errorf("%d of mallory's tokens are good for the shop's rule", n)
	}

	// An Envoy that others run with limpet's own root secret.
	own.Stop()
	client := harness.NewClient(port)
	shared := s.Bootstrap(t, asShop...).Start(t)
	home := client.Get(t, "/cart").Backend
	shared.Stop()
	again := s.BootstrapOf(t, harness.EdgeGateway, port, shops, asShop...).Start(t)
	if answer := client.Get(t, "/cart"); answer.Status != http.StatusOK || answer.Backend != home {
		t.Errorf("the session of %s is at %s", home, answer.Backend)
	}
	if n := pinned(again, "CART", ring.Scope(t, shopScope)); n != len(pods) {
		t.Errorf("%d tokens of who has the ring are good", n)
	}

	// One with the ring itself, in LIMPET_KEYS.
	again.Stop()
	documents := harness.Documents{Raw: shopAt(port) + "---" + slice(pods...), Port: port}
	ringed := harness.Compile(t, harness.Deployment{Documents: documents, Keys: ring}).Start(t)
	if answer := client.Get(t, "/cart"); answer.Backend != home || len(answer.Header["Set-Cookie"]) > 0 {
		t.Errorf("with LIMPET_KEYS the session of %s is at %s", home, answer.Backend)
	}
	if all, none := pinned(ringed, "CART", ring.Scope(t, shopScope)), pinned(ringed, "CART", keys[evilScope]); all != len(pods) || none > 0 {
		t.Errorf("with LIMPET_KEYS %d tokens of who has the ring are good, and %d of mallory's", all, none)
	}
}
