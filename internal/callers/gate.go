package callers

import (
	"container/list"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Gate has the connections of a listener.
type Gate struct {
	// Most is how many connections there may be whose callers are not known.
	Most int
	// Within is how long it may take until one is, from its first byte to its first message and again after its last; 0
	// for any time.
	Within time.Duration
	// Count, if there is one, is told by how many there are more, or less.
	Count func(more int)
	// Ended, if there is one, is told of each connection that was ended, of an address.
	Ended func(address string, why error)

	lock     sync.Mutex
	unknown  list.List                // of *Caller, those first that have been so for the longest time
	messages map[string]chan struct{} // by namespace, with room for as many large messages as may be under way
}

// Why a connection is ended.
var (
	ErrLate = errors.New("it did not say in time who it is")
	ErrMany = errors.New("there are too many that do not say who they are, and it is the oldest of those")
)

// Listen gives a listener whose connections pass the gate.
func (g *Gate) Listen(l net.Listener) net.Listener { return &listener{l, g} }

type listener struct {
	net.Listener

	gate *Gate
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := newCaller(conn, l.gate)
	l.gate.add(c)
	return c, nil
}

// add takes a connection for one whose caller is not known, and ends the oldest of those if they are too many.
func (g *Gate) add(c *Caller) {
	g.lock.Lock()
	var oldest *Caller
	if c.place == nil && !c.gone {
		c.place = g.unknown.PushBack(c)
		g.count(1)
		if g.Within > 0 {
			c.late = time.AfterFunc(g.Within, func() { g.end(c, fmt.Errorf("%w: within %v", ErrLate, g.Within)) })
		}
		if g.unknown.Len() > g.Most {
			oldest, _ = g.unknown.Front().Value.(*Caller)
		}
	}
	g.lock.Unlock()
	if oldest != nil {
		g.end(oldest, ErrMany)
	}
}

// remove takes a connection out of those; gone is true for one that has ended. It tells whether it was among them.
func (g *Gate) remove(c *Caller, gone bool) (was bool) {
	g.lock.Lock()
	defer g.lock.Unlock()
	c.gone = c.gone || gone
	if c.place == nil {
		return false
	}
	g.unknown.Remove(c.place)
	g.count(-1)
	c.place = nil
	if c.late != nil {
		c.late.Stop()
	}
	return true
}

// end ends a connection whose caller is not known, unless it is by now.
func (g *Gate) end(c *Caller, why error) {
	if g.remove(c, true) {
		_ = c.Close()
		if g.Ended != nil {
			g.Ended(c.RemoteAddr().String(), why)
		}
	}
}

func (g *Gate) count(more int) {
	if g.Count != nil {
		g.Count(more)
	}
}

// largeAtOnce is how many large messages of a namespace are read at a time.
const largeAtOnce = 2

// turnsOf is what has room for the large messages of a namespace.
func (g *Gate) turnsOf(namespace string) chan struct{} {
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.messages[namespace] == nil {
		if g.messages == nil {
			g.messages = map[string]chan struct{}{}
		}
		g.messages[namespace] = make(chan struct{}, largeAtOnce)
	}
	return g.messages[namespace]
}
