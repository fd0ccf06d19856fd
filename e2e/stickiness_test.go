package e2e

import (
	"maps"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// requirements: 2A.1, 2B.O8, 2B.O11, H1, H5, S66
func TestStickiness(t *testing.T) {
	t.Parallel()
	rules := append(cookieRules("cart", "steady", "one", "two", "hour"), headerRules("x-cart")...)
	rules[2].Session.Name, rules[3].Session.Name = "same", "same"
	rules[4].Session.AbsoluteTimeout = "1h"
	_, deployment := threePods(t, rules...)
	deployment.Workers = 2
	envoy := harness.Run(t, deployment)

	t.Run("with a cookie jar 50 of 50 requests reach the first backend", func(t *testing.T) {
		for range 6 { // several sessions: one alone would also pass where all traffic goes to one backend
			stay(t, envoy.Client(), "/cart/items", 50)
		}
	})
	t.Run("with the session header sent back 50 of 50 requests reach the first backend", func(t *testing.T) {
		for range 6 {
			first := visit(t, envoy.Stranger(), "/x-cart")
			line := "x-cart: " + first.Header.Get("x-cart")
			if again := stay(t, envoy.Stranger(), "/x-cart", 50, line); again != first.Backend {
				t.Fatalf("the session began on %s and went on on %s", first.Backend, again)
			}
		}
	})
	t.Run("without a token requests spread over all backends", func(t *testing.T) {
		wantBalanced(t, spread(t, envoy.Stranger(), "/cart", 60))
		wantBalanced(t, spread(t, envoy.Stranger(), "/x-cart", 60))
	})
	t.Run("a steady session sets no cookie", func(t *testing.T) { checkSteady(t, envoy) })
	t.Run("rules do not share sessions", func(t *testing.T) { checkRules(t, envoy) })
	t.Run("one jar for several sessions", func(t *testing.T) { checkOneJar(t, envoy) })
}

func checkSteady(t *testing.T, envoy *harness.Envoy) {
	client := envoy.Client()
	wantToken(t, visit(t, client, "/steady"), "steady")
	for range 10 {
		wantNoToken(t, visit(t, client, "/steady"), "steady")
	}
	wantOutcomes(t, envoy, "steady", map[string]uint64{"new": 1, "pinned": 10})
}

func checkRules(t *testing.T, envoy *harness.Envoy) {
	text := wantToken(t, visit(t, envoy.Stranger(), "/one"), "same").Value

	shares := map[string]int{}
	for range 30 {
		response := visit(t, envoy.Stranger(), "/two", cookieLine("same", text))
		shares[response.Backend]++
		wantToken(t, response, "same")
	}
	wantBalanced(t, shares)
	stay(t, envoy.Stranger(), "/one", 10, cookieLine("same", text))
	if got := envoy.Stat(t, "wasmcustom.limpet_sessions.policy.default/app/rule/3.outcome.wrong-scope"); got != 30 {
		t.Errorf("%d requests counted as wrong-scope, want 30", got)
	}
}

func checkOneJar(t *testing.T, envoy *harness.Envoy) {
	client := envoy.Client()
	for _, path := range []string{"/cart", "/hour", "/steady"} {
		first := stay(t, client, path, 5)
		if last := stay(t, client, path, 5); last != first {
			t.Errorf("%s moved from %s to %s", path, first, last)
		}
	}
}

// requirements: 2B.O3, 2B.O11, S31, S33, H3
func TestWeights(t *testing.T) {
	t.Parallel()
	v1, v2 := harness.Backends(t, "v1-a", "v1-b"), harness.Backends(t, "v2-a", "v2-b")
	keys := harness.NewRing("first")
	split := func(weight1, weight2 int) harness.Deployment {
		rule := harness.CookieRule("cart", "")
		rule.Refs = []harness.Ref{{Service: "v1", Weight: weight1}, {Service: "v2", Weight: weight2}}
		return harness.Deployment{Keys: keys, Documents: harness.Documents{
			Services: []harness.Service{{Name: "v1", Backends: v1}, {Name: "v2", Backends: v2}},
			Routes:   []harness.Route{{Name: "app", Rules: []harness.Rule{rule}}},
		}}
	}
	sessions := checkShares(t, harness.Run(t, split(70, 30)))
	checkWeightZero(t, harness.Run(t, split(100, 0)), sessions)
}

// checkShares begins 500 sessions, 70 to 30 within 5 points, and returns one token of each backend.
func checkShares(t *testing.T, envoy *harness.Envoy) map[string]string {
	t.Helper()
	sessions, shares := map[string]string{}, map[string]int{}
	for range 500 {
		response := visit(t, envoy.Stranger(), "/cart")
		shares[response.Backend]++
		sessions[response.Backend] = wantToken(t, response, "cart").Value
	}
	if v1 := shares["v1-a"] + shares["v1-b"]; v1 < 325 || v1 > 375 {
		t.Fatalf("70 to 30 of 500 sessions became %v", shares)
	}
	if len(sessions) != 4 {
		t.Fatalf("not every backend has a session: %v", shares)
	}
	return sessions
}

func checkWeightZero(t *testing.T, envoy *harness.Envoy, sessions map[string]string) {
	t.Helper()
	for backend, text := range sessions {
		if got := stay(t, envoy.Stranger(), "/cart", 50, cookieLine("cart", text)); got != backend {
			t.Errorf("a session on %s moved to %s when its weight became 0", backend, got)
		}
	}
	shares := spread(t, envoy.Stranger(), "/cart", 100)
	if shares["v2-a"]+shares["v2-b"] != 0 {
		t.Errorf("new sessions on a Service of weight 0: %v", shares)
	}
}

func TestRouting(t *testing.T) {
	t.Parallel()
	names := []string{"exact", "prefix", "shop", "other"}
	documents := harness.Documents{}
	for _, name := range names {
		documents.Services = append(documents.Services, harness.Service{Name: name, Backends: harness.Backends(t, name)})
	}
	session := func(name string) *harness.Session {
		return &harness.Session{Name: name, Type: policyconfig.TypeCookie}
	}
	documents.Routes = []harness.Route{
		{Name: "app", Hostnames: []string{"app.example.com"}, Rules: []harness.Rule{
			{Path: "/cart", Refs: harness.To("prefix"), Session: session("p")},
			{Path: "/cart/now", Exact: true, Refs: harness.To("exact"), Session: session("e")},
		}},
		{Name: "shop", Hostnames: []string{"*.shop.example.com"}, Rules: []harness.Rule{
			{Path: "/", Refs: harness.To("shop"), Session: session("s")},
		}},
		{Name: "other", Rules: []harness.Rule{harness.PlainRule("cart", "other")}},
	}
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	got := map[string]string{}
	for _, at := range [][2]string{
		{"app.example.com", "/cart"},
		{"app.example.com", "/cart/now"},
		{"app.example.com", "/cart/now/later"},
		{"eu.shop.example.com", "/cart"},
		{"elsewhere.example.com", "/cart/now"},
	} {
		client := envoy.Client()
		client.Host = at[0]
		got[at[0]+at[1]] = visit(t, client, at[1]).Backend
	}
	want := map[string]string{
		"app.example.com/cart": "prefix", "app.example.com/cart/now": "exact", "app.example.com/cart/now/later": "prefix",
		"eu.shop.example.com/cart": "shop", "elsewhere.example.com/cart/now": "other",
	}
	if !maps.Equal(got, want) {
		t.Errorf("requests reached %v, want %v", got, want)
	}
}
