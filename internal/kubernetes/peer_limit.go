package kubernetes

import (
	"context"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// peerLimit bounds what an address may have reviewed of an account: as much at a time as it may have refused.
type peerLimit struct {
	refusals *rate.Limiter
	turns    chan struct{}
	// underWay are the reviews that have not come to an end, each of which may be a refusal.
	underWay atomic.Int64
}

func newPeerLimit() *peerLimit {
	return &peerLimit{refusals: rate.NewLimiter(refusals, refusalsAtOnce), turns: make(chan struct{}, refusalsAtOnce)}
}

// begin waits for a turn; false if the address has none.
func (l *peerLimit) begin(ctx context.Context) bool {
	select {
	case l.turns <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	if l.refusals.Tokens() < float64(l.underWay.Add(1)) {
		l.end()
		return false
	}
	return true
}

// end gives the turn back; nil has none.
func (l *peerLimit) end() {
	if l == nil {
		return
	}
	l.underWay.Add(-1)
	<-l.turns
}

// refuse counts a refusal.
func (l *peerLimit) refuse() {
	if l != nil {
		l.refusals.Allow()
	}
}
