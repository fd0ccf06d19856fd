package envoygateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// caller speaks HTTP/2 in the clear to the Gateway.
var caller = func() *http.Client {
	transport := &http.Transport{
		Protocols:         new(http.Protocols),
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, entrance)
		},
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}()

// call makes an empty gRPC call with a session's token, which may be empty. It gives the backend and the token of the
// answer, and whether the internal header showed on either side.
func call(t *testing.T, token string) (host, issued string, leaked bool) {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, "http://calls.test/shop.Cart/Get", strings.NewReader("\x00\x00\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	if token != "" {
		request.Header.Set("X-Session", token)
	}
	response, err := caller.Do(request)
	if err != nil {
		return "", "", false
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return "", "", false
	}
	leaked = response.Header.Get(pinHeader) != "" || response.Header.Get("X-Saw-Pin") != ""
	return response.Header.Get("X-Backend"), response.Header.Get("X-Session"), leaked
}

// callsStick reports whether three sessions stay on their hosts.
func callsStick(t *testing.T) bool {
	for range 3 {
		host, token, _ := call(t, "")
		if token == "" {
			return false
		}
		for range 20 {
			if on, _, leaked := call(t, token); on != host || leaked {
				return false
			}
		}
	}
	return true
}

// TestCalls has sessions of a GRPCRoute alone on its listener, where patches bring the session filter; without each of
// the two that do, there are none.
func TestCalls(t *testing.T) {
	serveModule(t)
	startBackend(t, "127.0.1.1")
	startBackend(t, "127.0.1.2")
	input := base + backends(map[string][]string{"calls": backendHosts["blue"]}, "appProtocols: [gateway.envoyproxy.io/h2c], ") +
		makeRoute("GRPCRoute", "calls", "calls.test", "  - sessionPersistence: {type: Header, sessionName: x-session}\n    backendRefs: ["+makeRef("calls", 1)+"]\n")
	whole := with(t, compile(t, input, nil, "--wasm-url", wasmURL, "--keys", ring(t, newKey(t, "one")), "--keys-in-clear"), input)
	for _, missing := range []string{"", "envoy.config.route.v3.RouteConfiguration", "envoy.config.listener.v3.Listener"} {
		t.Run("without "+missing, func(t *testing.T) {
			manifest := whole
			if missing != "" {
				manifest = edited(t, manifest, "EnvoyPatchPolicy", "limpet-web", func(d object) {
					spec := d["spec"].(object)
					spec["jsonPatches"] = without(t, spec["jsonPatches"], func(p object) bool {
						return strings.HasSuffix(p["type"].(string), missing) && p["operation"].(object)["path"] != "/failure_policy"
					})
				})
			}
			start(t, manifest)
			if missing == "" {
				eventually(t, "calls stick", func() bool { return callsStick(t) })
				return
			}
			eventually(t, "calls are served", func() bool {
				host, _, _ := call(t, "")
				return host != ""
			})
			if callsStick(t) {
				t.Error("sessions stick without it")
			}
		})
	}
}

// TestCallsOfACanary has sessions of a GRPCRoute whose rule is split: calls stay in their version, whatever the weights become.
func TestCallsOfACanary(t *testing.T) {
	serveModule(t)
	startHosts(t, versions)
	key := ring(t, newKey(t, "one"))
	split := func(weights [3]int) string {
		input := base + backends(versions, "appProtocols: [gateway.envoyproxy.io/h2c], ") + makeRoute("GRPCRoute", "calls", "calls.test",
			"  - sessionPersistence: {type: Header, sessionName: x-session}\n    backendRefs: "+refVersions(weights)+"\n")
		return with(t, compile(t, input, nil, "--wasm-url", wasmURL, "--keys", key, "--keys-in-clear"), input)
	}
	p := start(t, split([3]int{40, 40, 20}))
	tokens := map[string]string{}
	eventually(t, "there are sessions in each version", func() bool {
		if host, token, _ := call(t, ""); token != "" {
			tokens[versionOf(host)] = token
		}
		return len(tokens) == len(versions)
	})
	checkKept := func() {
		t.Helper()
		for version, token := range tokens {
			for range 10 {
				if on, _, leaked := call(t, token); versionOf(on) != version || leaked {
					t.Errorf("a call of a session in %s went to %q, leaked: %t", version, on, leaked)
				}
			}
		}
	}
	checkKept()
	p.apply(t, split([3]int{0, 100, 0}))
	eventually(t, "new sessions go to v2 alone", func() bool {
		for range 20 {
			if host, _, _ := call(t, ""); versionOf(host) != "v2" {
				return false
			}
		}
		return true
	})
	checkKept()
}
