package kubernetes

import (
	"io"
	"net"
	"sync"
	"testing"
)

// door is an address behind which a limpet is, as a Service's is: it leads to another one, or is shut.
type door struct {
	net.Listener

	lock sync.Mutex
	to   string // empty while it is shut
	open map[net.Conn]bool
}

func newDoor(t *testing.T, to string) *door {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{Listener: listener, to: to, open: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = listener.Close()
		d.lead("")
	})
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			d.pass(from)
		}
	}()
	return d
}

// lead has connections lead to an address from now on, none for nowhere. Those that are there are cut.
func (d *door) lead(to string) {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.to = to
	for connection := range d.open {
		_ = connection.Close()
	}
	clear(d.open)
}

// pass connects a client to where the door leads.
func (d *door) pass(from net.Conn) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.to == "" {
		_ = from.Close()
		return
	}
	to, err := net.Dial("tcp", d.to)
	if err != nil {
		_ = from.Close()
		return
	}
	d.open[from], d.open[to] = true, true
	for _, ends := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			_, _ = io.Copy(ends[0], ends[1])
			_ = from.Close()
			_ = to.Close()
		}()
	}
}
