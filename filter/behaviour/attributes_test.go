package behaviour

import (
	"strings"
	"testing"
	"time"
)

func TestCookieAttributes(t *testing.T) {
	tests := []struct{ name, fields, attributes string }{
		{"defaults", `"type":"Cookie"`, "; Path=/; Secure; HttpOnly; SameSite=Strict"},
		{"no path", `"cookie":{"path":""}`, "; Secure; HttpOnly; SameSite=Strict"},
		{"all off", `"cookie":{"secure":false,"httpOnly":false,"sameSite":"Lax"}`, "; Path=/; SameSite=Lax"},
		{
			"all on", `"cookie":{"domain":"shop.example","path":"/cart","sameSite":"None","partitioned":true,"attributes":["Priority=High","Extra"]}`,
			"; Domain=shop.example; Path=/cart; Secure; HttpOnly; SameSite=None; Partitioned; Priority=High; Extra",
		},
		{
			"permanent", `"absoluteTimeout":"1h","cookie":{"lifetimeType":"Permanent"}`,
			"; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=3600; Expires=Sat, 21 Nov 2026 13:00:00 GMT",
		},
		{"session with a timeout", `"absoluteTimeout":"1h"`, "; Path=/; Secure; HttpOnly; SameSite=Strict"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, config(tt.fields), func(t *testing.T, w *world) {
				lines := w.get().setCookies()
				if len(lines) != 1 {
					t.Fatalf("want one Set-Cookie, got %q", lines)
				}
				pair, attributes, _ := strings.Cut(lines[0], ";")
				want(t, "attributes", ";"+attributes, tt.attributes)
				if !strings.HasPrefix(pair, "sid=") || len(pair) != len("sid=")+107 {
					t.Errorf("want sid and a token of 107 characters, got %q", pair)
				}
			})
		})
	}
}

func TestPermanentLifetimeShrinksOnRenewal(t *testing.T) {
	cfg := config(`"absoluteTimeout":"1h","idleTimeout":"30m","cookie":{"lifetimeType":"Permanent"}`)
	each(t, cfg, func(t *testing.T, w *world) {
		w.get()
		w.pass(20 * time.Minute)
		lines := w.get().setCookies()
		if len(lines) != 1 || !strings.HasSuffix(lines[0], "; Max-Age=2400; Expires=Sat, 21 Nov 2026 13:00:00 GMT") {
			t.Errorf("want the rest of the hour, got %q", lines)
		}
	})
}

func TestIssueOnTLS(t *testing.T) {
	each(t, config(`"issueOn":"TLS"`), func(t *testing.T, w *world) {
		want(t, "tokens issued on plaintext", len(w.get("x-forwarded-proto: http").setCookies()), 0)
		r := w.get()
		want(t, "tokens issued on TLS", len(r.setCookies()), 1)
		want(t, "host on plaintext with a token", w.get("x-forwarded-proto: http").host, r.host)
		w.counted("p new", 1)
	})
}

func TestIPv6Host(t *testing.T) {
	each(t, config(), func(t *testing.T, w *world) {
		w.hosts = []string{"[2001:db8::3]:8080"}
		w.get()
		want(t, "token length", len(w.cookies["sid"]), 123)
		w.hosts = []string{"10.0.0.9:80", "[2001:db8::3]:8080"}
		want(t, "host", w.get().host, "[2001:db8::3]:8080")
	})
}
