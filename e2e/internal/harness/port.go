package harness

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/freeport"
)

// FreePort returns a TCP port of 127.0.0.1 on which nothing listens, a different one with every call.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := freeport.Find()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// patience is how long Listen waits for an address to become free.
const patience = 2 * time.Minute

// Listen listens on an address of which the test knows that it is its own. It may be taken for a moment all the same: a
// program that another test starts holds every socket of this process from its fork to its exec, those just closed too.
func Listen(t testing.TB, address string) net.Listener {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		listener, err := net.Listen("tcp", address)
		if err == nil {
			return listener
		}
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// Loopback is the address of a port on 127.0.0.1, as "127.0.0.1:8080".
func Loopback(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// listenAnywhere listens on a port of the kernel's choice.
func listenAnywhere(t testing.TB) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}
