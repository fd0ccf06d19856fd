package compiler

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/limpet-proxy/limpet/compiler/scaletest"
)

// BenchmarkCompile compiles many routes; the time for one should not grow with their number.
func BenchmarkCompile(b *testing.B) {
	for _, routes := range []int{1000, 3000, 10_000} {
		b.Run(fmt.Sprint(routes), func(b *testing.B) {
			sources := scaletest.Routes(routes)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile(sources, Options{WasmPath: "w"}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(routes), "µs/route")
		})
	}
}

// BenchmarkRecompile compiles many routes again after the deadline of one policy has changed, with a cache.
func BenchmarkRecompile(b *testing.B) {
	for _, routes := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(routes), func(b *testing.B) {
			sources := scaletest.Routes(routes)
			o := Options{WasmPath: "w", Cache: NewCache()}
			last := &sources[len(sources)-1]
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				last.Data = bytes.Replace(last.Data, fmt.Appendf(nil, "%dh", 8+i%2), fmt.Appendf(nil, "%dh", 9-i%2), 1)
				if i == 0 {
					if _, err := Compile(sources, o); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				if _, err := Compile(sources, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
