package istio

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"istio.io/istio/pkg/config/schema/gatewayapi"
)

// call makes an empty gRPC call with a session's token, which may be empty. It gives the backend and the token of the answer; the backend
// is empty where there was none.
func (m *world) call(t *testing.T, token string) (backend, issued string) {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols), DisableKeepAlives: true}
	transport.Protocols.SetUnencryptedHTTP2(true)
	url := fmt.Sprintf("http://127.0.0.1:%d/shop.Cart/Get", m.port)
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader("\x00\x00\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "shop.example.com"
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	if token != "" {
		request.Header.Set("X-Session", token)
	}
	response, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(request)
	if err != nil {
		return "", ""
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return "", ""
	}
	return response.Header.Get("X-Backend"), response.Header.Get("X-Session")
}

// takeCalls has Istio take GRPCRoutes: it does from a version of their CRD on, and the CRDs of its own fake server have none.
func takeCalls() { delete(gatewayapi.MinimumCRDVersions, "grpcroutes.gateway.networking.k8s.io") }

// TestCallsOfACanary has sessions of a GRPCRoute whose rule is split: calls stay in their version, whatever the weights become.
func TestCallsOfACanary(t *testing.T) {
	takeCalls()
	for _, filter := range []string{"wasm", "native"} {
		t.Run(filter, func(t *testing.T) {
			c := &canary{}
			s := split{route: "HTTPRoute", filter: filter, weights: [3]int{40, 40, 20}, policy: "type: Header", input: asCalls}
			c.world = start(t, s.deploy(t, c))
			tokens := map[string]string{}
			eventually(t, "there are sessions in each version", func() bool {
				if at, token := c.call(t, ""); token != "" && c.of[at] != "" {
					tokens[c.of[at]] = token
				}
				return len(tokens) == len(versions)
			})
			c.checkCalls(t, tokens)
			c.weighCalls(t, [3]int{0, 100, 0})
			eventually(t, "new sessions go to v2 alone", func() bool {
				for range rounds {
					if at, _ := c.call(t, ""); c.of[at] != "v2" {
						return false
					}
				}
				return true
			})
			c.checkCalls(t, tokens)
			for _, b := range c.backends {
				if n := b.leads.Load(); n > 0 {
					t.Errorf("%s saw the header %d times", b.address, n)
				}
			}
		})
	}
}

// checkCalls wants sessions' calls to stay in their versions.
func (c *canary) checkCalls(t *testing.T, tokens map[string]string) {
	t.Helper()
	for version, token := range tokens {
		for range rounds {
			if at, issued := c.call(t, token); c.of[at] != version || issued != "" {
				t.Fatalf("a call of a session in %s went to %q, with a new token: %t", version, at, issued != "")
			}
		}
	}
}

// weighCalls changes the weights of the split in the cluster.
func (c *canary) weighCalls(t *testing.T, weights [3]int) {
	t.Helper()
	routes := c.server.KubeClient().GatewayAPI().GatewayV1().GRPCRoutes("app")
	updateObject(t, asCalls(canaryRoute("HTTPRoute", c.port, weights)), "GRPCRoute", "app/shop", routes.Update)
}

// asCalls makes the shop's HTTPRoute a GRPCRoute.
func asCalls(text string) string {
	return strings.NewReplacer("kind: HTTPRoute", "kind: GRPCRoute", "matches: [{path: {value: /cart}}, {path: {value: /basket}}]",
		"matches: [{method: {service: shop.Cart}}]", "{name: http, port", "{name: grpc, port", "  cookie: {path: /}\n", "",
		"sessionName: cart", "sessionName: x-session").Replace(text)
}
