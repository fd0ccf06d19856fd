package istio

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clockTick is the unit of processor times in /proc (USER_HZ): 100 a second on every Linux that Envoy runs on.
const clockTick = 10 * time.Millisecond

// BenchmarkRequest measures the processor time that Envoy takes for a request: one without a policy on a gateway that
// limpet wrote for, the same without the plugin and without anything of limpet, and a request of a session.
func BenchmarkRequest(b *testing.B) {
	for _, c := range []struct {
		name, path string
		change     func([]object) []object
	}{
		{"nothing of limpet", "/plain", func([]object) []object { return nil }},
		{"no plugin, no policy", "/plain", withoutKind("WasmPlugin")},
		{"plugin, no policy", "/plain", nil},
		{"plugin, session", "/cart/add", nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := onVirtualService(b, "")
			d.change = c.change
			m := run(b, d)
			one := m.newClient()
			one.request(b, c.path)
			before := m.envoy.cpu(b)
			b.ResetTimer()
			for range b.N {
				one.request(b, c.path)
			}
			b.ReportMetric(float64((m.envoy.cpu(b)-before).Microseconds())/float64(b.N), "envoy-µs/op")
		})
	}
}

// cpu is the processor time that Envoy has used so far (proc(5): utime and stime of /proc/PID/stat).
func (e *envoy) cpu(t testing.TB) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", e.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick
}
