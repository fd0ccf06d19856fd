package e2e

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// replying answers a body with its length and with the trailers that came, one of its own, and a forged pin.
func replying(string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(body)
		for name, values := range r.Trailer {
			w.Header()[http.TrailerPrefix+"Got-"+name] = values
		}
		w.Header().Set(http.TrailerPrefix+"Own", "yes")
		w.Header().Set(http.TrailerPrefix+pinHeader, "forged")
	})
}

// TestTrailers: requests with trailers keep their sessions, over HTTP/2 the trailers pass both ways, and the pin header
// is taken out of them too. Over HTTP/1.1 Envoy drops trailers, as it may (RFC 9110, section 6.5.1).
func TestTrailers(t *testing.T) {
	t.Parallel()
	documents, certificate := streamers(t, replying, "trailers")
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	const visits = 5
	requests, sessions := 0, 0
	for _, p := range protocols[:4] {
		for _, host := range []string{"one", "two"} {
			client := p.client(t, envoy, certificate)
			client.Host = host + ".example.com"
			homes := map[string]bool{}
			for range visits {
				response := sendTrailers(t, client)
				homes[response.Header.Get(harness.BackendHeader)] = true
				passed := host == "two" && strings.HasPrefix(p.name, "HTTP/2")
				wantTrailers(t, p.name+" to HTTP "+host, response.Trailer, passed)
				requests++
			}
			if len(homes) != 1 {
				t.Errorf("%s to HTTP %s: one session reached %v", p.name, host, homes)
			}
			sessions++
		}
	}
	wantNoTrap(t, envoy)
	harness.RecordResult(t, "requests with trailers", harness.Result{Requests: requests, Sessions: sessions, Note: "over HTTP/2 they pass, without the pin header"})
}

func sendTrailers(t *testing.T, client *harness.Client) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, client.URL("/trailers"), io.MultiReader(strings.NewReader("body")))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = client.Host
	request.Header.Set("Cookie", client.Jar.Header("/trailers"))
	request.Trailer = http.Header{"Sum": {"1234"}, http.CanonicalHeaderKey(pinHeader): {"forged"}}
	response, err := client.OpenRequest(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "body" {
		t.Errorf("the body came as %q, %v", body, err)
	}
	return response
}

func wantTrailers(t *testing.T, way string, got http.Header, passed bool) {
	t.Helper()
	for name := range got {
		if !harness.Native() && strings.Contains(strings.ToLower(name), pinHeader) { // to the native filter it is a header as any other
			t.Errorf("%s: the trailers have the pin header: %v", way, got)
		}
	}
	if all := got.Get("Got-Sum") == "1234" && got.Get("Own") == "yes"; all != passed {
		t.Errorf("%s: the trailers %v came, all of them: %v, want %v", way, got, all, passed)
	}
}

// TestContinue: a client that asks before it sends its body is told to go on, and its session holds.
func TestContinue(t *testing.T) {
	t.Parallel()
	documents, certificate := streamers(t, replying, "continue")
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	const visits = 5
	requests, sessions := 0, 0
	for _, p := range []protocolPair{protocols[0], protocols[2]} {
		for _, host := range []string{"one", "two"} {
			client := p.client(t, envoy, certificate)
			client.Host = host + ".example.com"
			client.HTTP().Transport.(*http.Transport).ExpectContinueTimeout = callWithin
			homes := map[string]bool{}
			for range visits {
				homes[askFirst(t, client)] = true
				requests++
			}
			if len(homes) != 1 {
				t.Errorf("%s to HTTP %s: one session reached %v", p.name, host, homes)
			}
			sessions++
		}
	}
	harness.RecordResult(t, "100-continue", harness.Result{Requests: requests, Sessions: sessions, Note: "no body was sent before the 100"})
}

// lateBody is a body that knows whether it was touched.
type lateBody struct {
	io.Reader
	touched bool
}

func (w *lateBody) Read(p []byte) (int, error) {
	w.touched = true
	return w.Reader.Read(p)
}

// askFirst sends a request with Expect: 100-continue and gives the backend that answered.
func askFirst(t *testing.T, client *harness.Client) string {
	t.Helper()
	body, sent := &lateBody{Reader: strings.NewReader("body")}, false
	ctx, cancel := context.WithTimeout(t.Context(), callWithin/2)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got100Continue: func() {
		sent = true
		if body.touched {
			t.Error("the body was sent before Envoy said 100")
		}
	}})
	response, err := client.Open(ctx, http.MethodPost, "/continue", body, "Expect: 100-continue")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "body" || !sent {
		t.Errorf("told to go on: %v, and the body came as %q, %v", sent, text, err)
	}
	return response.Header.Get(harness.BackendHeader)
}
