package behaviour

import (
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/token"
)

// openParts opens the jar's token with the first ring.
func (w *world) openParts() token.Parts {
	w.t.Helper()
	sess, verdict := scopeOf(w.t, "a", secretA, "p").Open(w.cookies["sid"], w.Now.Unix())
	want(w.t, "verdict on "+w.cookies["sid"], verdict, token.Valid)
	return sess.Parts
}

// takeShort puts a token without parts for a host into the jar, as somebody else may have signed it.
func (w *world) takeShort(host string) {
	w.t.Helper()
	h, err := token.ParseHost(host)
	w.noError(err)
	now := w.Now.Unix()
	sess := token.Session{Host: h, IssuedAt: now, LastSeen: now}
	short, err := scopeOf(w.t, "a", secretA, "p").Append(nil, sess, token.Minting{Now: now, Nonce: [12]byte{1}})
	w.noError(err)
	w.cookies["sid"] = string(short)
}

// TestSessionKeepsItsID: over renewals, a move to another host and a new ring; another session has another id.
func TestSessionKeepsItsID(t *testing.T) {
	each(t, config(`"idleTimeout":"100s"`), func(t *testing.T, w *world) {
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

// TestShortForm: a session whose token has no parts gets its id at its next request, and keeps its host and its beginning.
func TestShortForm(t *testing.T) {
	each(t, config(`"absoluteTimeout":"100s"`), func(t *testing.T, w *world) {
		home := w.hosts[1]
		w.takeShort(home)
		w.pass(40 * time.Second)
		want(t, "host", w.get().host, home)
		id := w.openParts().ID
		if id == 0 {
			t.Error("the session got no id")
		}
		want(t, "tokens issued to a session with an id", len(w.get().setCookies()), 0)
		w.counted("p renewed", 1)
		w.pass(60 * time.Second)
		w.get()
		w.counted("p expired-absolute", 1)
		if w.openParts().ID == id {
			t.Error("the session outlived its absolute timeout")
		}
	})
}
