package istio

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// loopbacks starts backends on addresses of this machine alone that share a port.
func loopbacks(t testing.TB, n int) []*backend {
	t.Helper()
	port := freePort(t)
	var all []*backend
	for i := range n {
		all = append(all, newBackend(t, fmt.Sprintf("127.0.0.%d:%d", i+2, port)))
	}
	return all
}

func three(t testing.TB) []*backend {
	t.Helper()
	return []*backend{newBackend(t, "127.0.0.1:0"), newBackend(t, "127.0.0.1:0"), newBackend(t, "127.0.0.1:0")}
}

// keyFile writes a key ring; the first key signs.
func keyFile(t testing.TB, ids ...string) string {
	t.Helper()
	text := ""
	for _, id := range ids {
		if text != "" {
			text += ","
		}
		text += fmt.Sprintf(`{"id":%q,"secret":%q}`, id, secrets[id])
	}
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, []byte(`{"keys":[`+text+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// secrets are keys of tests, base64url of 35 bytes.
var secrets = map[string]string{
	"old": "dGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQ",
	"new": "bmV3LS1zZWNyZXQtdGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQ",
}

// onVirtualService deploys the shop with Istio's own routes.
func onVirtualService(t testing.TB, spec string, flags ...string) deployment {
	t.Helper()
	d := deployment{port: freePort(t), backends: three(t), flags: append(flags, "--keys", keyFile(t, "old"))}
	d.input = virtualService(d.port, d.backends, spec)
	return d
}

// onGatewayAPI deploys the shop with Gateway API's routes; the last hosts drain.
func onGatewayAPI(t *testing.T, hosts, draining int) deployment {
	t.Helper()
	d := deployment{port: freePort(t), backends: loopbacks(t, hosts), flags: []string{"--keys", keyFile(t, "old")}}
	d.input = d.withDraining(t, draining)
	return d
}

// withDraining is the shop when so many of its hosts drain.
func (d deployment) withDraining(t testing.TB, n int) string {
	t.Helper()
	var endpoints []endpoint
	for i := range d.backends {
		endpoints = append(endpoints, endpoint{ip: fmt.Sprintf("127.0.0.%d", i+2), draining: i >= len(d.backends)-n})
	}
	return gatewayAPI(t, d.port, d.backends[0].port(), endpoints)
}

func TestVirtualService(t *testing.T) { run(t, onVirtualService(t, "")).passes(t) }

func TestGatewayAPI(t *testing.T) { run(t, onGatewayAPI(t, 3, 0)).passes(t) }

func TestTrafficExtension(t *testing.T) {
	run(t, onVirtualService(t, "", "--istio=traffic-extension=true,phase=STATS")).passes(t)
}

func TestHeaderSessions(t *testing.T) {
	d := onVirtualService(t, "")
	d.input = virtualService(d.port, d.backends, "type: Header")
	d.input = swap(t, d.input, "  cookie: {path: /}\n", "")
	m := run(t, d)
	c := m.newClient()
	c.header = "Cart"
	first := c.request(t, "/cart/add")
	if c.token == "" {
		t.Fatal("no token in the header")
	}
	for range rounds {
		if a := c.request(t, "/cart/add"); a.backend != first.backend {
			t.Fatalf("went to %s, not to %s", a.backend, first.backend)
		}
	}
}
