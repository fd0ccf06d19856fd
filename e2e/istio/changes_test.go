package istio

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// signedBy tells whether a token is signed by a key: its tag stands behind two bytes (docs/token-format.md).
func signedBy(t *testing.T, token, key string) bool {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) < 6 {
		t.Fatalf("token %q: %v", token, err)
	}
	tag := sha256.Sum256([]byte("limpet.dev/v1 key id\x00" + key))
	return string(raw[2:6]) == string(tag[:4])
}

// TestKeyRotation changes the WasmPlugin of a running mesh twice: a new key signs next to the old one, then the old one
// goes. No session is lost, and no request fails, at any time.
func TestKeyRotation(t *testing.T) {
	d := onVirtualService(t, "")
	m := run(t, d)
	var clients []*client
	hosts := map[*client]string{}
	for range 12 {
		c := m.newClient()
		hosts[c] = c.request(t, "/cart/add").backend
		clients = append(clients, c)
	}
	all := func() {
		for _, c := range clients {
			if a := c.request(t, "/cart/add"); a.status != 200 || a.backend != hosts[c] {
				t.Fatalf("status %d from %q, not from %s", a.status, a.backend, hosts[c])
			}
		}
	}
	old := clients[0].jar["cart"]
	d.flags = []string{"--keys", keyFile(t, "new", "old")}
	m.push(t, d)
	eventually(t, "all sessions are signed by the new key", func() bool {
		all()
		for _, c := range clients {
			if !signedBy(t, c.jar["cart"], "new") {
				return false
			}
		}
		return true
	})
	d.flags = []string{"--keys", keyFile(t, "new")}
	m.push(t, d)
	eventually(t, "a token of the old key is void", func() bool {
		all()
		late := m.newClient()
		late.jar["cart"] = old
		return late.request(t, "/cart/add").cookie != ""
	})
	all()
}

// TestDraining lets two of three hosts drain in a running mesh: their sessions stay, and new ones go elsewhere.
func TestDraining(t *testing.T) {
	d := onGatewayAPI(t, 3, 0)
	m := run(t, d)
	sessions := m.drainTwo(t, d)
	for range rounds {
		for host, c := range sessions {
			if a := c.request(t, "/cart/add"); a.backend != host || a.cookie != "" {
				t.Fatalf("a session of %s went to %s", host, a.backend)
			}
		}
	}
	if err := avoidsDraining(t, m); err != nil {
		t.Error(err)
	}
}

// drainTwo begins a session on each of three hosts, by their addresses, and has two of them drain.
func (m *world) drainTwo(t *testing.T, d deployment) map[string]*client {
	t.Helper()
	sessions := map[string]*client{}
	for len(sessions) < 3 {
		c := m.newClient()
		sessions[c.request(t, "/cart/add").backend] = c
	}
	m.endpoints(t, "be", d.withDraining(t, 2))
	eventually(t, "new sessions avoid the hosts that drain", func() bool { return len(m.spread(t, "/cart/add")) == 1 })
	return sessions
}

// avoidsDraining: however many hosts drain, no new session goes to them.
func avoidsDraining(t *testing.T, m *world) error {
	if met := m.spread(t, "/cart/add"); len(met) != 1 || !met[m.backends[0].address] {
		return fmt.Errorf("clients without sessions met %v, not %s alone", met, m.backends[0].address)
	}
	return nil
}

// endpoints changes the hosts behind a Service of the shop's in the running server.
func (m *world) endpoints(t *testing.T, service, text string) {
	t.Helper()
	slices := m.server.KubeClient().Kube().DiscoveryV1().EndpointSlices("app")
	updateObject(t, text, "EndpointSlice", "app/"+service, slices.Update)
}

// updateObject writes an object of a text over the one that is in the cluster.
func updateObject[T any](
	t *testing.T, text, kind, name string, update func(context.Context, *T, metav1.UpdateOptions) (*T, error),
) {
	t.Helper()
	for _, o := range documents(t, text) {
		if o["kind"] != kind || nameOf(o) != name {
			continue
		}
		value := new(T)
		written, err := yaml.Marshal(o)
		if err == nil {
			err = yaml.Unmarshal(written, value)
		}
		if err == nil {
			_, err = update(context.Background(), value, metav1.UpdateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
