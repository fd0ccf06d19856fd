package istio

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

const pinHeader = "X-Limpet-Pin"

// backend is an HTTP server on a loopback address that answers with that address, to gRPC calls in a header. A request may ask for a response
// header by x-plant, as a backend that wants to steer sessions would send it.
type backend struct {
	address string
	// pins counts the requests that arrived with the pin header.
	pins atomic.Int64
	// leads counts those with the header that leads sessions to a backend of a split.
	leads  atomic.Int64
	server *http.Server
}

// newBackend starts a backend on an address, such as 127.0.0.2:0, until the test ends.
func newBackend(t testing.TB, at string) *backend {
	t.Helper()
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{address: listener.Addr().String()}
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}
	b.server.Protocols.SetHTTP1(true)
	b.server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = b.server.Serve(listener) }() // returns when it is closed
	t.Cleanup(func() { b.server.Close() })
	return b
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.Header[pinHeader]) > 0 {
		b.pins.Add(1)
	}
	if len(r.Header[leadHeader]) > 0 {
		b.leads.Add(1)
	}
	if plant := r.Header.Get("X-Plant"); plant != "" {
		w.Header().Set(pinHeader, plant)
	}
	if r.Header.Get("Content-Type") == "application/grpc" {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("X-Backend", b.address)
		w.Header().Set("Trailer", "Grpc-Status")
		w.WriteHeader(http.StatusOK)
		w.Header().Set("Grpc-Status", "0")
		return
	}
	_, _ = io.WriteString(w, b.address) // a client that has gone gets nothing
}

func (b *backend) port() int {
	_, text, _ := net.SplitHostPort(b.address)
	port, _ := strconv.Atoi(text)
	return port
}

// The ports between those that the other modules' tests have (internal/freeport) and those that the kernel picks: none is taken before
// a program binds it.
const firstPort, lastPort = 31000, 32767

var portsUsed atomic.Int32

// freePort gives a port on which nothing listens, a different one with every call.
func freePort(t testing.TB) int {
	t.Helper()
	for {
		port := firstPort + int(portsUsed.Add(1))
		if port > lastPort {
			t.Fatal("there are no more ports")
		}
		used, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return port
		}
		_ = used.Close()
	}
}
