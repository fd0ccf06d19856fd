package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// byUser is a policy that hashes the header X-User for all rules of the route "app".
const byUser = `
apiVersion: limpet.dev/v1alpha1
kind: LoadBalancerPolicy
metadata: {name: app, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: app}]
  strategy: RequestHash
  requestHashPolicies: [{headerHashOptions: {headerName: X-User}}]
`

func userLine(i int) string { return fmt.Sprintf("X-User: user-%d", i) }

// TestHashPlacesAndTokenKeeps: the hash decides where a session begins, wherever else its client was; the token
// keeps it there when the endpoints change and the hash points elsewhere (S54).
//
// requirements: 2A.2, S54
func TestHashPlacesAndTokenKeeps(t *testing.T) {
	t.Parallel()
	const users = 60
	pods, keys := harness.Backends(t, "a", "b", "c", "d", "e"), harness.NewRing("first")
	deploy := func(pods []*harness.Backend) *harness.Envoy {
		documents := harness.OneRoute(pods, harness.CookieRule("cart", "pods"), harness.PlainRule("plain", "pods"))
		documents.More = byUser
		return harness.Run(t, harness.Deployment{Documents: documents, Keys: keys, Workers: 2})
	}
	before := deploy(pods[:4])
	tokens, places := map[int]string{}, map[int]string{}
	used := map[string]bool{}
	for i := range users {
		first := visit(t, before.Stranger(), "/cart", userLine(i))
		tokens[i], places[i] = wantToken(t, first, "cart").Value, first.Backend
		used[first.Backend] = true
		if again := stay(t, before.Stranger(), "/cart", 2, userLine(i)); again != first.Backend {
			t.Fatalf("user %d begins on %s, then on %s", i, first.Backend, again)
		}
		if plain := visit(t, before.Stranger(), "/plain", userLine(i)).Backend; plain != first.Backend {
			t.Fatalf("user %d begins on %s and without sessions is sent to %s", i, first.Backend, plain)
		}
	}
	if len(used) != 4 {
		t.Fatalf("%d users begin on %v only", users, used)
	}
	after := deploy(pods[1:]) // a is gone, e is new
	elsewhere := 0
	for i := range users {
		got := visit(t, after.Stranger(), "/cart", userLine(i), cookieLine("cart", tokens[i])).Backend
		hashed := visit(t, after.Stranger(), "/cart", userLine(i)).Backend
		switch {
		case places[i] == "a" && got != hashed:
			t.Errorf("user %d lost a, went to %s, and the hash says %s", i, got, hashed)
		case places[i] != "a" && got != places[i]:
			t.Errorf("user %d moved from %s to %s", i, places[i], got)
		}
		if places[i] != "a" && hashed != places[i] {
			elsewhere++
		}
	}
	if elsewhere == 0 {
		t.Error("the hash moved no session, so this shows nothing about tokens")
	}
}

// TestHashOverSplit: in a split under one session the hash keeps to the weights, that of a missing Service included,
// and tokens hold, also in a backend of weight 0.
func TestHashOverSplit(t *testing.T) {
	t.Parallel()
	v1, v2, keys := harness.Backends(t, "v1-a", "v1-b"), harness.Backends(t, "v2-a", "v2-b"), harness.NewRing("first")
	deploy := func(weight1, weight2, missing int) *harness.Envoy {
		rule := harness.CookieRule("cart", "")
		rule.Refs = []harness.Ref{{Service: "v1", Weight: weight1}, {Service: "v2", Weight: weight2}, {Service: "missing", Weight: missing}}
		return harness.Run(t, harness.Deployment{Keys: keys, Documents: harness.Documents{
			Services: []harness.Service{{Name: "v1", Backends: v1}, {Name: "v2", Backends: v2}},
			Routes:   []harness.Route{{Name: "app", Rules: []harness.Rule{rule}}},
			More:     byUser,
		}})
	}
	tokens := splitByHash(t, deploy(60, 20, 20))
	all := deploy(100, 0, 0)
	for backend, text := range tokens {
		for i := range 10 {
			if got := visit(t, all.Stranger(), "/cart", userLine(i), cookieLine("cart", text)).Backend; got != backend {
				t.Errorf("a session on %s went to %s", backend, got)
			}
		}
	}
	for i := range 100 {
		if got := visit(t, all.Stranger(), "/cart", userLine(i)).Backend; got != "v1-a" && got != "v1-b" {
			t.Fatalf("user %d began on %s, whose weight is 0", i, got)
		}
	}
}

// splitByHash sends 1000 users' first requests over 60 to 20, and 20 to a missing Service, and returns a token of
// each backend.
func splitByHash(t *testing.T, envoy *harness.Envoy) map[string]string {
	t.Helper()
	tokens, shares, client := map[string]string{}, map[string]int{}, envoy.Stranger()
	for i := range 1000 {
		response := client.Get(t, "/cart", userLine(i))
		if response.Status == http.StatusInternalServerError && response.Backend == "" {
			wantNoToken(t, response, "cart")
			shares["missing"]++
			continue
		}
		shares[response.Backend]++
		tokens[response.Backend] = wantToken(t, response, "cart").Value
	}
	got := map[string]bool{}
	for name, want := range map[string][2]int{"v1-a": {240, 360}, "v1-b": {240, 360}, "v2-a": {65, 140}, "v2-b": {65, 140}, "missing": {145, 260}} {
		got[name] = shares[name] >= want[0] && shares[name] <= want[1]
	}
	if !maps.Equal(got, map[string]bool{"v1-a": true, "v1-b": true, "v2-a": true, "v2-b": true, "missing": true}) {
		t.Fatalf("600, 200 and 200 of 1000 became %v", shares)
	}
	t.Logf("shares of 1000: %v", shares)
	return tokens
}

// TestCookieStrategy: on a rule without sessions Envoy makes up a cookie for the browser session and keeps to it.
func TestCookieStrategy(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b", "c")
	documents := harness.OneRoute(pods, harness.PlainRule("plain", "pods"), harness.CookieRule("cart", "pods"))
	documents.More = `
apiVersion: limpet.dev/v1alpha1
kind: LoadBalancerPolicy
metadata: {name: pods, namespace: default}
spec:
  targetRefs: [{group: "", kind: Service, name: pods}]
  strategy: Cookie
`
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	for range 6 {
		client := envoy.Client()
		first := visit(t, client, "/plain")
		cookie := first.Cookie(t, "X-Contour-Session-Affinity")
		if cookie == nil || cookie.Path != "/" || cookie.MaxAge != 0 || !cookie.HttpOnly {
			t.Fatalf("the cookie is %v", first.Header["Set-Cookie"])
		}
		if next := stay(t, client, "/plain", 20); next != first.Backend {
			t.Fatalf("moved from %s to %s", first.Backend, next)
		}
	}
	shares := map[string]int{}
	for range 60 { // each with a connection of its own, for Envoy makes the cookie up from the connection's addresses
		shares[visit(t, envoy.Stranger(), "/plain").Backend]++
	}
	for _, pod := range pods { // chance decides: fewer than 5 of 60 where 20 are expected happens once in a million runs
		if shares[pod.Name] < 5 {
			t.Fatalf("not balanced over a, b and c: %v", shares)
		}
	}
}

// TestHashOfAPart: of a header that begins with the user and ends with what differs from request to request, the user alone is
// hashed; the backend gets all of it, and a token keeps its host all the same (S52, S54).
func TestHashOfAPart(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b", "c", "d")
	documents := harness.OneRoute(pods, harness.PlainRule("plain", "pods"), harness.CookieRule("cart", "pods"))
	documents.More = strings.Replace(byUser, "headerName: X-User", `headerName: X-User, valueRewriteRegex: "^(user-[0-9]+)/.*$", valueRewriteReplacement: '\1'`, 1)
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	used := map[string]bool{}
	for i := range 30 {
		line := func(request int) string { return fmt.Sprintf("%s/%d", userLine(i), request) }
		first := visit(t, envoy.Stranger(), "/plain", line(0))
		used[first.Backend] = true
		for request := range 5 {
			if got := visit(t, envoy.Stranger(), "/plain", line(request)); got.Backend != first.Backend || !strings.Contains(got.Body, fmt.Sprintf("user-%d/%d", i, request)) {
				t.Fatalf("user %d went to %s and to %s: %s", i, first.Backend, got.Backend, got.Body)
			}
		}
		session := cookieLine("cart", mint(t, envoy, "cart", pods[i%4].Address, harness.Dates{}))
		if got := stay(t, envoy.Stranger(), "/cart", 2, session, line(1)); got != pods[i%4].Name {
			t.Fatalf("a session on %s went to %s", pods[i%4].Name, got)
		}
	}
	if len(used) < 3 {
		t.Errorf("30 users went to %v only", used)
	}
}
