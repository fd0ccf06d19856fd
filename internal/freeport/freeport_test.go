package freeport

import (
	"net"
	"strconv"
	"testing"
)

// TestFind: ports are different ones, and none at which something listens is among them.
func TestFind(t *testing.T) {
	found := map[int]bool{}
	for range 50 {
		port, err := Find()
		if err != nil {
			t.Fatal(err)
		}
		if found[port] {
			t.Errorf("%d twice", port)
		}
		found[port] = true
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+1)))
		if err != nil {
			continue // somebody else's, which will do
		}
		if next, err := Find(); err != nil || next == port+1 {
			t.Errorf("%d is taken and found: %v", next, err)
		}
		_ = l.Close()
	}
}
