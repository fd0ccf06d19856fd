package behaviour

import (
	"strings"
	"testing"
)

func TestLostHostRebalances(t *testing.T) {
	each(t, config(), func(t *testing.T, w *world) {
		home := w.get().host
		w.hosts = w.hosts[1:]
		r := w.get()
		if r.host == home {
			t.Fatal("the lost host answered")
		}
		want(t, "tokens in the same response", len(r.setCookies()), 1)
		want(t, "host afterwards", w.get().host, r.host)
		w.counted("p moved", 1)
		w.counted("p pinned", 1)
	})
}

func TestLostHostFails(t *testing.T) {
	each(t, config(`"onHostLost":"Fail","failStatus":421`), func(t *testing.T, w *world) {
		w.strict = true
		home := w.get().host
		hosts := w.hosts
		w.hosts = w.hosts[1:]
		r := w.get()
		want(t, "status", r.header(":status"), "421")
		want(t, "Set-Cookie", len(r.setCookies()), 0)
		w.hosts = hosts
		want(t, "host when it is back", w.get().host, home)
		w.counted("p failed", 1)
	})
}

// Under Fail the status is the policy's, however Envoy words the loss; a time-out is not a loss, and gRPC
// carries its status elsewhere.
func TestFailStatus(t *testing.T) {
	tests := []struct{ details, reply, status string }{
		{"no_healthy_upstream", ":status: 503", "503→421"},
		{"upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error:_Connection_refused}", ":status: 503", "503→421"},
		{"upstream_reset_before_response_started{connection_termination}", ":status: 503", "503→421"},
		{"response_timeout", ":status: 504", "504→504"},
		{"ext_authz_error", ":status: 503", "503→503"},
		{"via_upstream", ":status: 503", "503→503"},
	}
	for _, tt := range tests {
		t.Run(tt.details, func(t *testing.T) {
			each(t, config(`"onHostLost":"Fail","failStatus":421`), func(t *testing.T, w *world) {
				w.get()
				w.answer, w.details = answers(tt.reply), tt.details
				_, status, _ := strings.Cut(tt.status, "→")
				r := w.get()
				want(t, "status", r.header(":status"), status)
				want(t, "Set-Cookie", len(r.setCookies()), 0)
			})
		})
	}
}

func TestNoTokenOnOwnReplies(t *testing.T) {
	tests := []struct {
		details, status string
		voids           bool
	}{
		{"response_timeout", "504", true},
		{"upstream_per_try_timeout", "504", true},
		{"no_healthy_upstream", "503", true},
		{"upstream_reset_before_response_started{connection_termination}", "503", true},
		{"ext_authz_denied", "503", false},
		{"via_upstream", "503", false},
	}
	for _, tt := range tests {
		t.Run(tt.details, func(t *testing.T) {
			each(t, config(), func(t *testing.T, w *world) {
				w.answer, w.details = answers(":status: "+tt.status), tt.details
				issued := 0
				if tt.details == "via_upstream" {
					issued = 1
				}
				want(t, "tokens issued to a client without one", len(w.get().setCookies()), issued)
				w.answer, w.details = nil, ""
				clear(w.cookies)
				w.get()
				w.answer, w.details = answers(":status: "+tt.status), tt.details
				w.get()
				_, kept := w.cookies["sid"]
				want(t, "the client keeps its token", kept, !tt.voids)
			})
		})
	}
}

func TestOwnReplyNamesNoHost(t *testing.T) {
	each(t, config(), func(t *testing.T, w *world) {
		w.get()
		w.hosts, w.details = w.hosts[1:], "response_timeout"
		w.answer = answers(":status: 504")
		r := w.get()
		want(t, "Set-Cookie", strings.Join(r.setCookies(), "|"), "sid=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT")
		w.counted("p failed", 1)
	})
}

func TestPreflight(t *testing.T) {
	preflight := []string{":method: OPTIONS", "origin: https://a.example", "access-control-request-method: PUT"}
	each(t, config(), func(t *testing.T, w *world) {
		want(t, "tokens issued to a preflight", len(w.get(preflight...).setCookies()), 0)
		want(t, "tokens issued to other OPTIONS", len(w.get(":method: OPTIONS").setCookies()), 1)
		w.hosts = w.hosts[2:]
		want(t, "tokens issued to a preflight that moves", len(w.get(preflight...).setCookies()), 0)
	})
}

func TestExposeHeaders(t *testing.T) {
	tests := []struct{ name, allow, expose, want string }{
		{"no CORS", "", "", ""},
		{"CORS", "https://a.example", "", "x-sid"},
		{"others exposed", "https://a.example", "ETag, X-A", "ETag, X-A, x-sid"},
		{"exposed already", "https://a.example", "ETag,X-SID", "ETag,X-SID"},
		{"star", "https://a.example", "*", "*, x-sid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, config(`"type":"Header"`, `"sessionName":"x-sid"`), func(t *testing.T, w *world) {
				var lines []string
				if tt.allow != "" {
					lines = append(lines, "access-control-allow-origin: "+tt.allow)
				}
				if tt.expose != "" {
					lines = append(lines, "access-control-expose-headers: "+tt.expose)
				}
				w.answer = answers(lines...)
				want(t, "exposed", w.get().header("access-control-expose-headers"), tt.want)
			})
		})
	}
}
