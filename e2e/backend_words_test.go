package e2e

import (
	"net/http"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// backendsCookie: a Set-Cookie of the session's name that comes from the backend wins.
var backendsCookie = option{name: "the backend sets the cookie itself", rules: cookieRules("own"), check: checkBackendsCookie}

func checkBackendsCookie(t *testing.T, envoy *harness.Envoy, _ []*harness.Backend) {
	own := visit(t, envoy.Stranger(), "/own", harness.ReplyHeader+": Set-Cookie: own=mine; Path=/x",
		harness.ReplyHeader+": Set-Cookie: other=1")
	if cookie := wantToken(t, own, "own"); cookie.Value != "mine" || cookie.Path != "/x" {
		t.Errorf("the backend's cookie became %q", cookie.Raw)
	}
	if other := own.Cookie(t, "other"); other == nil || other.Value != "1" {
		t.Errorf("the other cookie is gone: %q", own.Header["Set-Cookie"])
	}
	both := visit(t, envoy.Stranger(), "/own", harness.ReplyHeader+": Set-Cookie: other=1")
	wantToken(t, both, "other")
	if cookie := wantToken(t, both, "own"); cookie.Value == "mine" {
		t.Errorf("limpet's token is %q", cookie.Raw)
	}
}

// logout: the backend ends a session by a response header.
var logout = option{
	name:  "the backend ends the session",
	rules: append(cookieRules("logout"), headerRules("x-logout")...),
	edits: map[string]func(*policyconfig.Policy){
		"logout": func(p *policyconfig.Policy) {
			p.EndSessionHeader = "x-session-end"
			p.Cookie.Domain, p.Cookie.SameSite = "127.0.0.1", policyconfig.SameSiteLax
		},
		"x-logout": func(p *policyconfig.Policy) { p.EndSessionHeader = "x-session-end" },
	},
	check: func(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend) {
		t.Run("after it began", func(t *testing.T) { checkLogout(t, envoy, pods) })
		t.Run("before it began", func(t *testing.T) { checkEarlyLogout(t, envoy) })
	},
}

func checkLogout(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend) {
	end := harness.ReplyHeader + ": X-Session-End: 1"

	client := envoy.Client()
	visit(t, client, "/logout")
	response := visit(t, client, "/logout", end)
	cookie := wantDeleted(t, response, "logout")
	if cookie.Path != "/logout" || cookie.Domain != "127.0.0.1" || !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode {
		t.Errorf("the cookie is deleted with other attributes than it was set: %q", cookie.Raw)
	}
	if left := client.Jar.Value("logout"); left != "" {
		t.Errorf("the client still has %q", left)
	}
	if visit(t, client, "/logout").Seen.Headers.Get("Cookie") != "" {
		t.Error("the client still sends a cookie")
	}
	text := mint(t, envoy, "x-logout", pods[1].Address, harness.Dates{})
	if got := visit(t, envoy.Stranger(), "/x-logout", "x-logout: "+text, end).Header["X-Logout"]; len(got) != 0 && got[0] != harness.EmptyHeader() {
		t.Errorf("the response that ends a header session carries the token %q", got)
	}
	if got := envoy.Outcomes(t, "logout")["ended"]; got != 1 {
		t.Errorf("%d sessions counted as ended, want 1", got)
	}
}

// checkEarlyLogout: a logout answer to a client without a session starts none.
func checkEarlyLogout(t *testing.T, envoy *harness.Envoy) {
	response := visit(t, envoy.Client(), "/logout", harness.ReplyHeader+": X-Session-End: 1")
	if cookie := response.Cookie(t, "logout"); cookie != nil && cookie.MaxAge >= 0 {
		t.Errorf("a logout began a session: %q", cookie.Raw)
	}
}
