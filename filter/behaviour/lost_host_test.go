package behaviour

import (
	"strings"
	"testing"
	"time"
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
		w.Strict = true
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

// Under Fail Envoy itself answers the policy's status for a host that is gone, whichever that is: the session fails, and
// its idle timeout does not slide.
func TestOwnFailStatus(t *testing.T) {
	for _, status := range []string{"400", "404", "408", "425", "429", "499", "500", "503", "521", "599"} {
		t.Run(status, func(t *testing.T) {
			each(t, config(`"onHostLost":"Fail"`, `"failStatus":`+status, `"idleTimeout":"10s"`), func(t *testing.T, w *world) {
				w.Strict, w.StrictStatus = true, status
				w.get()
				w.hosts = w.hosts[1:]
				for range 2 { // at once, and when the token is due to be renewed
					r := w.get()
					want(t, "status", r.header(":status"), status)
					want(t, "tokens", len(r.setCookies()), 0)
					w.Now = w.Now.Add(8 * time.Second)
				}
				w.get()
				w.counted("p failed", 2)
				w.counted("p expired-idle", 1)
			})
		})
	}
}

// A host may answer that status itself, and keeps its session.
func TestHostAnswersFailStatus(t *testing.T) {
	each(t, config(`"onHostLost":"Fail","failStatus":404`), func(t *testing.T, w *world) {
		w.Strict, w.Answer = true, answers(":status: 404")
		w.get()
		w.get()
		w.counted("p new", 1)
		w.counted("p pinned", 1)
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
				w.Answer, w.Details = answers(tt.reply), tt.details
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
		{"stream_idle_timeout", "408", false},
		{"request_payload_too_large", "413", false},
		{"via_upstream", "500", false},
	}
	for _, tt := range tests {
		t.Run(tt.details, func(t *testing.T) {
			each(t, config(), func(t *testing.T, w *world) {
				w.Answer, w.Details = answers(":status: "+tt.status), tt.details
				issued := 0
				if tt.details == "via_upstream" {
					issued = 1
				}
				want(t, "tokens issued to a client without one", len(w.get().setCookies()), issued)
				w.Answer, w.Details = nil, ""
				clear(w.cookies)
				w.get()
				w.Answer, w.Details = answers(":status: "+tt.status), tt.details
				w.get()
				_, kept := w.cookies["sid"]
				want(t, "the client keeps its token", kept, !tt.voids)
			})
		})
	}
}

// A host that answers 503 itself can't serve: no session begins there, and those that are there leave. Other errors,
// and a 503 with the request to come back, are answers like any others.
func TestHostDeclines(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		stays bool
	}{
		{"503", []string{":status: 503"}, false},
		{"503 and a logout", []string{":status: 503", "x-session-end: 1"}, false},
		{"503 with Retry-After", []string{":status: 503", "retry-after: 5"}, true},
		{"500", []string{":status: 500"}, true},
		{"504", []string{":status: 504"}, true},
		{"429", []string{":status: 429"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, config(`"endSessionHeader":"x-session-end"`), func(t *testing.T, w *world) {
				w.Answer = answers(tt.lines...)
				w.get()
				want(t, "a session begins", len(w.cookies) == 1, tt.stays)
				clear(w.cookies)
				w.Answer = nil
				w.get()
				w.Answer = answers(tt.lines...)
				w.get()
				want(t, "the session stays", len(w.cookies) == 1, tt.stays)
				failed := uint64(1)
				if tt.stays {
					failed = 0
				}
				w.counted("p failed", failed)
			})
		})
	}
}

// A session that has moved to a host that declines has no place there either.
func TestMovedToHostThatDeclines(t *testing.T) {
	each(t, config(), func(t *testing.T, w *world) {
		w.get()
		w.hosts, w.Answer = w.hosts[1:], answers(":status: 503")
		w.get()
		want(t, "tokens that the client has", len(w.cookies), 0)
		w.counted("p moved", 0)
		w.counted("p failed", 1)
	})
}

// Under Fail a session stays with its host whatever that answers.
func TestStrictHostDeclines(t *testing.T) {
	each(t, config(`"onHostLost":"Fail","failStatus":421`), func(t *testing.T, w *world) {
		w.Strict = true
		w.get()
		w.Answer = answers(":status: 503")
		want(t, "status", w.get().header(":status"), "503")
		want(t, "tokens that the client has", len(w.cookies), 1)
		w.counted("p pinned", 1)
	})
}

// Where a header carries the session there is nothing to remove: the client gets it empty, or as an empty list where a
// proxy can't set empty values, and what it then sends back is no token.
func TestHeaderIsForgotten(t *testing.T) {
	cfg := config(`"type":"Header"`, `"sessionName":"x-sid"`, `"endSessionHeader":"x-session-end"`)
	for name, answer := range map[string][2]string{
		"declined":   {":status: 503", "via_upstream"},
		"refused":    {":status: 503", "upstream_reset_before_response_started{remote_connection_failure}"},
		"timed out":  {":status: 504", "response_timeout"},
		"logged out": {"x-session-end: 1", "via_upstream"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, cfg, func(t *testing.T, w *world) {
				line := "x-sid: " + w.get().header("x-sid")
				w.Answer, w.Details = answers(answer[0]), answer[1]
				got, sent := first(w.get(line).headers, "x-sid")
				want(t, "the header is sent", sent, true)
				want(t, "the header", strings.Trim(got, ","), "")
				w.Answer, w.Details = nil, ""
				want(t, "a new token for the empty header", len(w.get("x-sid: ").header("x-sid")), 107)
				want(t, "a new token for the empty list", len(w.get("x-sid: ,").header("x-sid")), 123) // the next host's address is longer
				w.counted("p new", 3)
			})
		})
	}
}

func TestOwnReplyNamesNoHost(t *testing.T) {
	each(t, config(), func(t *testing.T, w *world) {
		w.get()
		w.hosts, w.Details = w.hosts[1:], "response_timeout"
		w.Answer = answers(":status: 504")
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
		// A preflight carries no cookies: what has a token is some other client's request, and its session moves.
		want(t, "tokens issued to one with a token whose host is gone", len(w.get(preflight...).setCookies()), 1)
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
				w.Answer = answers(lines...)
				want(t, "exposed", w.get().header("access-control-expose-headers"), tt.want)
			})
		})
	}
}
