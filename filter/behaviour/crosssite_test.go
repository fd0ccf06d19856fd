package behaviour

import (
	"strings"
	"testing"
	"time"
)

// TestCrossSiteCookie: a second cookie with the same token, for frames of other sites; either is enough, and both go.
func TestCrossSiteCookie(t *testing.T) {
	fields := []string{
		`"cookie":{"path":"/shop","crossSite":true,"lifetimeType":"Permanent","attributes":["Priority=High"]}`, `"absoluteTimeout":"8h"`,
		`"endSessionHeader":"x-end"`, `"idleTimeout":"100s"`, `"forward":false`,
	}
	const lifetime = "; Max-Age=28800; Expires=Sat, 21 Nov 2026 20:00:00 GMT"
	each(t, config(fields...), func(t *testing.T, w *world) {
		r := w.get()
		tok := w.cookies["sid"]
		want(t, "cookies", strings.Join(r.setCookies(), "|"),
			"sid="+tok+"; Path=/shop; Secure; HttpOnly; SameSite=Strict; Priority=High"+lifetime+
				"|sid-cross-site="+tok+"; Path=/shop; Secure; HttpOnly; SameSite=None; Partitioned; Priority=High"+lifetime)
		for _, cookies := range []string{"sid=" + tok, "sid-cross-site=" + tok, "sid-cross-site=x; sid=" + tok, "sid=x; sid-cross-site=" + tok} {
			again := w.get("cookie: a=1; " + cookies)
			want(t, "host with "+cookies, again.host, r.host)
			if seen := strings.Join(values(again.received, "cookie"), "|"); strings.Contains(seen, tok) {
				t.Errorf("the backend sees %q", seen)
			}
		}
		w.counted("p pinned", 4)
		w.pass(50 * time.Second)
		want(t, "cookies renewed", len(w.get("cookie: sid-cross-site="+tok).setCookies()), 2)
		w.Answer = setting("x-end: 1")
		lines := w.get("cookie: sid-cross-site=" + tok).setCookies()
		want(t, "cookies removed", len(lines), 2)
		for i, name := range []string{"sid=;", "sid-cross-site=;"} {
			if !strings.HasPrefix(lines[i], name) || !strings.Contains(lines[i], "Max-Age=0") || !strings.Contains(lines[i], "Path=/shop") {
				t.Errorf("a removal: %q", lines[i])
			}
		}
	})
	each(t, config(), func(t *testing.T, w *world) {
		w.get()
		w.get("cookie: sid-cross-site=" + w.cookies["sid"])
		w.counted("p pinned", 0)
	})
}
