package istio

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

// ofPage is what docs/istio.md says to write by hand, with the module that ships.
func ofPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/istio.md")
	if err != nil {
		t.Fatal(err)
	}
	const url = "url: oci://ghcr.io/example/limpet:v1"
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		if block, _, _ = strings.Cut(block, "```"); strings.Contains(block, "kind: WasmPlugin") {
			return swap(t, block, url, "url: file://"+shipped.wasm)
		}
	}
	t.Fatal("docs/istio.md has no WasmPlugin that is written by hand")
	return ""
}

// byHand deploys those objects in the place of all that limpet writes, and gives the gateway a ring.
func byHand(t *testing.T, d deployment, written string) deployment {
	t.Helper()
	t.Setenv("LIMPET_KEYS", `{"keys":[{"id":"old","secret":"`+secrets["old"]+`"}]}`)
	d.change = func([]object) []object { return documents(t, written) }
	return d
}

// TestByHand: the two objects of the documentation are all that Istio's gateways need, without limpet's compiler.
func TestByHand(t *testing.T) {
	t.Run("VirtualService", func(t *testing.T) { run(t, byHand(t, onVirtualService(t, ""), ofPage(t))).passes(t) })
	t.Run("Gateway API", func(t *testing.T) { run(t, byHand(t, onGatewayAPI(t, 3, 0), ofPage(t))).passes(t) })
}

// TestByHandMistakes: a first configuration that the filter refuses has all routes of the gateway answer 500, and Envoy's log has the
// reason in the filter's words. A route's name that no policy has leaves it without sessions, and that is said too.
func TestByHandMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		old, new, path, line string
		status               int
	}{
		"a misspelt field":                 {"sessionName", "sesionName", "/plain", "policies[0].sesionName: unknown field", http.StatusInternalServerError},
		"a misspelt field, with FAIL_OPEN": {"FAIL_RELOAD", "FAIL_OPEN", "/plain", "policies[0].sesionName: unknown field", http.StatusInternalServerError},
		"no keys":                          {"  vmConfig: {env: [{name: LIMPET_KEYS, valueFrom: HOST}]}\n", "", "/plain", "LIMPET_KEYS", http.StatusInternalServerError},
		"a route of another name":          {"routes: [cart, cart.basket]", "routes: [carts]", "/cart/add", `route "cart" has no policy`, http.StatusOK},
		"the session filter first":         {"INSERT_BEFORE", "INSERT_FIRST", "/cart/add", `policy "cart": a backend answered and no pin came back`, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			written := swap(t, ofPage(t), c.old, c.new)
			if strings.Contains(name, "FAIL_OPEN") {
				written = swap(t, written, "sessionName", "sesionName")
			}
			m := start(t, byHand(t, onVirtualService(t, ""), written))
			var a answer
			eventually(t, "an answer", func() (is bool) {
				var err error
				a, err = m.newClient().try(c.path)
				return err == nil
			})
			if a.status != c.status || a.cookie != "" {
				t.Errorf("%s: %+v", c.path, a)
			}
			eventually(t, "the line "+c.line, func() bool {
				text, err := os.ReadFile(m.envoy.log)
				return err == nil && strings.Contains(string(text), c.line)
			})
		})
	}
}
