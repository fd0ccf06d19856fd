package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// asking is a filter that asks the Service "authorizer", with more settings as YAML.
func asking(protocol, service, more string) string {
	return "{type: ExternalAuth, externalAuth: {protocol: " + protocol + ", backendRef: {name: " + service + ", port: 80}, " + more + "}}"
}

// TestExternalAuth: what an authorization service denies reaches no host, begins no session and ends none; what it lets through has
// sessions as ever, on the host of its token and no other, whatever the service says.
func TestExternalAuth(t *testing.T) {
	t.Parallel()
	for protocol, start := range map[string]func(testing.TB) *harness.Authorizer{
		"GRPC": harness.NewGRPCAuthorizer, "HTTP": harness.NewHTTPAuthorizer,
	} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			authorizer, settings := start(t), "grpc: {}"
			if protocol == "HTTP" {
				settings = "http: {path: /check, allowedHeaders: [X-Tenant, Host]}"
			}
			few := strings.Replace(settings, "path: /check", "allowedResponseHeaders: [X-Other]", 1)
			documents := harness.OneRoute(harness.Backends(t, "a", "b", "c"), filtered("cart", asking(protocol, "authorizer", settings)),
				filtered("body", asking(protocol, "authorizer", settings+", forwardBody: {maxSize: 16}")),
				filtered("few", asking(protocol, "authorizer", few)),
				filtered("gone", asking(protocol, "gone", settings)), harness.CookieRule("open", "pods"))
			documents.Services = append(documents.Services, harness.Service{Name: "authorizer", Backends: []*harness.Backend{authorizer.Backend}})
			envoy := harness.Run(t, harness.Deployment{Documents: documents})
			checkAuthorized(t, envoy, authorizer, protocol)
			checkAskedBodies(t, envoy, authorizer)
			if r := envoy.Client().Get(t, "/gone", harness.Allowed); r.Status != http.StatusInternalServerError {
				t.Errorf("a rule whose service is not there: %d", r.Status)
			}
			if user := visit(t, envoy.Client(), "/few", harness.Allowed).Seen.Headers["X-User"]; (user == nil) != (protocol == "HTTP") {
				t.Errorf("where one other header may come back, the backend sees X-User: %q", user)
			}
			authorizer.Close()
			r := envoy.Client().Get(t, "/cart", harness.Allowed)
			if wantNoToken(t, r, "cart"); r.Status != http.StatusForbidden || r.Backend != "" {
				t.Errorf("without its service: %d from %q", r.Status, r.Backend)
			}
			stay(t, envoy.Client(), "/open", 2) // no filter, no question
		})
	}
}

// checkAuthorized takes a session through requests that are denied and others that are not.
func checkAuthorized(t *testing.T, envoy *harness.Envoy, authorizer *harness.Authorizer, protocol string) {
	t.Helper()
	denied := func(client *harness.Client) {
		t.Helper()
		r := client.Get(t, "/cart/a?b=c")
		wantNoToken(t, r, "cart")
		if r.Status != http.StatusUnauthorized || r.Backend != "" || !strings.Contains(r.Body, "denied") || r.Header.Get("X-Reason") != "no token" {
			t.Errorf("denied: %d from %q with %v: %s", r.Status, r.Backend, r.Header, r.Body)
		}
	}
	client := envoy.Client()
	denied(client)
	if tenant, is := authorizer.Seen().Headers["x-tenant"]; is {
		t.Errorf("the service sees a header that the client did not send: X-Tenant: %q", tenant)
	}
	first := visit(t, client, "/cart/a?b=c", harness.Allowed, "X-Tenant: shop", "X-Other: hidden")
	token := wantToken(t, first, "cart")
	if token.Path != "/cart" {
		t.Errorf("the cookie: %s", token.Raw)
	}
	if got := first.Seen.Headers; got.Get("X-User") != "alice" || got.Get("X-Limpet-Pin") != "" ||
		got.Get("X-Envoy-Upstream-Rq-Timeout-Ms") != "" || got.Get("X-Forwarded-For") == "192.0.2.1" {
		t.Errorf("the backend sees %v", got)
	}
	for range 3 {
		if stayed := stay(t, client, "/cart", 6, harness.Allowed); stayed != first.Backend {
			t.Errorf("the session began at %s and went on at %s", first.Backend, stayed)
		}
		denied(client)
	}
	asked, want := authorizer.Seen(), "/cart/a?b=c"
	if protocol == "HTTP" {
		want = "/check" + want
	}
	if asked.Path != want {
		t.Errorf("the service is asked for %s, not %s", asked.Path, want)
	}
	visit(t, client, "/cart", harness.Allowed, "X-Tenant: shop", "X-Other: hidden")
	asked = authorizer.Seen()
	for name, all := range map[string]bool{"x-tenant": true, "x-other": protocol == "GRPC", "cookie": protocol == "GRPC"} {
		if (asked.Headers[name] != "") != all {
			t.Errorf("%s: the service sees %s: %q", protocol, name, asked.Headers[name])
		}
	}
}

// checkAskedBodies sends bodies that a service sees, and one that is too large for it.
func checkAskedBodies(t *testing.T, envoy *harness.Envoy, authorizer *harness.Authorizer) {
	t.Helper()
	for body, want := range map[string]int{"sixteen or fewer": http.StatusOK, strings.Repeat("many", 8): http.StatusRequestEntityTooLarge} {
		client := envoy.Client()
		request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, client.URL("/body"), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		name, value, _ := strings.Cut(harness.Allowed, ": ")
		request.Header.Set(name, value)
		response, err := client.HTTP().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("a body of %d bytes: %d, want %d", len(body), response.StatusCode, want)
		}
		if seen := authorizer.Seen().Body; want == http.StatusOK && seen != body {
			t.Errorf("the service sees the body %q", seen)
		}
	}
}
