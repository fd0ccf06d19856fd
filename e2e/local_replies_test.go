package e2e

import (
	"net/http"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/harness"
)

// deadAndSlow deploys a Service none of whose hosts listens, and one with a route timeout of 0.3 s.
func deadAndSlow(t *testing.T) (slow *harness.Backend, envoy *harness.Envoy) {
	t.Helper()
	dead, slow := harness.NewBackend(t, "dead"), harness.NewBackend(t, "slow")
	documents := harness.Documents{
		Services: []harness.Service{
			{Name: "dead", Backends: []*harness.Backend{dead}},
			{Name: "slow", Backends: []*harness.Backend{slow}},
		},
		Routes: []harness.Route{{Name: "app", Rules: []harness.Rule{
			harness.CookieRule("dead", "dead"), harness.HeaderRule("x-dead", "dead"), harness.CookieRule("slow", "slow"),
		}}},
	}
	envoy = harness.Run(t, harness.Deployment{Documents: documents, Tree: func(tree harness.Tree) {
		tree.Route(t, "/slow")["route"].(map[string]any)["timeout"] = "0.3s"
	}})
	dead.Close()
	return slow, envoy
}

// TestLocalReplies: an answer that Envoy gives itself begins no session, and voids the one that it cut short.
func TestLocalReplies(t *testing.T) {
	t.Parallel()
	slow, envoy := deadAndSlow(t)
	late := harness.ReplyDelay + ": 2s"

	t.Run("no session begins", func(t *testing.T) {
		refused := envoy.Stranger().Get(t, "/dead")
		wantStatus(t, refused, http.StatusServiceUnavailable)
		wantNoToken(t, refused, "dead")
		hanging := envoy.Stranger().Get(t, "/slow", late)
		wantStatus(t, hanging, http.StatusGatewayTimeout)
		wantNoToken(t, hanging, "slow")
		header := envoy.Stranger().Get(t, "/x-dead")
		wantStatus(t, header, http.StatusServiceUnavailable)
		if got := header.Header["X-Dead"]; len(got) > 0 {
			t.Errorf("a 503 of Envoy's carries the token %q", got)
		}
	})
	t.Run("a pinned session is void", func(t *testing.T) {
		text := mint(t, envoy, "dead", gone, harness.Dates{})
		response := envoy.Stranger().Get(t, "/dead", cookieLine("dead", text))
		wantStatus(t, response, http.StatusServiceUnavailable)
		wantDeleted(t, response, "dead")

		text = mint(t, envoy, "slow", slow.Address, harness.Dates{})
		response = envoy.Stranger().Get(t, "/slow", cookieLine("slow", text), late)
		wantStatus(t, response, http.StatusGatewayTimeout)
		wantDeleted(t, response, "slow")
	})
	t.Run("upstream errors begin sessions", func(t *testing.T) { checkUpstreamErrors(t, envoy) })
}

// checkUpstreamErrors: a 5xx that the backend answers itself is an answer like any other.
func checkUpstreamErrors(t *testing.T, envoy *harness.Envoy) {
	for _, status := range []string{"500", "502", "503", "504", "404"} {
		client := envoy.Client()
		response := client.Get(t, "/slow", harness.ReplyStatus+": "+status)
		wantToken(t, response, "slow")
		wantNoToken(t, client.Get(t, "/slow", harness.ReplyStatus+": "+status), "slow")
	}
}

func wantStatus(t *testing.T, response harness.Response, status int) {
	t.Helper()
	if response.Status != status {
		t.Fatalf("status %d from %q, want %d: %s", response.Status, response.Backend, status, response.Body)
	}
}
