package e2e

import (
	"net/http"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// callsDocument is a GRPCRoute over the Service "pods", with sessions in a header and in a cookie.
const callsDocument = `
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: calls, namespace: default}
spec:
  parentRefs: [{name: edge}]
  rules:
  - matches: [{method: {service: shop.Cart}}]
    backendRefs: [{name: pods, port: 80}]
    sessionPersistence: {type: Header, sessionName: x-cart}
  - matches: [{method: {service: shop.Page, method: Get}}]
    backendRefs: [{name: pods, port: 80}]
    sessionPersistence: {sessionName: page}
  - matches: [{method: {service: shop.Page, method: List}}]
    backendRefs: [{name: pods, port: 80}]
    sessionPersistence: {sessionName: page}
  - matches: [{method: {method: Ping}}]
    backendRefs: [{name: pods, port: 80}]
  - matches: [{method: {service: shop.Gone}}]
    backendRefs: [{name: gone, port: 80}]
    sessionPersistence: {type: Header, sessionName: x-gone}
`

const callLine = "Content-Type: application/grpc"

// TestGRPCSticks: calls to backends that speak HTTP/2 only stick by header and by cookie, and what is no call, or
// matches no rule, or has no backend, is answered as GRPCRoute says.
//
// requirements: G1, G2, G3, G5
func TestGRPCSticks(t *testing.T) {
	t.Parallel()
	var pods []*harness.Backend
	for _, name := range []string{"a", "b", "c"} {
		pods = append(pods, harness.NewH2CBackend(t, name))
	}
	envoy := harness.Run(t, harness.Deployment{Documents: harness.Documents{
		Services: []harness.Service{{Name: "pods", Backends: pods}}, More: callsDocument,
	}})
	for range 6 {
		first := visit(t, envoy.Stranger(), "/shop.Cart/Add", callLine)
		line := "x-cart: " + first.Header.Get("x-cart")
		if again := stay(t, envoy.Stranger(), "/shop.Cart/Remove", 20, callLine, line); again != first.Backend {
			t.Fatalf("the session began on %s and went on on %s", first.Backend, again)
		}
		stay(t, envoy.Client(), "/shop.Page/Get", 20, callLine)
	}
	checkPageCookie(t, envoy)
	wantBalanced(t, spread(t, envoy.Stranger(), "/shop.Cart/Add", 60, callLine))
	wantBalanced(t, spread(t, envoy.Stranger(), "/any.Service/Ping", 60, callLine))
	for path, line := range map[string]string{"/shop.Cart/Add": "Content-Type: text/plain", "/shop.Cartoon/Add": callLine} {
		if got := envoy.Stranger().Get(t, path, line); got.Backend != "" || line != callLine && got.Status != http.StatusNotFound {
			t.Errorf("%s with %s: status %d from %q", path, line, got.Status, got.Backend)
		}
	}
	const unavailable = "14"
	if got := envoy.Stranger().Get(t, "/shop.Gone/Get", callLine); got.Header.Get("grpc-status") != unavailable || got.Header.Get("x-gone") != "" {
		t.Errorf("a call without a backend: status %d, %v", got.Status, got.Header)
	}
}

// checkPageCookie wants a cookie that ends with the browser's session, and that the rule of another method with a
// cookie of this name does not take.
func checkPageCookie(t *testing.T, envoy *harness.Envoy) {
	t.Helper()
	cookie := wantToken(t, visit(t, envoy.Stranger(), "/shop.Page/Get", callLine), "page")
	if cookie.MaxAge != 0 || !cookie.Expires.IsZero() {
		t.Errorf("the cookie has an end: %q", cookie.Raw)
	}
	shares := map[string]int{}
	for range 60 {
		shares[visit(t, envoy.Stranger(), "/shop.Page/List", callLine, cookieLine("page", cookie.Value)).Backend]++
	}
	wantBalanced(t, shares)
}
