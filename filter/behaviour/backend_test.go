package behaviour

import (
	"strings"
	"testing"
	"time"
)

// answers makes every backend answer with these lines.
func answers(lines ...string) func(string, [][2]string) [][2]string {
	h := [][2]string{{":status", "200"}}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		if name == ":status" {
			h = without(h, name)
		}
		h = append(h, [2]string{name, value})
	}
	return func(string, [][2]string) [][2]string { return h }
}

func TestPreserve(t *testing.T) {
	each(t, config(`"idleTimeout":"100s"`), func(t *testing.T, w *world) {
		w.Answer = answers("set-cookie: other=1", "set-cookie: sid=own; Path=/")
		r := w.get()
		want(t, "Set-Cookie lines", strings.Join(r.setCookies(), "|"), "other=1|sid=own; Path=/")
		w.counted("p new", 0)
		w.Answer = nil
		delete(w.cookies, "sid")
		home := w.get().host
		w.Answer = answers("set-cookie: sid=own")
		w.pass(50 * time.Second)
		r = w.get()
		want(t, "host", r.host, home)
		want(t, "Set-Cookie lines on renewal", strings.Join(r.setCookies(), "|"), "sid=own")
	})
}

func TestPreserveHeader(t *testing.T) {
	each(t, config(`"type":"Header"`, `"sessionName":"x-sid"`), func(t *testing.T, w *world) {
		w.Answer = answers("x-sid: own")
		want(t, "a backend's own value", w.get().header("x-sid"), "own")
		w.Answer = answers("x-sid: " + forged)
		if got := w.get().header("x-sid"); got == forged || len(got) < 96 {
			t.Errorf("an echoed token stands in the way of a fresh one: %q", got)
		}
	})
}

func TestEndSession(t *testing.T) {
	cfg := config(`"endSessionHeader":"x-session-end","cookie":{"path":"/cart","domain":"shop.example","sameSite":"None","partitioned":true}`)
	each(t, cfg, func(t *testing.T, w *world) {
		w.get()
		w.Answer = answers("x-session-end: 1")
		r := w.get()
		want(t, "Set-Cookie", strings.Join(r.setCookies(), "|"),
			"sid=; Domain=shop.example; Path=/cart; Secure; HttpOnly; SameSite=None; Partitioned; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT")
		want(t, "cookies left", len(w.cookies), 0)
		want(t, "tokens issued to a client without one", len(w.get().setCookies()), 0)
		w.counted("p ended", 2)
		w.Answer = nil
		want(t, "tokens issued afterwards", len(w.get().setCookies()), 1)
	})
}

// No shared cache may keep a response that takes a token away: all that it hands it out to would be logged out.
func TestForgettingIsNotCached(t *testing.T) {
	for _, tt := range []struct{ control, before, after string }{
		{"Keep", "", "private"},
		{"Keep", "public, max-age=60", "private, max-age=60"},
		{"Private", "no-store", "private, no-store"},
		{"NoStore", "public, max-age=60", "no-store"},
	} {
		t.Run(tt.control+" "+tt.before, func(t *testing.T) {
			each(t, config(`"endSessionHeader":"x-session-end","cache":{"control":"`+tt.control+`"}`), func(t *testing.T, w *world) {
				w.get()
				lines := []string{"x-session-end: 1"}
				if tt.before != "" {
					lines = append(lines, "cache-control: "+tt.before)
				}
				w.Answer = answers(lines...)
				want(t, "Cache-Control", w.get().header("cache-control"), tt.after)
			})
		})
	}
}

func TestCacheControl(t *testing.T) {
	tests := []struct{ control, before, after string }{
		{"Keep", "public, max-age=60", "public, max-age=60"},
		{"Keep", "", ""},
		{"NoStore", "public, max-age=60", "no-store"},
		{"Private", "", "private"},
		{"Private", "public, max-age=60, s-maxage=600", "private, max-age=60"},
		{"Private", "no-cache, must-revalidate", "private, no-cache, must-revalidate"},
		{"Private", "no-store", "private, no-store"},
	}
	for _, tt := range tests {
		t.Run(tt.control+" "+tt.before, func(t *testing.T) {
			each(t, config(`"cache":{"control":"`+tt.control+`"}`), func(t *testing.T, w *world) {
				if tt.before != "" {
					w.Answer = answers("cache-control: " + tt.before)
				}
				want(t, "with a token", w.get().header("cache-control"), tt.after)
				want(t, "without a token", w.get().header("cache-control"), tt.before)
			})
		})
	}
}

func TestSkipCacheable(t *testing.T) {
	tests := []struct {
		name, method string
		lines        []string
		issued       int
	}{
		{"plain 200", "GET", nil, 0},
		{"max-age", "GET", []string{"cache-control: max-age=60"}, 0},
		{"private", "GET", []string{"cache-control: private, max-age=60"}, 1},
		{"no-store", "GET", []string{"cache-control: No-Store"}, 1},
		{"304", "GET", []string{":status: 304", "cache-control: private"}, 0},
		{"302", "GET", []string{":status: 302"}, 1},
		{"302 with Expires", "GET", []string{":status: 302", "expires: Sat, 21 Nov 2026 13:00:00 GMT"}, 0},
		{"HEAD", "HEAD", nil, 0},
		{"POST", "POST", nil, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, config(`"cache":{"skipCacheable":true}`), func(t *testing.T, w *world) {
				w.Answer = answers(tt.lines...)
				want(t, "tokens issued", len(w.get(":method: "+tt.method).setCookies()), tt.issued)
			})
		})
	}
}

func TestUnsafeMethodsOnly(t *testing.T) {
	each(t, config(`"cache":{"unsafeMethodsOnly":true}`), func(t *testing.T, w *world) {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE"} {
			want(t, "tokens issued after "+method, len(w.get(":method: "+method).setCookies()), 0)
		}
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
			clear(w.cookies)
			want(t, "tokens issued after "+method, len(w.get(":method: "+method).setCookies()), 1)
		}
	})
}

// TestSharedCaches: no token is on a response that says that shared caches may store it, nor on a 304, unless the policy takes
// that from the response or says that it is all right (L8 of the security review).
func TestSharedCaches(t *testing.T) {
	tests := []struct {
		name   string
		lines  []string
		issued int // with control Keep
	}{
		{"nothing said", nil, 1},
		{"public", []string{"cache-control: public, max-age=3600"}, 0},
		{"max-age", []string{"cache-control: Max-Age=60"}, 0},
		{"s-maxage", []string{"cache-control: s-maxage=60"}, 0},
		{"immutable", []string{"cache-control: max-age=60, immutable"}, 0},
		{"private", []string{"cache-control: max-age=60, private"}, 1},
		{"no-store", []string{"cache-control: no-store, max-age=0"}, 1},
		{"no-cache", []string{"cache-control: no-cache"}, 1},
		{"no-cache and public", []string{"cache-control: no-cache, public"}, 0},
		{"Expires", []string{"expires: Sat, 21 Nov 2026 13:00:00 GMT"}, 0},
		{"Expires and no-cache", []string{"cache-control: no-cache", "expires: Sat, 21 Nov 2026 13:00:00 GMT"}, 1},
		{"Expires long ago", []string{"expires: Thu, 19 Nov 1981 08:52:00 GMT"}, 1},
		{"Expires at once", []string{"expires: 0"}, 1},
		{"304", []string{":status: 304", "cache-control: private"}, 0},
	}
	for _, tt := range tests {
		for _, control := range []string{"Keep", "Share", "Private", "NoStore"} {
			t.Run(control+" "+tt.name, func(t *testing.T) {
				each(t, config(`"cache":{"control":"`+control+`"}`), func(t *testing.T, w *world) {
					w.Answer = answers(tt.lines...)
					issued := 1
					if control == "Keep" {
						issued = tt.issued
					}
					want(t, "tokens issued", len(w.get(":method: GET").setCookies()), issued)
				})
			})
		}
	}
}
