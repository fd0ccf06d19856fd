package istio

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// holder is the backend with an address.
func (m *world) holder(t *testing.T, address string) *backend {
	t.Helper()
	for _, b := range m.backends {
		if b.address == address {
			return b
		}
	}
	t.Fatalf("no backend at %q", address)
	return nil
}

// TestSessionsMoveOffDeadHosts: a session whose host refuses connections gets another and a new token at once.
func TestSessionsMoveOffDeadHosts(t *testing.T) {
	m := run(t, onVirtualService(t, ""))
	c := m.newClient()
	first := c.request(t, "/cart/add")
	m.holder(t, first.backend).server.Close()
	moved := c.request(t, "/cart/add")
	if moved.status != http.StatusOK || moved.backend == first.backend || moved.cookie == "" {
		t.Fatalf("status %d from %s with cookie %q", moved.status, moved.backend, moved.cookie)
	}
	for range rounds {
		if a := c.request(t, "/cart/add"); a.backend != moved.backend {
			t.Fatalf("went to %s, not to %s", a.backend, moved.backend)
		}
	}
}

// TestStrictSessionsFail: under onHostLost Fail a session moves neither when its host refuses connections nor when
// it is gone; it gets the policy's status.
func TestStrictSessionsFail(t *testing.T) {
	m := run(t, onVirtualService(t, strict))
	c := m.newClient()
	first := c.request(t, "/cart/add")
	lost := m.holder(t, first.backend)
	lost.server.Close()
	for range rounds {
		if a := c.request(t, "/cart/add"); a.status != http.StatusGone {
			t.Fatalf("status %d from %q while the host refuses", a.status, a.backend)
		}
	}
	var left []*backend
	for _, b := range m.backends {
		if b != lost {
			left = append(left, b)
		}
	}
	for _, o := range documents(t, virtualService(m.port, left, "")) {
		if o["kind"] == "ServiceEntry" {
			m.update(t, dump(t, []object{o}))
		}
	}
	eventually(t, "no new session is tried on the host that is gone", func() bool {
		return len(m.spread(t, "/cart/add")) == len(left) && m.served(t, lost) == 0
	})
	for range rounds {
		if a := c.request(t, "/cart/add"); a.status != http.StatusGone {
			t.Fatalf("status %d from %q when the host is gone", a.status, a.backend)
		}
	}
}

const strict = "onHostLost: Fail\n  failStatus: 410"

// served counts the hosts of a backend's address that Envoy knows.
func (m *world) served(t *testing.T, b *backend) int {
	t.Helper()
	return strings.Count(m.envoy.get(t, "/clusters"), b.address+"::cx_active")
}

// TestStrictSessionsNeedNoRetries: with Istio's own retries a session would move.
func TestStrictSessionsNeedNoRetries(t *testing.T) {
	checkNeedsNoRetries(t, onVirtualService(t, strict))
}

// checkNeedsNoRetries takes the patches of routes away, by which strict sessions are not tried again.
func checkNeedsNoRetries(t *testing.T, d deployment) {
	t.Helper()
	d.change = withoutKey("route")
	m := run(t, d)
	c := m.newClient()
	first := c.request(t, "/cart/add")
	m.holder(t, first.backend).server.Close()
	if a := c.request(t, "/cart/add"); a.status != http.StatusOK || a.backend == first.backend {
		t.Errorf("status %d from %q: the session stays without the patch too", a.status, a.backend)
	}
}

// subsets splits the hosts in two, half of the requests each.
const subsets = `
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: be, namespace: app}
spec:
  host: be.app.internal
  subsets: [{name: one, labels: {half: one}}, {name: two, labels: {half: two}}]
`

// TestSubsetsKeepTheirSessions: the weights choose a subset for new sessions alone, whatever they become; and one subset's sessions can be
// revoked.
func TestSubsetsKeepTheirSessions(t *testing.T) {
	d := onVirtualService(t, "")
	d.backends = append(d.backends, newBackend(t, "127.0.0.1:0"))
	d.input = virtualService(d.port, d.backends, "") + subsets
	d.input = swap(t, d.input, "route: [{destination: {host: be.app.internal}}]",
		"route: [{destination: {host: be.app.internal, subset: one}, weight: 50}, {destination: {host: be.app.internal, subset: two}, weight: 50}]")
	half := map[string]string{}
	for i, b := range d.backends {
		half[b.address] = []string{"one", "two"}[i%2]
		d.input = labelled(d.input, b, "half: "+half[b.address])
	}
	m := run(t, d)
	if err := sticks(t, m); err != nil {
		t.Error(err)
	}
	if met := m.spread(t, "/cart/add"); len(met) < 3 {
		t.Errorf("clients without sessions met only %v", met)
	}
	sessions := map[string]*client{}
	for len(sessions) < 2 {
		c := m.newClient()
		sessions[half[c.request(t, "/cart/add").backend]] = c
	}
	m.weighSubsets(t, d, half, sessions)
	d.input = revoking(t, d.input, "host/be.app.internal:80/one")
	m.push(t, d)
	void := sessions["one"].jar["cart"]
	eventually(t, "the session of the revoked subset is over", func() bool {
		sessions["one"].jar["cart"] = void
		return sessions["one"].request(t, "/cart/add").cookie != ""
	})
	for range rounds {
		if a := sessions["two"].request(t, "/cart/add"); half[a.backend] != "two" || a.cookie != "" {
			t.Fatalf("a session of the other subset went to %q, cookie %q", a.backend, a.cookie)
		}
	}
}

// weighSubsets changes the weights of the subsets one and two in the cluster alone: new sessions go by them, and the others stay.
func (m *world) weighSubsets(t *testing.T, d deployment, half map[string]string, sessions map[string]*client) {
	t.Helper()
	written := d.compile(t)
	for _, weights := range [][]int{{0, 100}, {100, 0}, {90, 10}} {
		m.weighVirtual(t, written, weights...)
		eventually(t, fmt.Sprintf("new sessions go by %v", weights), func() bool {
			met := map[string]bool{}
			for host := range m.spread(t, "/cart/add") {
				met[half[host]] = true
			}
			return met["one"] == (weights[0] > 0) && met["two"] == (weights[1] > 0)
		})
		for name, session := range sessions {
			for range rounds {
				if a := session.request(t, "/cart/add"); half[a.backend] != name || a.cookie != "" {
					t.Fatalf("at %v a session of subset %s went to %q, cookie %q", weights, name, a.backend, a.cookie)
				}
			}
		}
	}
}

// revoking has the shop's policy end all sessions of a backend.
func revoking(t *testing.T, input, backend string) string {
	t.Helper()
	const name = "  sessionName: cart\n"
	return swap(t, input, name, name+fmt.Sprintf("  revocation: {backends: [%q]}\n", backend+" before 2100-01-01T00:00:00Z"))
}

// TestSplitsKeepASessionInEachPart: in Gateway API 1.7 the weights choose a backend for every request, and its session the host in it.
func TestSplitsKeepASessionInEachPart(t *testing.T) {
	d := deployment{port: freePort(t), backends: loopbacks(t, 5), flags: []string{"--keys", keyFile(t, "old")}}
	input := canaryInput(d.port, d.backends[0].port(), "HTTPRoute", [3]int{50, 50, 0}, "")
	input, _, _ = strings.Cut(input, "\n---\napiVersion: limpet.dev/v1alpha1\n")
	d.input = swap(t, input, "  - name: cart\n", "  - name: cart\n    sessionPersistence: {cookie: {name: cart}}\n")
	m := run(t, d)
	c, hosts := m.newClient(), map[string]bool{}
	for range 3 * rounds {
		hosts[c.request(t, "/cart/add").backend] = true
	}
	if v1, v2 := countHosts(hosts, d.backends[:2]), countHosts(hosts, d.backends[2:4]); v1 != 1 || v2 != 1 || len(hosts) != 2 {
		t.Errorf("a client met the hosts %v", hosts)
	}
	if met := m.spread(t, "/cart/add"); len(met) < 3 {
		t.Errorf("clients without sessions met only %v", met)
	}
}

// countHosts counts those of some backends that were met.
func countHosts(met map[string]bool, backends []*backend) (n int) {
	for _, b := range backends {
		if met[b.address] {
			n++
		}
	}
	return n
}
