package e2e

import (
	"net/http"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// TestBackendSetsTheCookieItself: a Set-Cookie of the session's name that comes from the backend wins.
func TestBackendSetsTheCookieItself(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	envoy := harness.Run(t, deployment)
	own := visit(t, envoy.Stranger(), "/cart", harness.ReplyHeader+": Set-Cookie: cart=mine; Path=/x",
		harness.ReplyHeader+": Set-Cookie: other=1")
	if cookie := wantToken(t, own, "cart"); cookie.Value != "mine" || cookie.Path != "/x" {
		t.Errorf("the backend's cookie became %q", cookie.Raw)
	}
	if other := own.Cookie(t, "other"); other == nil || other.Value != "1" {
		t.Errorf("the other cookie is gone: %q", own.Header["Set-Cookie"])
	}
	both := visit(t, envoy.Stranger(), "/cart", harness.ReplyHeader+": Set-Cookie: other=1")
	wantToken(t, both, "other")
	if cookie := wantToken(t, both, "cart"); cookie.Value == "mine" {
		t.Errorf("limpet's token is %q", cookie.Raw)
	}
}

// TestEndSession: the backend ends a session by a response header (logout).
func TestEndSession(t *testing.T) {
	t.Parallel()
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.HeaderRule("x-cart", "pods"))
	end := func(p *policyconfig.Policy) { p.EndSessionHeader = "x-session-end" }
	deployment.Policies = editing(t, map[string]func(*policyconfig.Policy){
		"cart": func(p *policyconfig.Policy) {
			end(p)
			p.Cookie.Domain, p.Cookie.SameSite = "127.0.0.1", policyconfig.SameSiteLax
		},
		"x-cart": end,
	})
	envoy := harness.Run(t, deployment)
	logout := harness.ReplyHeader + ": X-Session-End: 1"

	client := envoy.Client()
	visit(t, client, "/cart")
	response := visit(t, client, "/cart", logout)
	cookie := wantDeleted(t, response, "cart")
	if cookie.Path != "/cart" || cookie.Domain != "127.0.0.1" || !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode {
		t.Errorf("the cookie is deleted with other attributes than it was set: %q", cookie.Raw)
	}
	if left := client.Jar.Value("cart"); left != "" {
		t.Errorf("the client still has %q", left)
	}
	if visit(t, client, "/cart").Seen.Headers.Get("Cookie") != "" {
		t.Error("the client still sends a cookie")
	}
	text := mint(t, envoy, "x-cart", pods[1].Address, harness.Dates{})
	if got := visit(t, envoy.Stranger(), "/x-cart", "x-cart: "+text, logout).Header["X-Cart"]; len(got) != 0 && got[0] != "" {
		t.Errorf("the response that ends a header session carries the token %q", got)
	}
	if got := envoy.Outcomes(t, "cart")["ended"]; got != 1 {
		t.Errorf("%d sessions counted as ended, want 1", got)
	}
}

// TestEndSessionBeforeItBegan: a logout answer to a client without a session starts none.
func TestEndSessionBeforeItBegan(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	deployment.Policies = editing(t, map[string]func(*policyconfig.Policy){
		"cart": func(p *policyconfig.Policy) { p.EndSessionHeader = "x-session-end" },
	})
	envoy := harness.Run(t, deployment)
	response := visit(t, envoy.Client(), "/cart", harness.ReplyHeader+": X-Session-End: 1")
	if cookie := response.Cookie(t, "cart"); cookie != nil && cookie.MaxAge >= 0 {
		t.Errorf("a logout began a session: %q", cookie.Raw)
	}
}
