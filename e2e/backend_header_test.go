package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// rare is the weight of a backend beside that of one that next to nobody is sent to.
const rare = 1_000_000

// runRare runs a split on routes of every sort, one of whose backends gets next to nothing unless a request is led there.
func runRare(t *testing.T) (envoy *harness.Envoy, usual, led []*harness.Backend) {
	t.Helper()
	usual, led = harness.Backends(t, "a", "b"), harness.Backends(t, "led")
	split := []harness.Ref{{Service: "usual", Weight: rare}, {Service: "led", Weight: 1}}
	route := func(name string, session *harness.Session) harness.Route {
		return harness.Route{Name: name, Rules: []harness.Rule{{Path: "/" + name, Refs: split, Session: session}}}
	}
	envoy = harness.Run(t, harness.Deployment{Documents: harness.Documents{
		Services: []harness.Service{{Name: "usual", Backends: usual}, {Name: "led", Backends: led}},
		Routes: []harness.Route{
			route("app", &harness.Session{Name: "app", Type: policyconfig.TypeCookie}), // with RebalanceWithin
			route("cart", &harness.Session{Name: "cart", Type: policyconfig.TypeCookie}),
			route("x-cart", &harness.Session{Name: "x-cart", Type: policyconfig.TypeHeader}),
			route("plain", nil),
		},
		More: withinPolicy,
	}})
	return envoy, usual, led
}

// TestBackendHeaderFence: the header that names a session's backend, when a client sends it, leads to that backend on no route, with a
// session or without, and no backend sees it.
func TestBackendHeaderFence(t *testing.T) {
	t.Parallel()
	envoy, usual, led := runRare(t)
	header := policyconfig.BackendHeader(pinHeader)
	value := fmt.Sprintf("%08x", token.BackendTag("default/led:80"))
	paths := []string{"/app", "/cart", "/x-cart", "/plain"}
	for _, lines := range [][]string{
		{header + ": " + value},
		{"X-LIMPET-PIN-BACKEND: " + value},
		{header + ": ", "X-Limpet-Pin-Backend: " + value},
		{header + ": " + value, header + ": " + value},
		{header + ": " + value + "," + value},
		{header + ": " + value, "Connection: " + header},
		{header + ": " + value, pinHeader + ": " + pinTo(led[0])},
		{header + ": default/led:80"},
	} {
		for _, path := range paths {
			for range 5 {
				visit(t, envoy.Stranger(), path, lines...)
			}
			client := envoy.Client()
			session := harness.Response{}
			for session.Backend == "" || session.Backend == led[0].Name {
				session = visit(t, client, path)
			}
			held := []string{}
			if path == "/x-cart" {
				held = append(held, "x-cart: "+session.Header.Get("x-cart"))
			}
			for range 3 {
				now := visit(t, client, path, slices.Concat(lines, held)...).Backend
				if path != "/plain" && now != session.Backend {
					t.Errorf("%s: a session on %s reached %s with %q", path, session.Backend, now, lines)
				}
			}
		}
	}
	if got := led[0].Requests(); got > 3 {
		t.Errorf("%d requests reached the backend that a client names", got)
	}
	for _, pod := range slices.Concat(usual, led) {
		if pod.Got(header) {
			t.Errorf("backend %s got a request with %s", pod.Name, header)
		}
	}
	at := mint(t, envoy, "app", led[0].Address, harness.Dates{})
	if got := visit(t, envoy.Stranger(), "/app", cookieLine("app", at)).Backend; got != led[0].Name {
		t.Errorf("a session there reaches %q", got)
	}
}
