package xds

import (
	"strings"
	"testing"
)

const readyName = "limpet-ready"

// newReadyEnvoy is one that asks for the listener by which it says that it is ready.
func newReadyEnvoy(t *testing.T) *fakeEnvoy {
	t.Helper()
	e := newFakeEnvoy(t)
	e.client.ready = text(Listener, readyName, "")
	return e
}

// TestReadyComesLast holds that an Envoy hears that it is ready when it has acknowledged all of its first configuration, not before and
// once; and that no change takes that back.
func TestReadyComesLast(t *testing.T) {
	e := newReadyEnvoy(t)
	whole := listed(t, e.now, first)
	e.set(whole)
	for e.step() {
		if e.has[Listener][readyName] == nil {
			continue
		}
		if err := e.holds(whole); err == nil || !strings.Contains(err.Error(), readyName) {
			t.Fatalf("ready, and the Envoy does not have all: %v", err)
		}
	}
	if e.has[Listener][readyName] == nil || e.client.live != whole {
		t.Fatalf("it never hears of it; sent %q", e.log)
	}
	ready := e.client.ready
	for _, to := range []string{first + "\ncluster c", "", first} {
		e.set(listed(t, e.now, to))
		e.run()
		if e.has[Listener][readyName] == nil {
			t.Fatalf("it is taken back with %q; sent %q", to, e.log)
		}
	}
	e.connect()
	e.client.ready, e.log = ready, nil
	e.set(whole)
	e.run()
	if got := strings.Join(e.log, " "); got != "" || e.has[Listener][readyName] == nil {
		t.Errorf("an Envoy that comes back is sent %q", got)
	}
}

// TestNotReadyWithARejection holds that an Envoy which does not take all of its first configuration does not hear that it is ready.
func TestNotReadyWithARejection(t *testing.T) {
	e := newReadyEnvoy(t)
	e.set(listed(t, e.now, first+"\nlistener new bad"))
	e.run()
	if e.has[Listener][readyName] != nil {
		t.Errorf("ready, with %+v", e.client.listRejected())
	}
	e.set(listed(t, e.now, first))
	e.run()
	if e.has[Listener][readyName] == nil {
		t.Errorf("it does not hear of it when all is well; sent %q", e.log)
	}
}
