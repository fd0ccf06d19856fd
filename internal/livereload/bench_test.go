package livereload

import (
	"bytes"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
)

// BenchmarkChange takes a change of one file among 5,000 routes from its text to the files for Envoy, to and fro.
func BenchmarkChange(b *testing.B) {
	for _, change := range []struct{ name, from, to string }{
		{"policy", "absoluteTimeout: 8h", "absoluteTimeout: 9h"},
		{"endpoint", "- addresses: [10.0.0.2]", "- addresses: [10.0.0.3]"},
		{"route", "value: /cart", "value: /shop"},
	} {
		b.Run(change.name, func(b *testing.B) {
			draining, _ := NewDraining("")
			d, err := NewDynamic(b.TempDir(), draining)
			if err != nil {
				b.Fatal(err)
			}
			d.Options = func(Inputs) compiler.Options {
				return compiler.Options{Envoy: &compiler.EnvoyOptions{WasmPath: "w"}}
			}
			d.FileMode = func(*compiler.Result) fs.FileMode { return 0o644 }
			inputs := [2]Inputs{{Sources: scaletest.MakeRoutes(5000)}, {Sources: scaletest.MakeRoutes(5000)}}
			last := &inputs[1].Sources[len(inputs[1].Sources)-1]
			last.Data = bytes.Replace(last.Data, []byte(change.from), []byte(change.to), 1)
			result, err := d.Compile(inputs[0])
			if err == nil {
				err = d.Start(result)
			}
			if err != nil {
				b.Fatal(err)
			}
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
