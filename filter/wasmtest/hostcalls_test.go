package wasmtest

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"
)

// These tests make host calls as a guest would, on a memory of their own. The statuses they expect were compared with
// those that a guest with the same calls got from a running Envoy 1.40.

// border stands in for a guest: a linear memory and the function that gives out buffers in it.
type border struct {
	t  *testing.T
	vm *VM
	flatMemory
	next uint32
}

type flatMemory struct {
	api.Memory
	bytes []byte
}

func (m *flatMemory) Read(at, n uint32) ([]byte, bool) {
	if uint64(at)+uint64(n) > uint64(len(m.bytes)) {
		return nil, false
	}
	return m.bytes[at : at+n : at+n], true
}

func (m *flatMemory) WriteString(at uint32, text string) bool {
	b, ok := m.Read(at, uint32(len(text)))
	copy(b, text)
	return ok
}

func (m *flatMemory) WriteUint32Le(at, v uint32) bool {
	return m.WriteString(at, string([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}))
}

func (m *flatMemory) WriteUint64Le(at uint32, v uint64) bool {
	return m.WriteUint32Le(at, uint32(v)) && m.WriteUint32Le(at+4, uint32(v>>32))
}

// allocator is proxy_on_memory_allocate.
type allocator struct {
	api.Function
	b *border
}

func (a allocator) CallWithStack(_ context.Context, stack []uint64) error {
	size := uint32(stack[0])
	stack[0] = uint64(a.b.next) | 7<<40 // the upper half means nothing
	a.b.next += size
	return nil
}

const (
	outPlace = 8 // where the border wants places and sizes
	outSize  = 16
)

func newBorder(t *testing.T) *border {
	b := &border{t: t, vm: &VM{phase: running, lastID: rootID}, next: 64 << 10}
	b.bytes = make([]byte, 8<<20)
	b.vm.mem, b.vm.guest.allocate = &b.flatMemory, allocator{b: b}
	b.vm.ctx = &callContext{context.Background(), b.vm}
	return b
}

// stream makes a stream with these headers the one whose request callback runs.
func (b *border) stream(props map[string]string, h ...[2]string) *Stream {
	s := b.vm.NewStream(props)
	s.id = 2
	s.request.fill(h)
	b.vm.current = s
	b.vm.open = append(b.vm.open, s)
	return s
}

// call makes a host call by name. A text among the arguments becomes a place and a size.
func (b *border) call(name string, arguments ...any) status {
	b.t.Helper()
	var stack []uint64
	free := uint32(1024)
	for _, a := range arguments {
		switch a := a.(type) {
		case int:
			stack = append(stack, uint64(a))
		case string:
			b.WriteString(free, a)
			stack = append(stack, uint64(free)|7<<40, uint64(len(a)))
			free += uint32(len(a)) + 16
		}
	}
	at := slices.IndexFunc(hostCalls, func(c hostCall) bool { return c.name == name })
	if at < 0 || len(hostCalls[at].params) != len(stack) {
		b.t.Fatalf("no host call %s of %d parameters", name, len(stack))
	}
	hostCalls[at].bind()(b.vm.ctx, stack)
	return status(stack[0])
}

func (b *border) u32(at uint32) uint32 {
	v := b.bytes[at : at+4]
	return uint32(v[0]) | uint32(v[1])<<8 | uint32(v[2])<<16 | uint32(v[3])<<24
}

// given is the text of the last call that gave one.
func (b *border) given() string {
	text, ok := b.Read(b.u32(outPlace), b.u32(outSize))
	if !ok {
		b.t.Fatal("the place and size given are outside of the memory")
	}
	return string(text)
}

func (b *border) expect(what string, got, want status) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s: got status %d, want %d", what, got, want)
	}
}

func (b *border) gives(what string, got status, want string) {
	b.t.Helper()
	b.expect(what, got, statusOK)
	if text := b.given(); text != want {
		b.t.Errorf("%s: got %q, want %q", what, text, want)
	}
}

func (b *border) get(m int, name string) status {
	return b.call("proxy_get_header_map_value", m, name, outPlace, outSize)
}

func TestHeaderCallsInRequest(t *testing.T) {
	b := newBorder(t)
	s := b.stream(nil, [2]string{"cookie", "a=1"}, [2]string{"cookie", "b=2"}, [2]string{"x-empty", ""})
	b.gives("first line", b.get(mapRequestHeaders, "Cookie"), "a=1")
	b.gives("empty value", b.get(mapRequestHeaders, "x-empty"), "")
	if b.u32(outPlace) != 0 {
		t.Error("an empty value got a buffer")
	}
	b.expect("missing", b.get(mapRequestHeaders, "x-none"), statusNotFound)
	b.expect("response", b.get(mapResponseHeaders, "cookie"), statusBadArgument)
	b.expect("trailers", b.get(1, "cookie"), statusBadArgument)
	b.expect("no such map", b.get(mapMax+1, "cookie"), statusBadArgument)
	b.expect("replace", b.call("proxy_replace_header_map_value", 0, "COOKIE", "c=3"), statusOK)
	b.expect("add", b.call("proxy_add_header_map_value", 0, "X-One", "1"), statusOK)
	b.expect("remove", b.call("proxy_remove_header_map_value", 0, "X-Empty"), statusOK)
	b.expect("remove missing", b.call("proxy_remove_header_map_value", 0, "x-none"), statusOK)
	b.gives("all", b.call("proxy_get_header_map_pairs", 0, outPlace, outSize), string(block([2]string{"cookie", "c=3"}, [2]string{"x-one", "1"})))
	b.expect("set all", b.call("proxy_set_header_map_pairs", 0, string(block([2]string{"X-Two", "2"}))), statusOK)
	if want := [][2]string{{"x-two", "2"}}; !slices.Equal(s.request.lines, want) {
		t.Errorf("got %v, want %v", s.request.lines, want)
	}
}

// Envoy takes the headers of a message away from a filter that let it go on.
func TestHeaderCallsAfterRequest(t *testing.T) {
	b := newBorder(t)
	s := b.stream(nil, [2]string{"cookie", "a=1"})
	s.request.open = false
	s.response.fill([][2]string{{":status", "200"}})
	b.gives("response", b.get(mapResponseHeaders, ":status"), "200")
	b.expect("get", b.get(mapRequestHeaders, "cookie"), statusBadArgument)
	b.gives("all", b.call("proxy_get_header_map_pairs", 0, outPlace, outSize), "")
	b.expect("replace", b.call("proxy_replace_header_map_value", 0, "a", "b"), statusBadArgument)
	b.expect("add", b.call("proxy_add_header_map_value", 0, "a", "b"), statusBadArgument)
	b.expect("remove", b.call("proxy_remove_header_map_value", 0, "a"), statusBadArgument)
	b.expect("set all", b.call("proxy_set_header_map_pairs", 0, string(block())), statusBadArgument)
}

func TestHeaderCallsInLog(t *testing.T) {
	b := newBorder(t)
	s := b.stream(nil, [2]string{"cookie", "a=1"})
	s.request.open, s.logging = false, true
	b.gives("request", b.get(mapRequestHeaders, "cookie"), "a=1")
	b.expect("missing", b.get(mapRequestHeaders, "x-none"), statusNotFound)
	b.expect("no response came", b.get(mapResponseHeaders, ":status"), statusNotFound)
	b.gives("no response came, all", b.call("proxy_get_header_map_pairs", 2, outPlace, outSize), "")
	b.expect("replace", b.call("proxy_replace_header_map_value", 0, "a", "b"), statusBadArgument)
}

func TestHeaderCallsWithoutStream(t *testing.T) {
	b := newBorder(t)
	b.expect("get", b.get(mapRequestHeaders, "cookie"), statusBadArgument)
	b.gives("all", b.call("proxy_get_header_map_pairs", 0, outPlace, outSize), "")
	b.expect("add", b.call("proxy_add_header_map_value", 0, "a", "b"), statusBadArgument)
}

func TestProperties(t *testing.T) {
	b := newBorder(t)
	get := func(path string) status { return b.call("proxy_get_property", path, outPlace, outSize) }
	b.expect("no stream", get("limpet"), statusNotFound)
	b.expect("set without stream", b.call("proxy_set_property", "limpet", "x"), statusNotFound)
	s := b.stream(map[string]string{"xds.route_name": "r", "xds.m.envoy.lb.uid": "u", "empty": ""})
	b.gives("route", get("xds\x00route_name"), "r")
	b.gives("trailing zero", get("xds\x00route_name\x00"), "r")
	b.gives("a part with a dot", get("xds\x00m\x00envoy.lb\x00uid"), "u")
	b.gives("empty", get("empty"), "")
	b.expect("unknown", get("xds\x00nope"), statusNotFound)
	s.SetProperty("xds.route_name", "r2")
	b.gives("changed later", get("xds\x00route_name"), "r2")
	b.expect("set", b.call("proxy_set_property", "limpet", "v"), statusOK)
	b.gives("own", get("limpet"), "v")
	b.expect("set deep", b.call("proxy_set_property", "a\x00b", "w"), statusOK)
	b.expect("own, deep", get("a\x00b"), statusNotFound)
	if state := s.FilterState(); len(state) != 2 || state["limpet"] != "v" || state["a.b"] != "w" {
		t.Errorf("filter state %v", state)
	}
}

func TestBuffers(t *testing.T) {
	b := newBorder(t)
	b.vm.config = []byte("config")
	get := func(buffer, start, length int) status {
		return b.call("proxy_get_buffer_bytes", buffer, start, length, outPlace, outSize)
	}
	b.vm.phase = configuring
	b.gives("configuration", get(bufferPluginConfig, 0, math.MaxInt32), "config")
	b.gives("part", get(bufferPluginConfig, 2, 3), "nfi")
	b.gives("behind the end", get(bufferPluginConfig, 9, 3), "")
	b.gives("VM configuration", get(bufferVMConfig, 0, 10), "")
	b.vm.phase = running
	b.expect("configuration, later", get(bufferPluginConfig, 0, 10), statusNotFound)
	b.gives("body", get(0, 0, 10), "")
	b.expect("callout", get(4, 0, 10), statusNotFound)
	b.expect("no such buffer", get(bufferMax+1, 0, 10), statusBadArgument)
}

func TestLocalReply(t *testing.T) {
	b := newBorder(t)
	send := func() status {
		return b.call("proxy_send_local_response", 418, "a teapot", "tea", string(block([2]string{"X-Pot", "1"})), -1)
	}
	b.expect("no stream", send(), statusOK)
	s := b.stream(nil)
	b.expect("reply", send(), statusOK)
	l := s.local
	if l.Status != 418 || l.Details != "a_teapot" || l.Body != "tea" || l.GRPCStatus != -1 || !slices.Equal(l.Headers, [][2]string{{"x-pot", "1"}}) {
		t.Errorf("got %+v", *l)
	}
}

func TestEffectiveContext(t *testing.T) {
	b := newBorder(t)
	s := b.stream(nil)
	b.expect("root", b.call("proxy_set_effective_context", rootID), statusOK)
	if b.vm.current != nil {
		t.Error("the root context has a stream")
	}
	b.expect("stream", b.call("proxy_set_effective_context", int(s.id)), statusOK)
	b.expect("unknown", b.call("proxy_set_effective_context", 99), statusBadArgument)
	if b.vm.current != s {
		t.Error("the stream is not the current one")
	}
}

func TestMetricCalls(t *testing.T) {
	b := newBorder(t)
	b.expect("define", b.call("proxy_define_metric", int(counter), "c", outPlace), statusOK)
	id := int(b.u32(outPlace))
	b.expect("no such kind", b.call("proxy_define_metric", int(kinds), "c", outPlace), statusBadArgument)
	b.expect("increment", b.call("proxy_increment_metric", id, 1<<33), statusOK)
	b.expect("record", b.call("proxy_record_metric", id, 1), statusOK)
	b.expect("get", b.call("proxy_get_metric", id, outPlace), statusOK)
	if low, high := b.u32(outPlace), b.u32(outPlace+4); low != 1 || high != 2 {
		t.Errorf("got %d and %d", low, high)
	}
	b.expect("get, unknown", b.call("proxy_get_metric", id+4, outPlace), statusNotFound)
	if got := b.vm.Counters()["c"]; got != 1<<33+1 {
		t.Errorf("counter %d", got)
	}
}

func TestLogCall(t *testing.T) {
	b := newBorder(t)
	b.expect("log", b.call("proxy_log", int(LevelWarn), "hm"), statusOK)
	b.expect("no such level", b.call("proxy_log", int(levels), "hm"), statusBadArgument)
	if got := b.vm.Logs(); len(got) != 1 || got[0] != (Log{LevelWarn, "hm"}) {
		t.Errorf("got %v", got)
	}
	if got := logText(b.vm.Logs()); got != "\n  warning: hm" {
		t.Errorf("got %q", got)
	}
}

// Whatever places and sizes a guest makes up, it gets a status and touches nothing.
func TestWildPointers(t *testing.T) {
	for _, c := range hostCalls {
		for _, wild := range []uint64{math.MaxUint32, 8<<20 - 1, 1 << 31} {
			b := newBorder(t)
			b.stream(map[string]string{"": "x"}, [2]string{"", "x"})
			stack := make([]uint64, max(len(c.params), 1))
			for i := range stack {
				stack[i] = wild
			}
			if !strings.HasPrefix(c.name, "proxy_set_effective") {
				stack[0] = 0
			}
			c.bind()(b.vm.ctx, stack)
			if got := status(stack[0]); got != statusInvalidMemory && got != statusBadArgument && got != statusNotFound {
				t.Errorf("%s with %#x: status %d", c.name, wild, got)
			}
		}
	}
}

func TestTooEarly(t *testing.T) {
	b := newBorder(t)
	b.vm.phase = initializing
	b.expect("log", b.call("proxy_log", int(LevelInfo), "hm"), statusOK)
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, errTooEarly) {
			t.Error("a metric was defined in _initialize")
		}
	}()
	b.call("proxy_define_metric", int(counter), "c", outPlace)
}
