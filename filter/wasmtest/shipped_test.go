package wasmtest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// These tests run the shipped module. What the filter decides is package behaviour's to test; here it is only the guest
// that shows whether the host works.

const (
	config   = `{"version":"limpet.dev/v1","accessLog":true,"policies":[{"name":"p","routes":["r"],"sessionName":"sid","absoluteTimeout":"1h"}]}`
	ring     = `{"keys":[{"id":"a","secret":"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE"}]}`
	pinName  = "x-limpet-pin"
	hostText = "10.0.0.1:8080"
)

var (
	pinValue = base64.StdEncoding.EncodeToString([]byte(hostText))
	route    = map[string]string{"xds.route_name": "r", "response.code_details": "via_upstream"}
	reply    = [][2]string{{":status", "200"}, {"content-length", "2"}}
	newReply = append(slices.Clone(reply), [2]string{pinName, pinValue})
)

func request(cookies ...string) [][2]string {
	h := [][2]string{{":method", "GET"}, {":path", "/"}, {":authority", "shop.example"}, {":scheme", "http"}}
	for _, c := range cookies {
		h = append(h, [2]string{"Cookie", c})
	}
	return h
}

func start(t testing.TB, o Options) *VM {
	t.Helper()
	if o.Config == nil {
		o.Config = []byte(config)
	}
	if o.Env == nil {
		o.Env = map[string]string{"LIMPET_KEYS": ring}
	}
	vm, err := Require(t).Start(context.Background(), o)
	noError(t, err)
	t.Cleanup(vm.Close)
	return vm
}

// exchange sends a request with these cookies and answers it with the reply; it returns what the backend and the client
// saw.
func exchange(t testing.TB, s *Stream, reply [][2]string, cookies ...string) (sent, got [][2]string) {
	t.Helper()
	sent, local, err := s.RequestHeaders(request(cookies...), true)
	noError(t, err)
	if local != nil {
		t.Fatalf("the plugin answered by itself: %+v", *local)
	}
	got, err = s.ResponseHeaders(reply, false)
	noError(t, err)
	return sent, got
}

// session begins a session and returns its cookie.
func session(t testing.TB, vm *VM) string {
	t.Helper()
	s := vm.NewStream(route)
	defer s.Close()
	_, got := exchange(t, s, newReply)
	cookie, _, _ := strings.Cut(value(got, "set-cookie"), ";")
	if !strings.HasPrefix(cookie, "sid=") {
		t.Fatalf("no token in %v", got)
	}
	return cookie
}

func TestShippedBorder(t *testing.T) {
	m := Require(t)
	if names := m.Exports(); slices.Contains(names, "malloc") || !slices.Contains(names, "proxy_on_request_headers") {
		t.Errorf("exports %q", names)
	}
	for _, name := range m.Imports() {
		if !strings.HasPrefix(name, "env.proxy_") && !strings.HasPrefix(name, "wasi_snapshot_preview1.") {
			t.Errorf("import %s", name)
		}
	}
}

// outcomes is how many counters each policy has from the start.
const outcomes = 16

// A VM defines the counters of those before it, though it has counted nothing: Envoy then keeps their values. It does so
// for all of them, and for no name twice.
func TestShippedCountersLast(t *testing.T) {
	const first, second = "limpet_sessions.policy.p.outcome.new", "limpet_sessions.policy.p.outcome.malformed"
	shared := &Shared{}
	before, beside := start(t, Options{Shared: shared}), start(t, Options{Shared: shared})
	for _, vm := range []*VM{before, beside} {
		session(t, vm)
		s := vm.NewStream(route)
		exchange(t, s, newReply, "sid=none")
		s.Close()
	}
	after := start(t, Options{Shared: shared, Config: []byte(strings.Replace(config, `"name":"p"`, `"name":"q"`, 1))})
	counters := after.Counters()
	for _, name := range []string{first, second} {
		if n, defined := counters[name]; !defined || n != 0 {
			t.Errorf("the next VM defines %s: %t, with %d", name, defined, n)
		}
	}
	if kept, _ := shared.get("limpet.counters"); len(counters) != 2+outcomes || kept.text != "2" {
		t.Errorf("the next VM defines %v, of %s that are kept", counters, kept.text)
	}
	if got := start(t, Options{}).Counters(); len(got) != outcomes {
		t.Errorf("a VM without others before it defines %v", got)
	}
}

// libc's allocator and TinyGo's both begin at the end of the module's data and destroy each other's memory, so nothing may
// link the former (os.Getenv would).
func TestShippedHasOneAllocator(t *testing.T) {
	Require(t)
	path, _ := Find()
	wasm, err := os.ReadFile(path)
	noError(t, err)
	for name, want := range map[string]bool{"runtime.alloc": true, "dlmalloc": false, "sbrk": false} {
		if got := bytes.Contains(wasm, []byte(name)); got != want {
			t.Errorf("the module names %s: %v, want %v", name, got, want)
		}
	}
}

func TestSession(t *testing.T) {
	vm := start(t, Options{})
	cookie := session(t, vm)
	s := vm.NewStream(route)
	sent, got := exchange(t, s, reply, "other=1", cookie)
	if pin := value(sent, pinName); pin != pinValue {
		t.Errorf("pinned to %q", pin)
	}
	if !slices.Equal(got, reply) {
		t.Errorf("the client got %v", got)
	}
	if code := s.FilterState()["limpet"]; code != "pin" {
		t.Errorf("filter state %q", code)
	}
	s.Close()
	const prefix = "limpet_sessions.policy.p.outcome."
	if c := vm.Counters(); c[prefix+"new"] != 1 || c[prefix+"pinned"] != 1 || len(c) != outcomes {
		t.Errorf("counters %v", c)
	}
}

// Streams may overlap: each callback works on its own stream.
func TestInterleavedStreams(t *testing.T) {
	vm := start(t, Options{})
	cookie := session(t, vm)
	a, b, other := vm.NewStream(route), vm.NewStream(route), vm.NewStream(map[string]string{"xds.route_name": "none"})
	sentA, _, err := a.RequestHeaders(request(cookie), true)
	noError(t, err)
	sentOther, gotOther := exchange(t, other, newReply, cookie)
	sentB, _, err := b.RequestHeaders(request(), true)
	noError(t, err)
	gotA, err := a.ResponseHeaders(reply, false)
	noError(t, err)
	gotB, err := b.ResponseHeaders(newReply, false)
	noError(t, err)
	for what, ok := range map[string]bool{
		"pins":         value(sentA, pinName) == pinValue && value(sentB, pinName) == "" && value(sentOther, pinName) == "",
		"tokens":       value(gotA, "set-cookie") == "" && value(gotB, "set-cookie") != "",
		"other route":  slices.Equal(gotOther, newReply),
		"filter state": a.FilterState()["limpet"] == "pin" && b.FilterState()["limpet"] == "new" && other.FilterState() == nil,
		"open streams": len(vm.open) == 3,
	} {
		if !ok {
			t.Errorf("%s: sent %v %v %v, got %v %v %v", what, sentA, sentB, sentOther, gotA, gotB, gotOther)
		}
	}
	for _, s := range []*Stream{b, a, other} {
		s.Close()
	}
	if len(vm.open) != 0 || vm.Err() != nil {
		t.Errorf("%d streams are still open, %v", len(vm.open), vm.Err())
	}
}

func TestClock(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	vm := start(t, Options{Now: func() time.Time { return now }})
	cookie := session(t, vm)
	for _, step := range []struct {
		after time.Duration
		pin   string
	}{{time.Hour - time.Second, pinValue}, {time.Hour, ""}} {
		s := vm.NewStream(route)
		now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(step.after)
		if sent, _ := exchange(t, s, reply, cookie); value(sent, pinName) != step.pin {
			t.Errorf("after %v: sent %v", step.after, sent)
		}
		s.Close()
	}
}

func TestRandomness(t *testing.T) {
	first, again := session(t, start(t, Options{})), session(t, start(t, Options{}))
	other := session(t, start(t, Options{Rand: bytes.NewReader(bytes.Repeat([]byte("limpet"), 1000))}))
	if first != again || first == other {
		t.Errorf("tokens:\n%s\n%s\n%s", first, again, other)
	}
}

func TestRefusedConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"unknown field": {Options{Config: []byte(`{"version":"limpet.dev/v1","polices":[]}`)}, "critical: limpet: plugin configuration: polices"},
		"no keys":       {Options{Config: []byte(config)}, "LIMPET_KEYS"},
		"nothing":       {Options{}, "critical: "},
	} {
		vm, err := Require(t).Start(context.Background(), c.options)
		if err == nil {
			vm.Close()
			t.Errorf("%s: accepted", name)
		} else if !strings.Contains(err.Error(), "refused its configuration\n") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMemoryGauge(t *testing.T) {
	vm := start(t, Options{})
	session(t, vm)
	if g := vm.Gauges()["limpet_memory_bytes"]; g != int64(vm.MemoryBytes()) || g == 0 {
		t.Errorf("the gauge shows %d of %d bytes", g, vm.MemoryBytes())
	}
	vm.Done()
	if g := vm.Gauges()["limpet_memory_bytes"]; g != 0 || vm.Err() != nil {
		t.Errorf("after the end the gauge shows %d, %v", g, vm.Err())
	}
}

func TestFlatMemory(t *testing.T) {
	vm := start(t, Options{})
	cookie := session(t, vm)
	warm := uint32(0)
	for i := range 20_000 {
		if i == 2_000 {
			warm = vm.MemoryBytes()
		}
		s := vm.NewStream(route)
		exchange(t, s, reply, cookie)
		s.Close()
	}
	if now := vm.MemoryBytes(); now != warm {
		t.Errorf("the guest's memory grew from %d to %d bytes", warm, now)
	}
}

// A module serves many goroutines, each with a VM of its own.
func TestConcurrentVMs(t *testing.T) {
	Require(t)
	for i := range 4 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			vm := start(t, Options{})
			for range 100 {
				session(t, vm)
			}
		})
	}
}

// A response without a request, as when another filter answers first, passes unseen; only the log callback hears of it.
func TestResponseWithoutRequest(t *testing.T) {
	vm := start(t, Options{})
	s := vm.NewStream(route)
	got, err := s.ResponseHeaders(newReply, true)
	noError(t, err)
	if !slices.Equal(got, newReply) {
		t.Errorf("got %v", got)
	}
	s.Close()
	s.Close() // does nothing
	if vm.Err() != nil || len(vm.Counters()) != outcomes {
		t.Errorf("%v, counters %v", vm.Err(), vm.Counters())
	}
}

// The module panics when it is asked for more memory than there can be, and TinyGo makes a trap of the panic.
func TestTrap(t *testing.T) {
	vm := start(t, Options{})
	_, trap := vm.call(nil, &callback{fn: vm.guest.allocate, name: "allocate"}, 1<<32-1)
	if trap == nil || !strings.Contains(trap.Error(), "allocate: ") || !errors.Is(vm.Err(), trap) {
		t.Fatalf("got %v and %v", trap, vm.Err())
	}
	s := vm.NewStream(route)
	if _, _, err := s.RequestHeaders(request(), true); !errors.Is(err, trap) {
		t.Errorf("a request after the trap: %v", err)
	}
	if _, err := s.ResponseHeaders(reply, true); !errors.Is(err, trap) {
		t.Errorf("a response after the trap: %v", err)
	}
	s.Close()
}

func TestLoadRefuses(t *testing.T) {
	const empty = "\x00asm\x01\x00\x00\x00"
	path := filepath.Join(t.TempDir(), "x.wasm")
	for name, c := range map[string]struct{ wasm, want string }{
		"no wasm":    {"hello", "invalid magic"},
		"no exports": {empty, `no export "_initialize"`},
	} {
		noError(t, os.WriteFile(path, []byte(c.wasm), 0o600))
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Load(path + ".none"); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
}
