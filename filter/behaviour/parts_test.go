package behaviour

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/token"
)

// openParts opens the jar's token with the first ring. A token of version 1 has no parts.
func (w *world) openParts() token.Parts {
	w.t.Helper()
	secret, err := base64.RawURLEncoding.DecodeString(secretA)
	w.check(err)
	ring, err := token.NewRing([]token.Key{{ID: "a", Secret: secret}})
	w.check(err)
	sess, verdict := ring.Scope("p").Open(w.cookies["sid"], w.now.Unix())
	want(w.t, "verdict on "+w.cookies["sid"], verdict, token.Valid)
	return sess.Parts
}

// version2 is a configuration that writes version 2.
func version2(fields ...string) string {
	return config(append([]string{`"tokenVersion":2`}, fields...)...)
}

// TestTokenVersion1IsTheDefault: no token has parts unless the configuration says so.
func TestTokenVersion1IsTheDefault(t *testing.T) {
	each(t, config(), func(t *testing.T, w *world) {
		w.get()
		want(t, "parts", w.openParts(), token.Parts{})
		want(t, "length", len(w.cookies["sid"]), token.Len4)
	})
}

// TestSessionKeepsItsID: over renewals, a move to another host and a new ring; another session has another id.
func TestSessionKeepsItsID(t *testing.T) {
	each(t, version2(`"idleTimeout":"100s"`), func(t *testing.T, w *world) {
		home := w.get().host
		id := w.openParts().ID
		if id == 0 {
			t.Fatal("the session has no id")
		}
		want(t, "host", w.get().host, home)
		w.pass(50 * time.Second)
		want(t, "tokens issued at half of the idle time", len(w.get().setCookies()), 1)
		want(t, "id after the renewal", w.openParts().ID, id)
		w.hosts = without1(w.hosts, home)
		moved := w.get().host
		want(t, "id after the move", w.openParts().ID, id)
		want(t, "host after the move", w.get().host, moved)
		w.counted("p moved", 1)
		w.pass(100 * time.Second)
		w.get()
		if w.openParts().ID == id {
			t.Error("a new session has the id of the one that has ended")
		}
	})
}

func without1(hosts []string, gone string) (left []string) {
	for _, h := range hosts {
		if h != gone {
			left = append(left, h)
		}
	}
	return left
}

// TestFleetReadsVersion2First: a proxy that writes version 1 takes tokens of version 2; a session gets its id when a proxy
// comes that writes version 2, and keeps its host and its beginning all the while.
func TestFleetReadsVersion2First(t *testing.T) {
	const fields = `"absoluteTimeout":"100s"`
	eachBuild(t, func(t *testing.T, start start) {
		w := newWorld(t, config(fields), start)
		home := w.get().host
		w.pass(40 * time.Second)
		w.restart(version2(fields), start, ringA)
		want(t, "host at a proxy that writes version 2", w.get().host, home)
		id := w.openParts().ID
		if id == 0 {
			t.Error("the session got no id")
		}
		want(t, "tokens issued to a session with an id", len(w.get().setCookies()), 0)
		w.counted("p renewed", 1)
		w.restart(config(fields), start, ringA)
		want(t, "host at a proxy that writes version 1", w.get().host, home)
		want(t, "id at a proxy that writes version 1", w.openParts().ID, id)
		w.counted("p pinned", 1)
		w.pass(60 * time.Second)
		if w.get().host == home {
			t.Error("the session outlived its absolute timeout")
		}
		want(t, "parts of a new token of version 1", w.openParts(), token.Parts{})
	})
}
