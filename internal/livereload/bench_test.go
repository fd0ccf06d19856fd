package livereload

import (
	"syscall"
	"testing"
	"time"
)

// BenchmarkChange takes a change of one file among 5,000 routes from its text to the files for Envoy, to and fro.
func BenchmarkChange(b *testing.B) {
	for _, change := range []struct{ name, from, to string }{
		{"policy", "absoluteTimeout: 8h", "absoluteTimeout: 9h"},
		{"endpoint", "- addresses: [10.0.0.2]", "- addresses: [10.0.0.3]"},
		{"route", "value: /cart", "value: /shop"},
	} {
		b.Run(change.name, func(b *testing.B) {
			d, in := newTestDynamic(b, 5000, 16)
			inputs := [2]Inputs{in, replaceInLast(b, in, change.from, change.to)}
			begin := processorTime(b)
			for i := 0; b.Loop(); i++ {
				result, err := d.Compile(inputs[(i+1)%2])
				if err == nil {
					_, err = d.Apply(b.Context(), time.Now(), result)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((processorTime(b)-begin).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// processorTime is what this process has taken so far, which says more than the clock on a machine that has other work.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
