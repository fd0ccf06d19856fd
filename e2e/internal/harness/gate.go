package harness

import (
	"context"
	"sync"
)

// ReplyHold holds the response back until the backend's gate is opened.
const ReplyHold = "X-Reply-Hold"

// Gate holds requests with ReplyHold at some backends: how many are there at once depends on no clock.
type Gate struct {
	mu   sync.Mutex
	held int
	open chan struct{} // closed for those that are held
}

// NewGate makes the gate of some backends.
func NewGate(backends ...*Backend) *Gate {
	g := &Gate{open: make(chan struct{})}
	for _, b := range backends {
		b.gate = g
	}
	return g
}

// Held is how many requests are held.
func (g *Gate) Held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

// Open lets those that are held go on; others come to a closed gate.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.open)
	g.held, g.open = 0, make(chan struct{})
}

// pass returns when the gate has been opened, or ctx has ended.
func (g *Gate) pass(ctx context.Context) {
	g.mu.Lock()
	g.held++
	open := g.open
	g.mu.Unlock()
	select {
	case <-open:
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		if open == g.open {
			g.held--
		}
	}
}
