package istio

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A check gives an error when what it is named after does not hold.
type check func(*testing.T, *world) error

// rounds is how many requests show that something sticks: with three hosts chance alone does it once in 3^40 times.
const rounds = 40

// sticks: a client's requests go to one host, and without its cookie they don't.
func sticks(t *testing.T, m *world) error {
	c := m.newClient()
	first := c.request(t, "/cart/add")
	if first.status != http.StatusOK || first.cookie == "" {
		return fmt.Errorf("status %d, cookie %q", first.status, first.cookie)
	}
	for range rounds {
		for _, path := range []string{"/cart/add", "/basket"} {
			if a := c.request(t, path); a.backend != first.backend || a.cookie != "" {
				return fmt.Errorf("%s went to %s with cookie %q, not to %s", path, a.backend, a.cookie, first.backend)
			}
		}
	}
	if others := m.spread(t, "/cart/add"); len(others) < 2 {
		return fmt.Errorf("without a cookie everything goes to %v", others)
	}
	return nil
}

// spread gives the hosts that answer clients without sessions.
func (m *world) spread(t *testing.T, path string) map[string]bool {
	hosts := map[string]bool{}
	for range rounds {
		hosts[m.newClient().request(t, path).backend] = true
	}
	return hosts
}

// forged: tokens that limpet did not sign bind to nothing, and get new ones.
func forged(t *testing.T, m *world) error {
	c := m.newClient()
	c.request(t, "/cart/add")
	changed := []byte(c.jar["cart"])
	if last := &changed[len(changed)-1]; *last == 'A' { // both have no spare bits, which would be refused without a look at the signature
		*last = 'Q'
	} else {
		*last = 'A'
	}
	pin := base64.StdEncoding.EncodeToString([]byte(c.request(t, "/cart/add").backend))
	for _, forgery := range []string{string(changed), pin, strings.Repeat("A", 96)} {
		hosts := map[string]bool{}
		for range rounds {
			one := m.newClient()
			one.jar["cart"] = forgery
			a := one.request(t, "/cart/add")
			if a.cookie == "" || a.cookie == "cart="+forgery {
				return fmt.Errorf("the forgery %q is taken", forgery)
			}
			hosts[a.backend] = true
		}
		if len(hosts) < 2 {
			return fmt.Errorf("the forgery %q pins to %v", forgery, hosts)
		}
	}
	return nil
}

// fencedFromClients: a client's pin header reaches no backend, with sessions or without, and steers nothing.
func fencedFromClients(t *testing.T, m *world) error {
	pin := "X-Limpet-Pin: " + base64.StdEncoding.EncodeToString([]byte(m.newClient().request(t, "/plain").backend))
	for _, path := range []string{"/plain", "/cart/add"} {
		before := m.pins()
		hosts := map[string]bool{}
		for range rounds {
			hosts[m.newClient().request(t, path, pin).backend] = true
		}
		if m.pins() != before {
			return fmt.Errorf("%s: the pin header reached a backend %d times", path, m.pins()-before)
		}
		if len(hosts) < 2 {
			return fmt.Errorf("%s: a client's pin header steers to %v", path, hosts)
		}
	}
	return nil
}

// keepsPin: the pin header of a session reaches neither the backend nor the client.
func keepsPin(t *testing.T, m *world) error {
	before := m.pins()
	c := m.newClient()
	for range rounds {
		if a := c.request(t, "/cart/add"); a.pin != "" {
			return fmt.Errorf("the client sees the pin %q", a.pin)
		}
	}
	if m.pins() != before {
		return fmt.Errorf("the pin header of sessions reached a backend")
	}
	return nil
}

// fencedFromBackends: a backend's pin header reaches no client, and moves no session.
func fencedFromBackends(t *testing.T, m *world) error {
	c := m.newClient()
	first := c.request(t, "/cart/add")
	other := first.backend
	for other == first.backend {
		other = m.newClient().request(t, "/plain").backend
	}
	plant := "X-Plant: " + base64.StdEncoding.EncodeToString([]byte(other))
	for _, path := range []string{"/plain", "/cart/add"} {
		if a := c.request(t, path, plant); a.pin != "" || a.cookie != "" {
			return fmt.Errorf("%s: a backend's pin header came through: pin %q, cookie %q", path, a.pin, a.cookie)
		}
	}
	if a := c.request(t, "/cart/add"); a.backend != first.backend {
		return fmt.Errorf("a backend moved a session from %s to %s", first.backend, a.backend)
	}
	return nil
}

// leavesAlone: what has no policy gets no cookie, with a session's cookie or without.
func leavesAlone(t *testing.T, m *world) error {
	c := m.newClient()
	c.request(t, "/cart/add")
	for range rounds {
		if a := c.request(t, "/plain"); a.cookie != "" || a.pin != "" {
			return fmt.Errorf("cookie %q, pin %q on a route without a policy", a.cookie, a.pin)
		}
	}
	return nil
}

// allChecks are the checks that every way of deploying passes.
var allChecks = map[string]check{
	"sticks": sticks, "forged tokens bind to nothing": forged, "clients can't steer": fencedFromClients,
	"the pin stays inside": keepsPin, "backends can't steer": fencedFromBackends, "other routes are left alone": leavesAlone,
}

func (m *world) passes(t *testing.T) {
	for name, c := range allChecks {
		t.Run(name, func(t *testing.T) {
			if err := c(t, m); err != nil {
				t.Error(err)
			}
		})
	}
}

// pins counts the requests that reached a backend with the pin header.
func (m *world) pins() (n int64) {
	for _, b := range m.backends {
		n += b.pins.Load()
	}
	return n
}
