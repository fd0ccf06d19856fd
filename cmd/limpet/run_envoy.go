package main

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// ownEnvoy prints what becomes of the one Envoy that limpet runs. It is the xDS server's Log.
type ownEnvoy struct {
	server *xds.Server
	stderr io.Writer
	// served is called when it serves for the first time, and failed when it never will.
	served func()
	failed func(error)

	lock    sync.Mutex
	useless bool // it has no filter
	waiting []runChange
	done    uint64    // the number of the last snapshot that it has
	doneAt  time.Time // when it had that
}

// runChange is a change to announce once it is live.
type runChange struct {
	number   int
	since    time.Time
	what     string
	snapshot uint64
}

// announce prints a change when the Envoy has acknowledged it.
func (e *ownEnvoy) announce(number int, since time.Time, what string) {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.waiting = append(e.waiting, runChange{number, since, what, e.server.Latest(envoy.AllGateways).Number})
	e.tell()
}

// tell prints the changes that are live.
func (e *ownEnvoy) tell() {
	for len(e.waiting) > 0 && e.waiting[0].snapshot <= e.done {
		c := e.waiting[0]
		e.waiting = e.waiting[1:]
		took := max(0, e.doneAt.Sub(c.since)).Milliseconds() // nothing, where it had all of it before
		message.Printf(e.stderr, "change %d live in %d ms: %s", c.number, took, c.what)
	}
}

// hasServed tells whether it has ever served.
func (e *ownEnvoy) hasServed() bool {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.done > 0
}

// Live notes that the Envoy has all of a snapshot, except for what it rejects.
func (e *ownEnvoy) Live(c xds.ClientStatus, _ time.Duration) {
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.useless {
		return
	}
	if e.done == 0 {
		e.served()
	}
	e.done, e.doneAt = c.Done, time.Now()
	e.tell()
}

// Rejected prints what the Envoy rejects. Without the filter it would answer every request with 500.
func (e *ownEnvoy) Rejected(_ xds.ClientStatus, r xds.Rejection) {
	e.lock.Lock()
	defer e.lock.Unlock()
	switch {
	case r.Type == xds.Filter.String() && e.done == 0:
		e.useless = true
		e.failed(
			errors.New("Envoy rejects the filter, without which it answers 500: " + r.Words),
		) //nolint:revive,staticcheck // a name
		return
	case r.Type == xds.Filter.String() || r.Type == xds.Listener.String():
		message.Printf(e.stderr, "Envoy rejects %s of the %s: %s", r.Name, r.Type, r.Words)
		message.Printf(e.stderr, "it stays as it was, and is tried again every %v; everything else goes on", xds.RetryAfter)
	default:
		message.Printf(e.stderr, "Envoy rejects %s of the %s: %s", r.Name, r.Type, r.Words)
		message.Print(e.stderr, "it stays as it was until it changes; everything else goes on")
	}
}

// Connected prints the warning about an Envoy that connects, if there is one.
func (e *ownEnvoy) Connected(c xds.ClientStatus) {
	if c.Warning != "" {
		message.PrintWarning(e.stderr, c.Warning)
	}
}

// Disconnected prints nothing: the end of the Envoy's process is printed.
func (e *ownEnvoy) Disconnected(xds.ClientStatus, error) {}

// Refused prints why a client is refused.
func (e *ownEnvoy) Refused(_ string, why error) {
	message.Printf(e.stderr, "an Envoy is refused: %v", why)
}

// Late prints which answer the Envoy owes.
func (e *ownEnvoy) Late(c xds.ClientStatus) {
	message.Printf(e.stderr, "Envoy is late: %s", c.Late)
}
