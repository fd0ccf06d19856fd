package e2e

import (
	"net/http"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// goneAddress is an address at which nothing listens and which is no endpoint of any Service.
const goneAddress = "127.0.0.1:9"

// unhealthy marks the endpoint of a backend as one that fails its health checks.
func unhealthy(t *testing.T, tree harness.Tree, pod *harness.Backend) {
	t.Helper()
	marked := 0
	for _, endpoint := range tree.Find(func(m map[string]any) bool { _, ok := m["endpoint"].(map[string]any); return ok }) {
		for _, address := range harness.Tree(endpoint).Find(func(m map[string]any) bool { return m["port_value"] != nil }) {
			if port, ok := address["port_value"].(float64); ok && int(port) == pod.Port() {
				endpoint["health_status"] = "UNHEALTHY"
				marked++
			}
		}
	}
	if marked == 0 {
		t.Fatal("the Envoy configuration has no such endpoint")
	}
}

// lostHosts deploys the Service "pods" of which a works, b refuses connections and c is unhealthy.
func lostHosts(t *testing.T, deployment harness.Deployment, pods []*harness.Backend) (*harness.Envoy, map[string]string) {
	t.Helper()
	edit := deployment.Tree
	deployment.Tree = func(tree harness.Tree) {
		unhealthy(t, tree, pods[2])
		if edit != nil {
			edit(tree)
		}
	}
	envoy := harness.Run(t, deployment)
	pods[1].Close()
	return envoy, map[string]string{"refuses": pods[1].Address, "unhealthy": pods[2].Address, "gone": goneAddress}
}

// TestLostHostRebalances: a session whose host can't serve goes on elsewhere, with a new token in the same response.
//
// requirements: 2A.28, S40, S42
func TestLostHostRebalances(t *testing.T) {
	t.Parallel()
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.HeaderRule("x-cart", "pods"))
	envoy, lost := lostHosts(t, deployment, pods)
	for how, address := range lost {
		for range 3 {
			text := mint(t, envoy, "cart", address, harness.Dates{})
			response := visit(t, envoy.Stranger(), "/cart", cookieLine("cart", text))
			if response.Backend != "a" {
				t.Errorf("host %s: backend %s answered", how, response.Backend)
			}
			renewed := wantToken(t, response, "cart").Value
			if got := open(t, envoy, "cart", renewed).Host.String(); got != pods[0].Address {
				t.Errorf("host %s: the new token leads to %s, want %s", how, got, pods[0].Address)
			}
			text = mint(t, envoy, "x-cart", address, harness.Dates{})
			renewed = visit(t, envoy.Stranger(), "/x-cart", "x-cart: "+text).Header.Get("x-cart")
			if got := open(t, envoy, "x-cart", renewed).Host.String(); got != pods[0].Address {
				t.Errorf("host %s: the new header leads to %s, want %s", how, got, pods[0].Address)
			}
		}
	}
	wantOutcomes(t, envoy, "cart", map[string]uint64{"moved": 9})
}

// strictly makes a route's session strict, as a compiler of onHostLost: fail has to: no retry, and no host but
// the session's.
func strictly(t *testing.T, tree harness.Tree, path string) {
	t.Helper()
	const filter = "envoy.filters.http.stateful_session"
	action, ok := tree.Route(t, path)["route"].(map[string]any)
	if !ok {
		t.Fatalf("%s is no forwarding route", path)
	}
	action["retry_policy"] = map[string]any{} // not the virtual host's either
	if harness.Native() {
		return // which goes by the policy
	}
	strict := map[string]any{"strict": true}
	for key, value := range tree.Filter(t, filter)["typed_config"].(map[string]any) {
		if key != "@type" {
			strict[key] = value
		}
	}
	perRoute, _ := tree.Route(t, path)["typed_per_filter_config"].(map[string]any)
	if perRoute == nil { // the table turns the filters on
		perRoute = map[string]any{}
		tree.Route(t, path)["typed_per_filter_config"] = perRoute
	}
	perRoute[filter] = map[string]any{
		"@type":            "type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute",
		"stateful_session": strict,
	}
}

// TestLostHostFails: under onHostLost: Fail a session answers the chosen status until its host is back, however
// the host is lost.
//
// requirements: 2A.26, S40
func TestLostHostFails(t *testing.T) {
	t.Parallel()
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.HeaderRule("x-cart", "pods"))
	fail := func(p *policyconfig.Policy) { p.OnHostLost, p.FailStatus = policyconfig.Fail, 521 }
	deployment.Policies = editing(t, map[string]func(*policyconfig.Policy){"cart": fail, "x-cart": fail})
	deployment.Tree = func(tree harness.Tree) {
		strictly(t, tree, "/cart")
		strictly(t, tree, "/x-cart")
	}
	envoy, lost := lostHosts(t, deployment, pods)
	for how, address := range lost {
		text := mint(t, envoy, "cart", address, harness.Dates{})
		response := envoy.Stranger().Get(t, "/cart", cookieLine("cart", text))
		if response.Status != 521 {
			t.Errorf("host %s: status %d, want 521", how, response.Status)
		}
		wantNoToken(t, response, "cart")
		header := envoy.Stranger().Get(t, "/x-cart", "x-cart: "+mint(t, envoy, "x-cart", address, harness.Dates{}))
		if header.Status != 521 || header.Header.Get("x-cart") != "" {
			t.Errorf("host %s: status %d, header %q", how, header.Status, header.Header.Get("x-cart"))
		}
	}
	wantOutcomes(t, envoy, "cart", map[string]uint64{"failed": 3})
	checkHostIsBack(t, envoy, pods[1])
	checkOwnErrors(t, envoy, pods[1])
}

func checkHostIsBack(t *testing.T, envoy *harness.Envoy, pod *harness.Backend) {
	t.Helper()
	back := harness.NewBackendAt(t, "b", pod.Address)
	text := mint(t, envoy, "cart", back.Address, harness.Dates{})
	if got := stay(t, envoy.Stranger(), "/cart", 5, cookieLine("cart", text)); got != "b" {
		t.Errorf("the host is back, and the session is on %s", got)
	}
}

// checkOwnErrors: a status that the session's host answers itself is no lost host.
func checkOwnErrors(t *testing.T, envoy *harness.Envoy, pod *harness.Backend) {
	t.Helper()
	text := mint(t, envoy, "cart", pod.Address, harness.Dates{})
	for _, status := range []string{"503", "500", "404"} {
		response := envoy.Stranger().Get(t, "/cart", cookieLine("cart", text), harness.ReplyStatus+": "+status)
		if response.Backend != "b" || http.StatusText(response.Status) == "" || response.Status == 521 {
			t.Errorf("the backend's %s became %d from %q", status, response.Status, response.Backend)
		}
		wantNoToken(t, response, "cart")
	}
}
