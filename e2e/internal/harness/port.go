package harness

import (
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
)

// Ports are handed out below the range from which the kernel picks ports for outgoing connections, so that
// none is taken between here and Envoy's bind; each test process starts elsewhere in the range.
const (
	firstPort = 11000
	portCount = 20000
)

var nextPort atomic.Uint32

// FreePort returns a TCP port of 127.0.0.1 on which nothing listens, a different one with every call.
func FreePort(t testing.TB) int {
	t.Helper()
	start := uint32(os.Getpid()) * 61
	for range 200 {
		port := firstPort + int((start+nextPort.Add(1))%portCount)
		listener, err := net.Listen("tcp", Loopback(port))
		if err == nil {
			listener.Close()
			return port
		}
	}
	t.Fatal("no free port on 127.0.0.1 in 200 tries")
	return 0
}

// Loopback is the address of a port on 127.0.0.1, as "127.0.0.1:8080".
func Loopback(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
