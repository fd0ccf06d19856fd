package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// attributes are those of a Set-Cookie line, in order, without name and value.
func attributes(t *testing.T, response harness.Response, name string) []string {
	t.Helper()
	parts := strings.Split(wantToken(t, response, name).Raw, ";")[1:]
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

func wantAttributes(t *testing.T, response harness.Response, name string, want ...string) {
	t.Helper()
	got := attributes(t, response, name)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("cookie %s has the attributes %q, want %q", name, got, want)
	}
}

// cookieAttributes are those that the Gateway API speaks of.
var cookieAttributes = option{
	name:  "cookie attributes",
	rules: timedRules(),
	check: checkAttributes,
}

// timedRules are sessions without an end, with one, and with one that the cookie shows.
func timedRules() []harness.Rule {
	rules := cookieRules("plain", "timed", "permanent")
	rules[1].Session.AbsoluteTimeout = "5m"
	rules[2].Session.AbsoluteTimeout, rules[2].Session.Lifetime = "5m", policyconfig.LifetimePermanent
	return rules
}

func checkAttributes(t *testing.T, envoy *harness.Envoy, _ []*harness.Backend) {
	t.Run("defaults", func(t *testing.T) {
		wantAttributes(t, visit(t, envoy.Stranger(), "/plain"), "plain", "Path=/plain", "Secure", "HttpOnly", "SameSite=Strict")
	})
	t.Run("an absolute timeout alone leaves a session cookie", func(t *testing.T) {
		wantAttributes(t, visit(t, envoy.Stranger(), "/timed"), "timed", "Path=/timed", "Secure", "HttpOnly", "SameSite=Strict")
	})
	t.Run("permanent", func(t *testing.T) { checkPermanent(t, visit(t, envoy.Stranger(), "/permanent")) })
	t.Run("limpet warns of a Secure cookie on plain HTTP", func(t *testing.T) {
		if !strings.Contains(envoy.Output, "Secure") {
			t.Errorf("limpet compile said nothing about Secure: %q", envoy.Output)
		}
	})
}

// checkPermanent wants Max-Age and Expires, both five minutes from now.
func checkPermanent(t *testing.T, response harness.Response) {
	t.Helper()
	cookie := wantToken(t, response, "permanent")
	if cookie.MaxAge != 300 {
		t.Errorf("Max-Age is %d, want 300", cookie.MaxAge)
	}
	if left := time.Until(cookie.Expires); left < 297*time.Second || left > 301*time.Second {
		t.Errorf("Expires is %v away, want 5m", left)
	}
	if !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/permanent" {
		t.Errorf("other attributes: %q", cookie.Raw)
	}
}

// pluginAttributes are those that only the plugin configuration has.
var pluginAttributes = option{
	name: "cookie attributes of the plugin",
	rules: []harness.Rule{
		{Path: "/", Refs: harness.To("pods"), Session: &harness.Session{Name: "__Host-strict", Type: policyconfig.TypeCookie}},
		harness.CookieRule("odd", "pods"), harness.CookieRule("bare", "pods"),
	},
	edits: map[string]func(*policyconfig.Policy){
		"__Host-strict": func(p *policyconfig.Policy) {
			p.Cookie.Partitioned, p.Cookie.SameSite = true, policyconfig.SameSiteNone
		},
		"odd": func(p *policyconfig.Policy) {
			p.Cookie.Domain, p.Cookie.SameSite = "example.com", policyconfig.SameSiteLax
			p.Cookie.Attributes = []string{"Priority=High", "Experimental"}
		},
		"bare": func(p *policyconfig.Policy) {
			p.Cookie.Path, p.Cookie.Secure, p.Cookie.HTTPOnly = "", false, false
		},
	},
	check: checkPluginAttributes,
}

func checkPluginAttributes(t *testing.T, envoy *harness.Envoy, _ []*harness.Backend) {
	get := func(path string) harness.Response { return visit(t, envoy.Stranger(), path) }
	wantAttributes(t, get("/any"), "__Host-strict", "Path=/", "Secure", "HttpOnly", "SameSite=None", "Partitioned")
	wantAttributes(t, get("/odd"), "odd", "Path=/odd", "Domain=example.com", "Secure", "HttpOnly", "SameSite=Lax",
		"Priority=High", "Experimental")
	wantAttributes(t, get("/bare"), "bare", "SameSite=Strict")
}
