package e2e

import (
	"net/http"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// caches is about keeping tokens out of shared caches.
var caches = option{
	name:  "caches",
	rules: cookieRules("keep", "share", "private", "nostore", "skip", "unsafe"),
	edits: map[string]func(*policyconfig.Policy){
		"share":   func(p *policyconfig.Policy) { p.Cache.Control = policyconfig.CacheControlShare },
		"private": func(p *policyconfig.Policy) { p.Cache.Control = policyconfig.CacheControlPrivate },
		"nostore": func(p *policyconfig.Policy) { p.Cache.Control = policyconfig.CacheControlNoStore },
		"skip":    func(p *policyconfig.Policy) { p.Cache.SkipCacheable = true },
		"unsafe":  func(p *policyconfig.Policy) { p.Cache.UnsafeMethodsOnly = true },
	},
	check: func(t *testing.T, envoy *harness.Envoy, _ []*harness.Backend) {
		t.Run("control", func(t *testing.T) { checkCacheControl(t, envoy) })
		t.Run("skipCacheable", func(t *testing.T) { checkSkipCacheable(t, envoy) })
		t.Run("unsafeMethodsOnly", func(t *testing.T) { checkUnsafeMethods(t, envoy) })
	},
}

// checkCacheControl wants shared caches kept off where a token is set, and the header left alone elsewhere.
func checkCacheControl(t *testing.T, envoy *harness.Envoy) {
	public := harness.ReplyHeader + ": Cache-Control: public, max-age=60"
	wantNoToken(t, visit(t, envoy.Stranger(), "/keep", public), "keep")
	for session, want := range map[string]string{"share": "public, max-age=60", "private": "private, max-age=60", "nostore": "no-store"} {
		client := envoy.Client()
		for i, want := range []string{want, "public, max-age=60"} {
			got := visit(t, client, "/"+session, public).Header["Cache-Control"]
			if len(got) != 1 || got[0] != want {
				t.Errorf("%s: request %d has Cache-Control %q, want %q", session, i+1, got, want)
			}
		}
	}
}

func checkSkipCacheable(t *testing.T, envoy *harness.Envoy) {
	for _, cacheable := range []string{"public, max-age=60", "max-age=60", "s-maxage=5"} {
		wantNoToken(t, visit(t, envoy.Stranger(), "/skip", harness.ReplyHeader+": Cache-Control: "+cacheable), "skip")
	}
	for _, not := range []string{"private", "no-store", "private, max-age=60"} {
		wantToken(t, visit(t, envoy.Stranger(), "/skip", harness.ReplyHeader+": Cache-Control: "+not), "skip")
	}
	unchanged := envoy.Stranger().Get(t, "/skip", harness.ReplyStatus+": 304")
	if unchanged.Status != http.StatusNotModified {
		t.Errorf("status %d, want 304", unchanged.Status)
	}
	wantNoToken(t, unchanged, "skip")
}

func checkUnsafeMethods(t *testing.T, envoy *harness.Envoy) {
	for _, safe := range []string{http.MethodGet, http.MethodHead, http.MethodOptions} {
		wantNoToken(t, envoy.Stranger().Do(t, safe, "/unsafe"), "unsafe")
	}
	for _, unsafe := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		wantToken(t, envoy.Stranger().Do(t, unsafe, "/unsafe"), "unsafe")
	}
	client := envoy.Client()
	client.Do(t, http.MethodPost, "/unsafe")
	stay(t, client, "/unsafe", 10)
}
