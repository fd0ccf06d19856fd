package kubernetes

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// ringSecret is where TestKeysInSecret keeps its ring.
const ringSecret = "limpet-keys"

// ring reads what the Secret holds.
func (c *cluster) ring(t *testing.T) (string, policyconfig.KeyRing) {
	t.Helper()
	secret := c.get(t, object("v1", "Secret", "default", ringSecret))
	if secret == nil {
		t.Fatal("there is no Secret")
	}
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", "keys.json")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	ring, errs := policyconfig.ParseKeyRing(string(raw))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return string(raw), ring
}

// setRing writes a ring into the Secret.
func (c *cluster) setRing(t *testing.T, text string) { c.setRingOf(t, ringSecret, text) }

// setRingOf writes a ring into a Secret.
func (c *cluster) setRingOf(t *testing.T, secret, text string) {
	t.Helper()
	c.set(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: default}\ntype: limpet.dev/keys\nstringData:\n  keys.json: %q\n", secret, text))
}

// TestKeysInSecret: limpet makes the ring, follows it, keeps the last good one, and puts a fresh key in when it is time. No session
// ends by any of it, and the ring is sealed on its way.
func TestKeysInSecret(t *testing.T) {
	c, port := openShop(t, "10.244.0.1", "10.244.0.2", "10.244.0.3")
	s := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.Ring{}, "--system-namespace", "default", "--keys", "secret/"+ringSecret,
		"--rotate-keys", "30d")
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	client := envoy.Client()
	home := client.Get(t, "/cart").Backend
	stays := func(what string) {
		t.Helper()
		for range 5 {
			if at := client.Get(t, "/cart").Backend; at != home {
				t.Fatalf("%s: the session of %s is at %s", what, home, at)
			}
		}
	}
	stays("the ring that limpet made")
	made, ring := c.ring(t)
	if len(ring.Keys) != 1 {
		t.Fatalf("limpet made %d keys", len(ring.Keys))
	}

	secret := strings.Split(strings.SplitAfter(made, `"secret":"`)[1], `"`)[0]
	next := harness.NewRing("next").JSON(t)
	both := strings.TrimSuffix(strings.TrimSpace(next), "]}") + "," + strings.TrimPrefix(made, `{"keys":[`)
	c.setRing(t, both)
	eventually(t, "the other ring signs", func() bool {
		return strings.Contains(strings.Join(client.Get(t, "/cart").Header["Set-Cookie"], ""), "CART=")
	})
	stays("a ring that a person wrote")

	c.setRing(t, `{"keys":[]}`)
	eventually(t, "the bad ring is told", func() bool { return strings.Contains(s.Output(), "the key ring is invalid, and the last one stays") })
	stays("a ring that is none")

	old := strings.Replace(next, `"id":"next"`, fmt.Sprintf(`"id":"next","notBefore":%q`, time.Now().Add(-40*24*time.Hour).UTC().Format(time.RFC3339)), 1)
	s.Terminate(t)
	c.setRing(t, old)
	s.ServeAgain(t)
	eventually(t, "a fresh key is in the ring", func() bool { _, r := c.ring(t); return len(r.Keys) == 2 })
	_, rotated := c.ring(t)
	added, before := rotated.Keys[0], rotated.Keys[1]
	if time.Until(time.Unix(int64(added.NotBefore), 0)) < 50*time.Minute || before.ID != "next" ||
		time.Until(time.Unix(int64(before.NotAfter), 0)) < 30*24*time.Hour {
		t.Errorf("the fresh key signs from %s, the one before ends at %s", added.NotBefore, before.NotAfter)
	}
	s.AwaitAcknowledged(t)
	stays("a rotation")
	if strings.Contains(s.Output(), secret) || strings.Contains(envoy.Log(t), secret) {
		t.Error("a key is in a log")
	}
}
