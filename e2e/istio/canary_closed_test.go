package istio

import (
	"net/http"
	"regexp"
	"testing"
)

const leadHeader = "X-Limpet-Pin-Backend"

// leadOf is the value that leads to a version, which limpet tells the filter: CLUSTER VALUE.
func (c *canary) leadOf(t *testing.T, version string) string {
	t.Helper()
	found := regexp.MustCompile(`outbound\|80\|\|` + version + `\.\S+ ([0-9a-f]{16})`).FindStringSubmatch(dump(t, c.written))
	if found == nil {
		t.Fatalf("no lead to %s", version)
	}
	return found[1]
}

// denied lets nobody to the cart.
const denied = `
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: nobody, namespace: istio-system}
spec:
  selector: {matchLabels: {istio: ingressgateway}}
  action: DENY
  rules: [{to: [{operation: {paths: ["/cart*"]}}]}]
`

// TestCanaryIsClosed has clients name a version of weight 0 in the header that leads sessions: with the filter and without it no request
// gets there, unless limpet's early fence is away too; and what is denied is denied with the header too.
func TestCanaryIsClosed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func([]object) []object
		leads  bool
	}{
		{"with the filter", nil, false},
		{"without the filter", withoutFilter, false},
		{"without the fence", withoutPatch("NETWORK_FILTER", "early_header_mutation"), false},
		{"without either", func(all []object) []object {
			return withoutPatch("NETWORK_FILTER", "early_header_mutation")(withoutFilter(all))
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := split{weights: [3]int{50, 50, 0}, change: c.change}
			eachCanary(t, s, func(t *testing.T, canary *canary) { canary.checkClosed(t, c.leads) })
		})
	}
}

// checkClosed wants the header that leads to a version of weight 0 to lead there, or not, and to be no way around what is denied.
func (c *canary) checkClosed(t *testing.T, leads bool) {
	t.Helper()
	to := leadHeader + ": " + c.leadOf(t, "old")
	if on := c.tally(t, rounds, to); leads != (on["old"] > 0) {
		t.Errorf("a client that chooses a version of weight 0 gets to %v", on)
	}
	c.deny(t)
	if on := c.tally(t, rounds, to); on[""] != rounds {
		t.Errorf("a client that chooses a version gets to %v, which is denied", on)
	}
}

// deny lets nobody to the cart from now on.
func (c *canary) deny(t *testing.T) {
	t.Helper()
	for _, one := range configs(t, denied) {
		if _, err := c.server.Store().Create(one); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the cart is denied", func() bool { return c.newClient().request(t, "/cart/add").status == http.StatusForbidden })
}

// TestCanaryIsClosedUnloaded has Envoy refuse the module: under FAIL_OPEN too the gateway then answers 500, whoever asks. (Istio's agent
// fetches modules itself, and takes the plugin away where it can't; and Envoy takes no listener whose native filter it can't load.)
func TestCanaryIsClosedUnloaded(t *testing.T) {
	for _, route := range []string{"HTTPRoute", "VirtualService"} {
		t.Run(route, func(t *testing.T) {
			c := &canary{}
			c.world = start(t, split{route: route, filter: "wasm", weights: [3]int{50, 50, 0}, change: unloaded}.deploy(t, c))
			eventually(t, "an answer", func() bool {
				a, err := c.newClient().try("/plain")
				return err == nil && a.status == http.StatusInternalServerError
			})
			if on := c.tally(t, rounds, leadHeader+": "+c.leadOf(t, "old")); on[""] != rounds {
				t.Errorf("without the plugin a client gets to %v", on)
			}
		})
	}
}

// unloaded has the plugin be no module at all, and requests pass without it.
func unloaded(all []object) []object {
	for _, o := range all {
		if o["kind"] == "WasmPlugin" {
			spec := o["spec"].(object)
			spec["url"], spec["failStrategy"] = "file:///proc/self/status", "FAIL_OPEN"
			delete(spec, "sha256")
		}
	}
	return all
}

// withoutFilter takes the filter away, wasm or native.
func withoutFilter(all []object) []object {
	return withoutPatch("HTTP_FILTER", "limpet.native")(withoutKind("WasmPlugin")(all))
}

// TestCanaryIsAuthorized: what is denied is denied to sessions that are led to their version too, wherever the plugin stands; and no
// backend sees the header.
func TestCanaryIsAuthorized(t *testing.T) {
	eachCanary(t, split{weights: [3]int{40, 40, 20}}, func(t *testing.T, c *canary) {
		c.begin(t)
		c.checkKept(t, "before", allVersions...)
		for _, b := range c.backends {
			if n := b.leads.Load(); n > 0 {
				t.Errorf("%s saw the header %d times", b.address, n)
			}
		}
		c.deny(t)
		for name, session := range c.sessions {
			for range rounds {
				if a := session.request(t, "/cart/add"); a.status != http.StatusForbidden {
					t.Fatalf("a session in %s gets status %d from %s", name, a.status, a.backend)
				}
			}
		}
	})
}
