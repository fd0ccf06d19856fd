package behaviour

import (
	"encoding/base64"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/token"
)

// with adds fields to the configuration itself.
func with(config string, fields ...string) string {
	return strings.Replace(config, `"policies"`, strings.Join(append(fields, `"policies"`), ","), 1)
}

func state(pairs ...string) map[string]string {
	state := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		state["limpet_"+pairs[i]] = pairs[i+1]
	}
	return state
}

func (w *world) wantState(what string, r result, state map[string]string) {
	w.t.Helper()
	if !maps.Equal(r.state, state) {
		w.t.Errorf("%s: got %v, want %v", what, r.state, state)
	}
}

// TestStateForAccessLogs: what access logs and traces get of a request.
func TestStateForAccessLogs(t *testing.T) {
	each(t, with(config(`"absoluteTimeout":"1h"`), `"accessLogFields":true`), func(t *testing.T, w *world) {
		r := w.get()
		w.wantState("new session", r, state("outcome", "new", "policy", "p"))
		home := r.host
		w.pass(90 * time.Second)
		w.wantState("pinned", w.get(), state("outcome", "pinned", "policy", "p", "age", "90", "host", home))
		old := w.cookies["sid"]
		w.wantState("forged", w.get("cookie: sid="+forged), state("outcome", "unknown-key", "policy", "p"))
		w.hosts = without1(w.hosts, home)
		w.wantState("moved", w.get("cookie: sid="+old), state("outcome", "moved", "policy", "p", "age", "90", "host", home, "reason", "host-gone"))
		w.pass(time.Hour)
		w.wantState("expired", w.get("cookie: sid="+old), state("outcome", "expired-absolute", "policy", "p"))
	})
	each(t, config(), func(t *testing.T, w *world) {
		want(t, "filter state when it is switched off", len(w.get().state), 0)
	})
}

// TestStateOfRefusal: a host that takes no connection was tried, which is told apart from one that is gone.
func TestStateOfRefusal(t *testing.T) {
	each(t, with(config(), `"accessLogFields":true`), func(t *testing.T, w *world) {
		w.Answer = answers("connection: close") // or Envoy would have no need of another
		home := w.get().host
		w.Answer, w.Refuses = nil, home
		r := w.get()
		if r.host == home || r.host == "" {
			t.Errorf("%q answered", r.host)
		}
		w.wantState("refused", r, state("outcome", "moved", "policy", "p", "age", "0", "host", home, "reason", "host-refused"))
	})
}

// TestStateOfFailures: why a session could not go on.
func TestStateOfFailures(t *testing.T) {
	each(t, with(config(), `"accessLogFields":true`), func(t *testing.T, w *world) {
		w.get()
		tok := w.cookies["sid"]
		for details, reason := range map[string]string{
			"via_upstream": "host-declined", "no_healthy_upstream": "host-gone", "response_timeout": "host-timeout", "upstream_per_try_timeout": "host-timeout",
			"upstream_reset_before_response_started{connection_termination}": "host-refused",
		} {
			w.Details = details
			w.Answer = func(string, [][2]string) [][2]string { return [][2]string{{":status", "503"}} }
			r := w.get("cookie: sid=" + tok)
			want(t, details+": outcome", r.state["limpet_outcome"], "failed")
			want(t, details+": reason", r.state["limpet_reason"], reason)
		}
	})
}

// TestSessionDigest: it follows one session, over a renewal and a move, is another one for another session, and is nothing that
// a client could use or that is part of the token.
func TestSessionDigest(t *testing.T) {
	on := with(config(`"idleTimeout":"100s"`), `"accessLogFields":true`, `"sessionDigest":true`)
	each(t, on, func(t *testing.T, w *world) {
		r := w.get()
		home, digest := r.host, r.state["limpet_session"]
		want(t, "length", len(digest), 16)
		id := w.openParts().ID
		w.pass(50 * time.Second)
		want(t, "digest after a renewal", w.get().state["limpet_session"], digest)
		w.hosts = without1(w.hosts, home)
		want(t, "digest after a move", w.get().state["limpet_session"], digest)
		want(t, "id", w.openParts().ID, id)
		raw, err := base64.RawURLEncoding.DecodeString(w.cookies["sid"])
		w.noError(err)
		if strings.Contains(string(raw), digest) || strings.Contains(w.cookies["sid"], digest) {
			t.Error("the token has the digest")
		}
		if other := w.get("cookie: a=1").state["limpet_session"]; other == digest || other == "" {
			t.Errorf("the digest of another session is %q", other)
		}
		w.get("cookie: sid=" + digest)
		w.counted("p malformed", 1)
	})
}

// scopeOf is a scope under the first ring.
func scopeOf(t *testing.T, id, secret, name string) *token.Scope {
	t.Helper()
	return ringOf(t, id, secret).Scope(name)
}

func ringOf(t *testing.T, id, secret string) *token.Ring {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(secret)
	noError(t, err)
	ring, err := token.NewRing([]token.Key{{ID: id, Secret: raw}})
	noError(t, err)
	return ring
}

func ticket(t *testing.T, s *token.Scope, now, ends time.Time) string {
	t.Helper()
	text, err := s.AppendTicket(nil, now.Unix(), ends.Unix())
	noError(t, err)
	return string(text)
}

// TestTicket: who has one is told what became of the session, no cache keeps it, and no backend sees the ticket.
func TestTicket(t *testing.T) {
	each(t, with(config(), `"debugTickets":true`), func(t *testing.T, w *world) {
		good := ticket(t, scopeOf(t, "a", secretA, "p"), w.Now, w.Now.Add(10*time.Minute))
		w.Answer = setting("cache-control: private, stale-if-error=60")
		r := w.get("limpet-ticket: " + good)
		want(t, "answer", r.header("limpet-session"), "outcome=new; policy=p")
		want(t, "cache-control", r.header("cache-control"), "no-store")
		want(t, "tickets at the backend", len(values(r.received, "limpet-ticket")), 0)
		home := r.host
		w.pass(5 * time.Minute)
		want(t, "answer", w.get("limpet-ticket: "+good).header("limpet-session"), "outcome=pinned; policy=p; age=300")
		w.hosts = without1(w.hosts, home)
		want(t, "answer", w.get("limpet-ticket: "+good).header("limpet-session"), "outcome=moved; reason=host-gone; policy=p; age=300")
		w.pass(5 * time.Minute)
		r = w.get("limpet-ticket: " + good)
		want(t, "answer after ten minutes", r.header("limpet-session"), "ticket=invalid")
		want(t, "cache-control", r.header("cache-control"), "no-store")
		want(t, "tickets at the backend", len(values(r.received, "limpet-ticket")), 0)
	})
}

// TestHostileTickets: forged, expired, too long a life, another scope's, another key's, a token. Each has the same answer, which
// tells nothing, and none gets to the backend.
func TestHostileTickets(t *testing.T) {
	each(t, with(config(), `"debugTickets":true`), func(t *testing.T, w *world) {
		own := scopeOf(t, "a", secretA, "p")
		good := ticket(t, own, w.Now, w.Now.Add(10*time.Minute))
		w.get()
		for name, text := range map[string]string{
			"forged":                good[:30] + flip(good[30]) + good[31:],
			"signature":             good[:59] + flip(good[59]),
			"expired":               ticket(t, own, w.Now.Add(-10*time.Minute), w.Now),
			"from the future":       ticket(t, own, w.Now.Add(2*time.Hour), w.Now.Add(2*time.Hour+10*time.Minute)),
			"of another scope":      ticket(t, scopeOf(t, "a", secretA, "q"), w.Now, w.Now.Add(10*time.Minute)),
			"of another key":        ticket(t, scopeOf(t, "b", secretA, "p"), w.Now, w.Now.Add(10*time.Minute)),
			"of another's same key": ticket(t, scopeOf(t, "a", secretB, "p"), w.Now, w.Now.Add(10*time.Minute)),
			"a token":               w.cookies["sid"],
			"cut":                   good[:56],
			"padded":                good + "=",
			"with a line break":     good[:58] + "%0",
			"long":                  strings.Repeat(good, 300),
			"empty":                 "",
		} {
			r := w.get("limpet-ticket: " + text)
			want(t, name+": answer", r.header("limpet-session"), "ticket=invalid")
			want(t, name+": cache", r.header("cache-control"), "no-store")
			want(t, name+": tickets at the backend", len(values(r.received, "limpet-ticket")), 0)
		}
		want(t, "the good one", w.get("limpet-ticket: "+good).header("limpet-session"), "outcome=pinned; policy=p; age=0")
	})
	each(t, config(), func(t *testing.T, w *world) {
		good := ticket(t, scopeOf(t, "a", secretA, "p"), w.Now, w.Now.Add(10*time.Minute))
		want(t, "answer where it is switched off", w.get("limpet-ticket: "+good).header("limpet-session"), "")
	})
}

// TestMirroredCookies: what mirrors get as cookies has no token, of other rules' sessions neither, whatever else it has, and the backend
// keeps its own.
func TestMirroredCookies(t *testing.T) {
	on := with(config(`"mirrored":true`, `"cookie":{"crossSite":true}`), `"accessLogFields":true`)
	each(t, on, func(t *testing.T, w *world) {
		want(t, "cookies of mirrors without any", w.get().state["limpet_mirror"], "")
		tok := w.cookies["sid"]
		for cookies, left := range map[string]string{
			"sid=" + tok:                                           "",
			"a=1; sid=" + tok + "; b=2":                            "a=1; b=2",
			"sid-cross-site=" + tok + "; sid=mine":                 "sid=mine",
			"a=1; b=2":                                             "a=1; b=2",
			"a=1; of-another-rule=" + tok + "; b=2":                "a=1; b=2",
			"app=" + tok + "." + strings.Repeat("A", 80) + "; b=2": "b=2", // an envelope
			"sid=" + forged + "; a=\"x y\"; sid=" + tok:            "a=\"x y\"",
		} {
			r := w.get("cookie: " + cookies)
			want(t, "cookies of mirrors of "+cookies, r.state["limpet_mirror"], left)
			want(t, "cookies of the backend", values(r.received, "cookie")[0], cookies)
		}
	})
}

// No backend sees a ticket, on routes without a policy either.
func TestTicketGoesNoFurther(t *testing.T) {
	each(t, strings.Replace(config(), `"policies"`, `"debugTickets":true,"policies"`, 1), func(t *testing.T, w *world) {
		w.unpoliced = true
		for _, route := range []string{"r", "other"} {
			_, passed := first(w.send(route, "c", "limpet-ticket: x").received, "limpet-ticket")
			want(t, "a ticket at the backend of "+route, passed, false)
		}
	})
}
