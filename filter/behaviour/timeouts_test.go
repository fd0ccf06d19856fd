package behaviour

import (
	"testing"
	"time"
)

func TestSessionSticks(t *testing.T) {
	each(t, config(), func(t *testing.T, w *world) {
		home := w.get().host
		for range 20 {
			want(t, "host", w.get().host, home)
		}
		w.counted("p new", 1)
		w.counted("p pinned", 20)
	})
}

func TestAbsoluteTimeout(t *testing.T) {
	each(t, config(`"absoluteTimeout":"1m"`), func(t *testing.T, w *world) {
		home := w.get().host
		w.pass(59 * time.Second)
		r := w.get()
		want(t, "host one second before the end", r.host, home)
		want(t, "tokens issued before the end", len(r.setCookies()), 0)
		w.pass(time.Second)
		r = w.get()
		if r.host == home {
			t.Error("the session outlived its absolute timeout")
		}
		want(t, "tokens issued at the end", len(r.setCookies()), 1)
		want(t, "host of the new session", w.get().host, r.host)
		w.counted("p expired-absolute", 1)
	})
}

func TestAbsoluteTimeoutIsNotRenewed(t *testing.T) {
	each(t, config(`"absoluteTimeout":"1m","idleTimeout":"40s"`), func(t *testing.T, w *world) {
		home := w.get().host
		for range 3 {
			w.pass(19 * time.Second)
			want(t, "host", w.get().host, home)
		}
		w.pass(3 * time.Second)
		if w.get().host == home {
			t.Error("renewals carried the session past its absolute timeout")
		}
		w.counted("p renewed", 3)
		w.counted("p expired-absolute", 1)
	})
}

func TestIdleTimeout(t *testing.T) {
	each(t, config(`"idleTimeout":"100s"`), func(t *testing.T, w *world) {
		home := w.get().host
		for range 10 {
			w.pass(99 * time.Second)
			want(t, "host of a session in use", w.get().host, home)
		}
		w.pass(100 * time.Second)
		if w.get().host == home {
			t.Error("the session outlived its idle timeout")
		}
		w.counted("p expired-idle", 1)
	})
}

func TestRenewalIsRare(t *testing.T) {
	each(t, config(`"idleTimeout":"100s","renewAfterPercent":50`), func(t *testing.T, w *world) {
		w.get()
		w.pass(49 * time.Second)
		want(t, "tokens issued before half of the idle time", len(w.get().setCookies()), 0)
		w.pass(time.Second)
		want(t, "tokens issued at half of the idle time", len(w.get().setCookies()), 1)
		want(t, "tokens issued right after", len(w.get().setCookies()), 0)
		w.counted("p renewed", 1)
		w.counted("p pinned", 2)
	})
}

func TestClockSkew(t *testing.T) {
	cfg := `{"version":"limpet.dev/v1","clockSkew":"30s","policies":[` + policy("p", "r") + `]}`
	each(t, cfg, func(t *testing.T, w *world) {
		home := w.get().host
		w.pass(-30 * time.Second)
		want(t, "host, by a proxy whose clock is 30 s behind", w.get().host, home)
		w.pass(-time.Second)
		if w.get().host == home {
			t.Error("a token from the future was accepted beyond the tolerance")
		}
		w.counted("p not-yet-valid", 1)
	})
}

func TestHeaderSession(t *testing.T) {
	each(t, config(`"type":"Header"`, `"sessionName":"X-Sid"`, `"idleTimeout":"100s"`), func(t *testing.T, w *world) {
		r := w.get()
		tok := r.header("x-sid")
		if tok == "" || len(r.setCookies()) != 0 {
			t.Fatalf("want the token in the header x-sid only, got %v", r.headers)
		}
		again := w.get("x-sid: " + tok)
		want(t, "host", again.host, r.host)
		want(t, "token on the steady path", again.header("x-sid"), "")
		want(t, "host, token in a list", w.get("x-sid: nonsense, "+tok).host, r.host)
		w.pass(60 * time.Second)
		if renewed := w.get("x-sid: " + tok).header("x-sid"); renewed == "" || renewed == tok {
			t.Errorf("want a renewed token, got %q", renewed)
		}
		w.pass(40 * time.Second)
		if w.get("x-sid: "+tok).host == r.host {
			t.Error("the session outlived its idle timeout")
		}
		w.counted("p expired-idle", 1)
	})
}
