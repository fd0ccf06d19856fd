package e2e

import (
	"net/http"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
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
		text := mint(t, envoy, "dead", goneAddress, harness.Dates{})
		response := envoy.Stranger().Get(t, "/dead", cookieLine("dead", text))
		wantStatus(t, response, http.StatusServiceUnavailable)
		wantDeleted(t, response, "dead")

		text = mint(t, envoy, "slow", slow.Address, harness.Dates{})
		response = envoy.Stranger().Get(t, "/slow", cookieLine("slow", text), late)
		wantStatus(t, response, http.StatusGatewayTimeout)
		wantDeleted(t, response, "slow")
	})
	t.Run("a session header is emptied", func(t *testing.T) {
		text := mint(t, envoy, "x-dead", goneAddress, harness.Dates{})
		response := envoy.Stranger().Get(t, "/x-dead", "x-dead: "+text)
		wantStatus(t, response, http.StatusServiceUnavailable)
		if got := response.Header.Values("x-dead"); len(got) != 1 || got[0] != harness.EmptyHeader() {
			t.Errorf("a 503 of Envoy's carries the header %q", got)
		}
	})
	t.Run("upstream errors begin sessions", func(t *testing.T) { checkUpstreamErrors(t, envoy) })
}

// checkUpstreamErrors: an error that the backend answers itself is an answer like any other, but for a 503 that does not
// ask the client to come back.
func checkUpstreamErrors(t *testing.T, envoy *harness.Envoy) {
	later := harness.ReplyHeader + ": Retry-After: 1"
	for _, lines := range [][]string{{"500"}, {"502"}, {"503", later}, {"504"}, {"404"}} {
		lines[0] = harness.ReplyStatus + ": " + lines[0]
		client := envoy.Client()
		wantToken(t, client.Get(t, "/slow", lines...), "slow")
		wantNoToken(t, client.Get(t, "/slow", lines...), "slow")
	}
	declines := harness.ReplyStatus + ": 503"
	client := envoy.Client()
	wantNoToken(t, client.Get(t, "/slow", declines), "slow")
	wantToken(t, client.Get(t, "/slow"), "slow")
	wantDeleted(t, client.Get(t, "/slow", declines), "slow")
}

func wantStatus(t *testing.T, response harness.Response, status int) {
	t.Helper()
	if response.Status != status {
		t.Fatalf("status %d from %q, want %d: %s", response.Status, response.Backend, status, response.Body)
	}
}
