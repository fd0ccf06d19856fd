package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// filtered is a rule for /NAME with a cookie session of that name, and filters as YAML.
func filtered(name string, filters ...string) harness.Rule {
	r := harness.CookieRule(name, "pods")
	r.Tries = []string{"filters: [" + strings.Join(filters, ", ") + "]"}
	return r
}

// The filters of the test.
const (
	headersFilter = `{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Set, value: "100%"}], ` +
		`add: [{name: X-Add, value: "%REQ(x-set)%"}], remove: [X-Gone]}}, ` +
		`{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: X-Back, value: set}], remove: [X-Hidden]}}`
	rewriteFilter  = `{type: URLRewrite, urlRewrite: {hostname: inner.example.com, path: {type: ReplacePrefixMatch, replacePrefixMatch: /inner}}}`
	rootFilter     = `{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}`
	redirectFilter = `{type: RequestRedirect, requestRedirect: {scheme: https, hostname: other.example.com, statusCode: 301, ` +
		`path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}}`
	cookieFilter = `{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: Cookie, value: "said=100%"}]}}`
	mirrorFilter = `{type: RequestMirror, requestMirror: {backendRef: {name: mirror, port: 80}}}`
	corsFilter   = `{type: CORS, cors: {allowOrigins: ["https://*.example.com"], allowMethods: [GET, PUT], allowHeaders: [X-A], ` +
		`exposeHeaders: [X-B], allowCredentials: true, maxAge: 60}}`
)

// TestFilters sends requests of sessions through every filter: the session stays on its host, its cookie's path is that of
// the match, whatever a backend sees, and its token goes to the host alone.
func TestFilters(t *testing.T) {
	t.Parallel()
	pods, mirror := harness.Backends(t, "a", "b", "c"), harness.Backends(t, "mirror")
	header := harness.HeaderRule("x-mirrored", "pods")
	header.Tries = []string{"filters: [" + mirrorFilter + "]"}
	documents := harness.OneRoute(pods,
		filtered("headers", headersFilter), filtered("rewrite", rewriteFilter), filtered("root", rootFilter),
		filtered("redirect", redirectFilter), filtered("mirror", mirrorFilter), filtered("cors", corsFilter), header, filtered("said", mirrorFilter, cookieFilter))
	documents.Routes[0].Rules[3].Refs = nil
	documents.Services = append(documents.Services, harness.Service{Name: "mirror", Backends: mirror})
	envoy := harness.Run(t, harness.Deployment{Documents: documents})

	t.Run("headers", func(t *testing.T) { checkHeaderFilters(t, envoy) })
	t.Run("rewrites", func(t *testing.T) { checkRewrites(t, envoy) })
	t.Run("redirects", func(t *testing.T) { checkRedirects(t, envoy) })
	t.Run("mirrors", func(t *testing.T) { checkMirrors(t, envoy, mirror[0]) })
	t.Run("mirrored cookies", func(t *testing.T) { checkMirroredCookies(t, envoy, mirror[0]) })
	t.Run("cookies that the rule writes", func(t *testing.T) { checkWrittenCookies(t, envoy, mirror[0]) })
	t.Run("CORS", func(t *testing.T) { checkCORS(t, envoy) })
}

// wantSession wants a new session's cookie for a path, and the session to stay.
func wantSession(t *testing.T, envoy *harness.Envoy, name, path string) *harness.Client {
	t.Helper()
	client := envoy.Client()
	cookie := visit(t, client, path).Cookie(t, name)
	if cookie == nil || cookie.Path != "/"+name {
		t.Fatalf("GET %s: the session's cookie is %v, want one with Path /%s", path, cookie, name)
	}
	stay(t, client, path, 12)
	return client
}

func checkHeaderFilters(t *testing.T, envoy *harness.Envoy) {
	client := wantSession(t, envoy, "headers", "/headers")
	r := visit(t, client, "/headers", "X-Set: of the client", "X-Add: first", "X-Gone: away",
		harness.ReplyHeader+": X-Hidden: secret", harness.ReplyHeader+": X-Back: of the backend")
	for name, want := range map[string][]string{"X-Set": {"100%"}, "X-Add": {"first", "%REQ(x-set)%"}, "X-Gone": nil} {
		if got := r.Seen.Headers[name]; !slices.Equal(got, want) {
			t.Errorf("the backend sees %s: %q, want %q", name, got, want)
		}
	}
	if back, hidden := r.Header["X-Back"], r.Header["X-Hidden"]; !slices.Equal(back, []string{"set"}) || hidden != nil {
		t.Errorf("the client sees X-Back: %q, X-Hidden: %q", back, hidden)
	}
}

func checkRewrites(t *testing.T, envoy *harness.Envoy) {
	client := wantSession(t, envoy, "rewrite", "/rewrite/a?b=c")
	for path, want := range map[string]string{"/rewrite/a?b=c": "/inner/a?b=c", "/rewrite": "/inner", "/rewrite/": "/inner/"} {
		if seen := visit(t, client, path).Seen; seen.URI != want || seen.Host != "inner.example.com" {
			t.Errorf("%s: the backend sees %s of %s, want %s", path, seen.URI, seen.Host, want)
		}
	}
	client = wantSession(t, envoy, "root", "/root/a")
	for path, want := range map[string]string{"/root": "/", "/root/": "/", "/root/a/b": "/a/b", "/root?x": "/?x"} {
		if seen := visit(t, client, path).Seen; seen.URI != want {
			t.Errorf("%s: the backend sees %s, want %s", path, seen.URI, want)
		}
	}
}

// checkRedirects wants a Location that the rule chose, in every part that it names, and no session.
func checkRedirects(t *testing.T, envoy *harness.Envoy) {
	for path, want := range map[string]string{
		"/redirect/a?b=c":        "https://other.example.com/new/a?b=c",
		"/redirect":              "https://other.example.com/new",
		"/redirect//evil.com":    "https://other.example.com/new/evil.com",
		"/redirect/%2fevil.com":  "https://other.example.com/new/evil.com",
		"/redirect/../redirect/": "https://other.example.com/new/",
	} {
		r := envoy.Client().Get(t, path, "X-Forwarded-Host: evil.com", "X-Forwarded-Proto: ftp")
		if got := r.Header.Get("Location"); r.Status != http.StatusMovedPermanently || got != want || r.Header["Set-Cookie"] != nil {
			t.Errorf("%s: %d to %q with %q, want 301 to %q", path, r.Status, got, r.Header["Set-Cookie"], want)
		}
	}
}

// checkMirrors wants copies of requests at the mirror, which have neither the token nor the pin.
func checkMirrors(t *testing.T, envoy *harness.Envoy, mirror *harness.Backend) {
	var client *harness.Client
	awaitCopies(t, mirror, 13, func() { client = wantSession(t, envoy, "mirror", "/mirror") })
	header, token := envoy.Client(), ""
	awaitCopies(t, mirror, 1, func() { token = visit(t, header, "/x-mirrored").Header.Get("X-Mirrored") })
	if token == "" {
		t.Fatal("no session in the header")
	}
	awaitCopies(t, mirror, 10, func() { stay(t, client, "/mirror", 10, "X-Copied: yes") })
	awaitCopies(t, mirror, 10, func() { stay(t, header, "/x-mirrored", 10, "X-Mirrored: "+token) })
	if !mirror.Got("X-Copied") {
		t.Error("the mirror got requests, and not as they are")
	}
	for _, name := range []string{"Cookie", "X-Mirrored", policyconfig.DefaultPinHeader} {
		if mirror.Got(name) {
			t.Errorf("the mirror got a header %s", name)
		}
	}
}

// awaitCopies waits until as many requests as were sent are at the mirror, which they reach some time after their answers came.
func awaitCopies(t *testing.T, mirror *harness.Backend, want int, send func()) {
	t.Helper()
	before := mirror.Requests()
	send()
	eventually(t, "all copies are there", func() bool { return mirror.Requests() >= before+want })
	if got := mirror.Requests() - before; got != want {
		t.Errorf("the mirror got %d copies of %d requests", got, want)
	}
}

// checkMirroredCookies wants the client's other cookies at the mirror, while the backend has all of them.
func checkMirroredCookies(t *testing.T, envoy *harness.Envoy, mirror *harness.Backend) {
	var text string
	awaitCopies(t, mirror, 1, func() { text = wantToken(t, visit(t, envoy.Stranger(), "/mirror"), "mirror").Value })
	all := "theme=dark; mirror=" + text + "; lang=en"
	for sent, want := range map[string]string{
		all: "theme=dark; lang=en", "theme=dark": "theme=dark", "mirror=" + text: "",
		"theme=dark; of-another-rule=" + text: "theme=dark",
	} {
		var seen []string
		awaitCopies(t, mirror, 1, func() { seen = visit(t, envoy.Stranger(), "/mirror", "Cookie: "+sent).Seen.Headers["Cookie"] })
		if !slices.Equal(seen, []string{sent}) {
			t.Errorf("of %q the backend sees %q", sent, seen)
		}
		if got := mirror.Last("Cookie"); got != want {
			t.Errorf("of %q the mirror sees %q, want %q", sent, got, want)
		}
	}
}

// checkWrittenCookies wants at the mirror, as at the backend, the cookies that a filter of the rule puts in the place of the client's.
func checkWrittenCookies(t *testing.T, envoy *harness.Envoy, mirror *harness.Backend) {
	var seen []string
	awaitCopies(t, mirror, 1, func() { seen = visit(t, envoy.Stranger(), "/said", "Cookie: theme=dark").Seen.Headers["Cookie"] })
	if got := mirror.Last("Cookie"); got != "said=100%" || !slices.Equal(seen, []string{got}) {
		t.Errorf("the mirror sees %q, the backend %q", got, seen)
	}
}

// checkCORS asks as a browser does. What Envoy answers itself begins no session, and only a page of the site may read.
func checkCORS(t *testing.T, envoy *harness.Envoy) {
	client := wantSession(t, envoy, "cors", "/cors")
	ask := []string{"Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: x-a"}
	good := envoy.Client().Do(t, http.MethodOptions, "/cors", append(ask, "Origin: https://shop.example.com")...)
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "https://shop.example.com", "Access-Control-Allow-Methods": "GET, PUT",
		"Access-Control-Allow-Headers": "X-A", "Access-Control-Allow-Credentials": "true", "Access-Control-Max-Age": "60",
	} {
		if got := good.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if good.Status != http.StatusOK || good.Backend != "" || good.Header["Set-Cookie"] != nil {
		t.Errorf("a preflight got %d of %q with %q", good.Status, good.Backend, good.Header["Set-Cookie"])
	}
	for _, origin := range []string{"https://evil.com", "http://shop.example.com", "https://example.com", "https://shop.example.com.evil.com", "https://evil.com/.example.com"} {
		bad := envoy.Client().Do(t, http.MethodOptions, "/cors", append(ask, "Origin: "+origin)...)
		if bad.Header.Get("Access-Control-Allow-Origin") != "" || bad.Backend != "" {
			t.Errorf("%s: %q by %q", origin, bad.Header, bad.Backend)
		}
	}
	seen := visit(t, client, "/cors", "Origin: https://shop.example.com")
	if got := seen.Header.Get("Access-Control-Expose-Headers"); got != "X-B" {
		t.Errorf("a page may read %q", got)
	}
}
