package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// teller sends server-sent events, each one only when it is asked for on next. Left is told when its client is gone.
func teller(name string, next, left chan string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; ; i++ {
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", i, name)
			if http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-next:
			case <-r.Context().Done():
				left <- name
				return
			}
		}
	})
}

// TestServerSentEvents: events arrive one by one, for the backend sends the next only when the client has the last
// one; a client that leaves is gone for the backend too, and one that comes back reaches the same backend.
func TestServerSentEvents(t *testing.T) {
	t.Parallel()
	next, left := make(chan string), make(chan string, 1)
	documents, certificate := streamers(t, func(name string) http.Handler { return teller(name, next, left) }, "events")
	documents.TLSPort = harness.FreePort(t)
	envoy := harness.Run(t, harness.Deployment{
		Documents: documents, Tree: func(tree harness.Tree) { tree.AddHTTP3(t, documents.TLSPort) },
	})
	const events, visits = 10, 3
	streams := 0
	for _, p := range protocols {
		for _, host := range []string{"one", "two"} {
			client := p.client(t, envoy, certificate)
			client.Host = host + ".example.com"
			home := listen(t, client, events, next, left)
			for range visits - 1 {
				if again := listen(t, client, events, next, left); again != home {
					t.Errorf("%s to HTTP %s: the events came from %s, and from %s when the client came back", p.name, host, home, again)
				}
			}
			streams += visits
		}
	}
	harness.RecordResult(t, "server-sent events", harness.Result{
		Requests: streams, Sessions: streams / visits, Note: fmt.Sprintf("%d events each, none sent before the last one was there", events),
	})
}

// listen reads events one by one, leaves, and gives the backend that sent them.
func listen(t *testing.T, client *harness.Client, events int, next, left chan string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callWithin)
	defer cancel()
	response, err := client.Open(ctx, http.MethodGet, "/events", nil, "Accept: text/event-stream")
	if err != nil {
		t.Fatal(err)
	}
	home := response.Header.Get(harness.BackendHeader)
	lines := bufio.NewScanner(response.Body)
	for i := range events {
		for _, want := range []string{fmt.Sprintf("id: %d", i), "data: " + home, ""} {
			if !lines.Scan() || lines.Text() != want {
				t.Fatalf("event %d: got %q, want %q (%v)", i, lines.Text(), want, lines.Err())
			}
		}
		if i < events-1 {
			next <- ""
		}
	}
	cancel()
	_ = response.Body.Close()
	if gone := <-left; gone != home {
		t.Errorf("a client left %s, and %s noticed", home, gone)
	}
	return home
}

// streamers deploys handlers of the test's own as bothBackends does, three for each protocol, with a cookie session
// of that name.
func streamers(t *testing.T, handler func(name string) http.Handler, session string) (harness.Documents, harness.Certificate) {
	t.Helper()
	documents, certificate := bothBackends(t, cookieRules(session)...)
	for i := range documents.Services {
		documents.Services[i].Backends = nil
		for _, name := range []string{"a", "b", "c"} {
			documents.Services[i].Backends = append(documents.Services[i].Backends, harness.NewStreamer(t, name, i == 1, handler(name)))
		}
	}
	return documents, certificate
}
