package callers

import (
	"container/list"
	"net"
	"sync"
	"time"
)

// Caller is a connection. A nil one has passed no gate, and is bounded by nothing.
type Caller struct {
	net.Conn

	gate *Gate
	// place and late are of a caller that is not known, and gone says that the connection has ended. They are the gate's.
	place *list.Element
	late  *time.Timer
	gone  bool

	done  chan struct{} // is closed with the connection
	close sync.Once

	lock  sync.Mutex
	wake  sync.Cond
	read  int // bytes since the last message that was taken
	most  int // of those
	known bool
	over  chan struct{} // is closed when more come from a caller that is known
	ended bool
	at    time.Time     // when there was something read last
	turns chan struct{} // of its namespace
	turn  *time.Timer   // ends the turn of a large message; nil without one
}

const (
	// unknownBytes are read of a connection before its caller is known: of what comes after, its machine keeps what it may
	// send.
	unknownBytes = 32 << 10
	// smallMessage is the size of one that waits for no turn, and turnFor how long a larger one may take.
	smallMessage = 64 << 10
	turnFor      = 10 * time.Second
	// besides is how many bytes a second of a connection are no message: pings, and what says how much it has taken.
	besides = 16
)

func newCaller(conn net.Conn, g *Gate) *Caller {
	c := &Caller{
		Conn: conn,
		gate: g,
		done: make(chan struct{}),
		most: unknownBytes,
		over: make(chan struct{}),
		at:   time.Now(),
	}
	c.wake.L = &c.lock
	if g.Within == 0 { // nobody is ever known there
		c.most = 0
	}
	return c
}

// address is that of a connection, from which its caller is found.
type address struct {
	net.Addr

	of *Caller
}

// RemoteAddr is where the caller is.
func (c *Caller) RemoteAddr() net.Addr { return address{c.Conn.RemoteAddr(), c} }

// Find gives the caller of an address; nil for one that has passed no gate.
func Find(at net.Addr) *Caller {
	a, _ := at.(address)
	return a.of
}

// Expect says of whom a caller is, so that it may send a message of a size.
func (c *Caller) Expect(namespace string, size int) {
	if c == nil {
		return
	}
	turns := c.gate.turnsOf(namespace)
	c.lock.Lock()
	defer c.lock.Unlock()
	c.known, c.most, c.turns = true, size, turns
	c.wake.Broadcast()
}

// Identified says that it is known who calls.
func (c *Caller) Identified() {
	if c != nil {
		c.gate.remove(c, false)
	}
}

// Take says that a message has been taken, and of which size the next one may be. What has come of that already is not
// counted.
func (c *Caller) Take(next int) {
	if c == nil {
		return
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.read, c.most = 0, next
	c.giveTurn()
	c.wake.Broadcast()
}

// Forget says that it is not known any more who calls. What came without being taken is nobody's.
func (c *Caller) Forget() {
	if c == nil {
		return
	}
	c.lock.Lock()
	c.known = false
	if c.read < c.most {
		c.read = 0
	}
	c.most = unknownBytes
	c.giveTurn()
	c.lock.Unlock()
	c.gate.add(c)
}

// Over is closed when a caller that is known sends more than it may.
func (c *Caller) Over() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.over
}

// Close ends the connection.
func (c *Caller) Close() error {
	c.gate.remove(c, true)
	c.close.Do(func() { close(c.done) })
	c.lock.Lock()
	c.ended = true
	c.giveTurn()
	c.wake.Broadcast()
	c.lock.Unlock()
	return c.Conn.Close()
}

// Read reads as much as the caller may send now, and waits until it may.
func (c *Caller) Read(to []byte) (int, error) {
	available, err := c.await(len(to))
	if err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(to[:available])
	c.lock.Lock()
	defer c.lock.Unlock()
	now := time.Now()
	c.read = max(0, c.read-int(now.Sub(c.at).Seconds()*besides)) + n
	c.at = now
	return n, err
}

// await waits until the caller may send something, and gives how many bytes of a number.
func (c *Caller) await(number int) (available int, err error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for !c.ended {
		switch {
		case c.most == 0:
			return number, nil
		case c.read < c.most && (c.read < smallMessage || c.turn != nil):
			return min(number, c.most-c.read), nil
		case c.read < c.most:
			c.takeTurn()
		case c.known:
			c.cutOff()
			c.wake.Wait()
		default:
			c.wake.Wait()
		}
	}
	return 0, net.ErrClosed
}

// takeTurn waits until a large message of the caller may be read. The caller is locked, but while it waits.
func (c *Caller) takeTurn() {
	turns := c.turns
	c.lock.Unlock()
	defer c.lock.Lock()
	select {
	case turns <- struct{}{}:
	case <-c.done:
		return
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.ended || turns != c.turns {
		<-turns
		return
	}
	c.turn = time.AfterFunc(turnFor, func() {
		c.lock.Lock()
		defer c.lock.Unlock()
		if c.turn != nil {
			c.cutOff()
		}
	})
}

// giveTurn lets another large message be read.
func (c *Caller) giveTurn() {
	if c.turn != nil {
		c.turn.Stop()
		c.turn = nil
		<-c.turns
	}
}

// cutOff has the caller told that it sends more than it may, or takes too long over it.
func (c *Caller) cutOff() {
	c.most = min(c.most, c.read)
	select {
	case <-c.over:
	default:
		close(c.over)
	}
}
