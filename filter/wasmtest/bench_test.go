package wasmtest

import (
	"context"
	"testing"
)

// BenchmarkUntouched is one request and its response on a route without a policy: what host and border cost.
func BenchmarkUntouched(b *testing.B) {
	benchmark(b, map[string]string{"xds.route_name": "none"})
}

// BenchmarkPinned is a request of a session on its steady path.
func BenchmarkPinned(b *testing.B) {
	benchmark(b, route)
}

func benchmark(b *testing.B, props map[string]string) {
	vm := start(b, Options{})
	h := request("other=1; " + session(b, vm))
	b.ReportAllocs()
	for b.Loop() {
		s := vm.NewStream(props)
		_, _, err := s.RequestHeaders(h, true)
		noError(b, err)
		_, err = s.ResponseHeaders(reply, false)
		noError(b, err)
		s.Close()
	}
	b.ReportMetric(float64(vm.MemoryBytes()), "guest-B")
}

// BenchmarkStart is a new VM of a compiled module, configuration included.
func BenchmarkStart(b *testing.B) {
	m := Require(b)
	o := Options{Config: []byte(config), Env: map[string]string{"LIMPET_KEYS": ring}}
	b.ReportAllocs()
	for b.Loop() {
		vm, err := m.Start(context.Background(), o)
		noError(b, err)
		vm.Close()
	}
}
