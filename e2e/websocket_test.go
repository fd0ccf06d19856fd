package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// talker greets whoever opens a WebSocket and answers each message as it comes; other requests it answers at once.
func talker(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		conn.SetReadLimit(-1)
		err = conn.Write(r.Context(), websocket.MessageText, []byte("hello from "+name))
		for err == nil {
			var message []byte
			if _, message, err = conn.Read(r.Context()); err == nil {
				err = conn.Write(r.Context(), websocket.MessageText, append([]byte(name+" "), message...))
			}
		}
	})
}

// TestWebSocket: the handshake begins a session or goes to the one that is there, messages pass both ways as they
// come, and a new connection comes back to the same backend; when that is gone, to another one, with a new token.
func TestWebSocket(t *testing.T) {
	t.Parallel()
	var pods []*harness.Backend
	for _, name := range []string{"a", "b", "c"} {
		pods = append(pods, harness.NewStreamer(t, name, false, talker(name)))
	}
	certificate := harness.NewCertificate(t)
	envoy := harness.Run(t, harness.Deployment{Documents: harness.Documents{
		Services: []harness.Service{{Name: "pods", Backends: pods, AppProtocol: "kubernetes.io/ws"}},
		Routes:   []harness.Route{{Name: "app", Rules: cookieRules("ws")}},
		Sites:    []harness.Site{{Certificate: certificate}},
	}})
	const sessions, reconnects = 6, 5
	began := map[string]int{}
	var last *harness.Client
	for range sessions {
		for _, client := range []*harness.Client{envoy.Client(), envoy.Client().TLS(certificate, envoy.TLSPort)} {
			home := talk(t, client, true)
			for range reconnects {
				if again := talk(t, client, false); again != home {
					t.Fatalf("the session began on %s and a new connection reached %s", home, again)
				}
			}
			if page := visit(t, client, "/ws").Backend; page != home {
				t.Fatalf("a WebSocket to %s and a request to %s in one session", home, page)
			}
			began[home]++
			last = client
		}
	}
	wantBalanced(t, began)
	checkLostTalker(t, last, pods)
	wantNoTrap(t, envoy)
	harness.RecordResult(t, "WebSockets that reconnect", harness.Result{
		Requests: 2*sessions*(reconnects+2) + 3, Sessions: 2 * sessions, Faults: 1,
		Note: fmt.Sprintf("%d messages each way on each connection", messages+1),
	})
}

// messages is how many short messages go each way on a connection; a long one follows.
const messages = 20

// talk opens a WebSocket, exchanges messages and gives the backend. New says whether a token must come.
func talk(t *testing.T, client *harness.Client, isNew bool) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callWithin)
	defer cancel()
	options := &websocket.DialOptions{HTTPClient: client.HTTP(), HTTPHeader: http.Header{}}
	if pairs := client.Jar.Header("/ws"); pairs != "" {
		options.HTTPHeader.Set("Cookie", pairs)
	}
	conn, response, err := websocket.Dial(ctx, client.URL("/ws"), options)
	if err != nil {
		t.Fatalf("handshake: %v", err)
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(-1)
	client.Jar.Set("/ws", response.Cookies())
	if got := len(response.Cookies()) > 0; got != isNew {
		t.Errorf("a token came with the handshake: %v, want %v", got, isNew)
	}
	backend := response.Header.Get(harness.BackendHeader)
	wantText(t, ctx, conn, "hello from "+backend)
	for i := range messages + 1 {
		text := fmt.Sprint("message ", i)
		if i == messages {
			text = strings.Repeat("a megabyte ", 1<<20/11)
		}
		if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
		wantText(t, ctx, conn, backend+" "+text)
	}
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Errorf("close: %v", err)
	}
	return backend
}

func wantText(t *testing.T, ctx context.Context, conn *websocket.Conn, text string) {
	t.Helper()
	_, got, err := conn.Read(ctx)
	if err != nil || string(got) != text {
		t.Fatalf("got a message of %d bytes, want %d: %.60q, %v", len(got), len(text), got, err)
	}
}

// checkLostTalker ends the backend of a client's session: the next connection goes elsewhere, and the one after stays there.
func checkLostTalker(t *testing.T, client *harness.Client, pods []*harness.Backend) {
	t.Helper()
	home := talk(t, client, false)
	for _, pod := range pods {
		if pod.Name == home {
			pod.Close()
		}
	}
	moved := talk(t, client, true)
	if moved == home {
		t.Errorf("a connection reached %s, which is gone", home)
	}
	if again := talk(t, client, false); again != moved {
		t.Errorf("the session moved to %s and did not stay there", moved)
	}
}
