package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/health"
)

// Request headers by which a test tells a backend how to answer. They act per request, so that tests may share
// backends while they run at the same time.
const (
	// ReplyHeader adds a response header, written "Name: value"; may be repeated.
	ReplyHeader = "X-Reply-Header"
	// ReplyStatus is the response's status code. Default 200.
	ReplyStatus = "X-Reply-Status"
	// ReplyDelay holds the response back for so long, as a Go duration.
	ReplyDelay = "X-Reply-Delay"
	// ReplyReset closes the connection without an answer.
	ReplyReset = "X-Reply-Reset"
	// ReplyQuiet leaves out the body that tells what reached the backend, for tests that send many requests.
	ReplyQuiet = "X-Reply-Quiet"
)

// maxHeaders is how many bytes of headers backends and blasts read: more than Envoy lets through.
const maxHeaders = 128 << 10

// readHeaderTimeout is how long a backend waits for the head of a request.
const readHeaderTimeout = time.Minute

// BackendHeader is the response header in which a backend says its name.
const BackendHeader = "X-Backend"

// Backend is an HTTP server on 127.0.0.1 that answers with its name and with what reached it.
type Backend struct {
	// Name is what the backend answers with; Address is its ip:port.
	Name, Address string
	// UID and Hostname are those of the pod that an EndpointSlice says it is; empty leaves them out.
	UID, Hostname string
	// Zone is the one that an EndpointSlice says it is in; empty leaves it out.
	Zone string

	server io.Closer
	mu     sync.Mutex
	names  map[string]bool
	last   http.Header
	count  int
	fault  Fault
	health *health.Server // of a gRPC server
	gate   *Gate
}

// Fault is how a backend fails on its own, whatever is requested.
type Fault int

// The faults: none, a connection reset before the answer (RST), 503 to every request, and a failure of health checks
// alone: 503 to requests for ReadyPath, or NOT_SERVING.
const (
	NoFault Fault = iota
	FaultReset
	FaultDeclines
	FaultUnready
)

// ReadyPath is the path that tests have health checks ask for.
const ReadyPath = "/ready"

// Break makes the backend fail from the next request on.
func (b *Backend) Break(how Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault = how
	switch {
	case b.health == nil:
	case how == FaultUnready:
		b.health.Shutdown()
	default:
		b.health.Resume()
	}
}

// broken carries out the backend's fault, if it has one.
func (b *Backend) broken(w http.ResponseWriter, r *http.Request) bool {
	b.mu.Lock()
	how := b.fault
	b.mu.Unlock()
	if how == FaultUnready && r.URL.Path != ReadyPath {
		return false
	}
	switch how {
	case FaultReset:
		reset(w)
	case FaultDeclines, FaultUnready:
		w.Header().Set(BackendHeader, b.Name)
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	return how != NoFault
}

// reset closes the request's connection with RST instead of FIN.
func reset(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	connection, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the connection is closed all the same
	}
	_ = connection.Close()
}

// Seen is what reached a backend: the body of its answer.
type Seen struct {
	// Method, URI and Host are those of the request line and the Host header.
	Method, URI, Host string
	// Headers are all others, with several lines of one name in their order.
	Headers http.Header
}

// NewBackend starts a backend that ends with the test.
func NewBackend(t testing.TB, name string) *Backend {
	t.Helper()
	return NewBackendAt(t, name, Loopback(FreePort(t))) // which no outgoing connection takes when the backend is closed
}

// NewBackendAt starts a backend on an address, such as that of one which was closed before.
func NewBackendAt(t testing.TB, name, address string) *Backend {
	t.Helper()
	listener := Listen(t, address)
	b := &Backend{Name: name, Address: listener.Addr().String(), names: map[string]bool{}}
	server := newServer(b)
	b.server = server
	go func() { _ = server.Serve(listener) }() // returns when the listener is closed
	t.Cleanup(b.Close)
	return b
}

// Backends starts one backend for each name.
func Backends(t testing.TB, names ...string) []*Backend {
	t.Helper()
	var all []*Backend
	for _, name := range names {
		all = append(all, NewBackend(t, name))
	}
	return all
}

// Close ends the backend at once: its port then refuses connections.
func (b *Backend) Close() { b.server.Close() }

// Port is the backend's TCP port.
func (b *Backend) Port() int {
	_, text, _ := net.SplitHostPort(b.Address)
	port, _ := strconv.Atoi(text)
	return port
}

// Requests is how many requests reached the backend.
func (b *Backend) Requests() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count
}

// Got reports whether any request so far had a header of that name.
func (b *Backend) Got(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.names[http.CanonicalHeaderKey(name)]
}

// Last is a header of the last request.
func (b *Backend) Last(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last.Get(name)
}

// ServeHTTP answers one request as its own headers say.
func (b *Backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.remember(r)
	if b.broken(w, r) {
		return
	}
	if delay, err := time.ParseDuration(r.Header.Get(ReplyDelay)); err == nil {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
		}
	}
	if r.Header.Get(ReplyHold) != "" {
		b.gate.pass(r.Context())
	}
	if r.Header.Get(ReplyReset) != "" {
		panic(http.ErrAbortHandler)
	}
	for _, line := range r.Header[ReplyHeader] {
		name, value, _ := strings.Cut(line, ":")
		w.Header().Add(name, strings.TrimSpace(value))
	}
	w.Header().Set(BackendHeader, b.Name)
	b.answer(w, r)
}

func (b *Backend) answer(w http.ResponseWriter, r *http.Request) {
	status := http.StatusOK
	if text := r.Header.Get(ReplyStatus); text != "" {
		status, _ = strconv.Atoi(text)
	}
	if r.Header.Get(ReplyQuiet) != "" || status == http.StatusNotModified || status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	seen := Seen{Method: r.Method, URI: r.RequestURI, Host: r.Host, Headers: r.Header}
	body, err := json.Marshal(seen)
	if err != nil {
		http.Error(w, fmt.Sprint(err), http.StatusTeapot)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

func (b *Backend) remember(r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	b.last = r.Header.Clone()
	for name := range r.Header {
		b.names[http.CanonicalHeaderKey(name)] = true
	}
}
