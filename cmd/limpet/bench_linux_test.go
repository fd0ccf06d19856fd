package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
)

// BenchmarkCommand runs the program that "make build" gives. Besides the time on the clock it tells the processor's,
// which other programs disturb less, and the most memory that the program had.
func BenchmarkCommand(b *testing.B) {
	program, err := filepath.Abs(filepath.Join("..", "..", "bin", "limpet"))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		b.Fatalf("%v; run 'make build'", err)
	}
	b.Run("version", func(b *testing.B) { benchmarkProgram(b, 0, program, "version") })
	quickstart := filepath.Join("..", "..", "examples", "quickstart")
	b.Run("quickstart", func(b *testing.B) {
		benchmarkProgram(b, 0, program, "compile", "-f", quickstart, "-t", "envoy", "-o", b.TempDir())
	})
	for _, routes := range []int{1000, 3000, 10_000} {
		in := writeRoutes(b, routes)
		for _, mode := range []string{"validated", "assume-admitted"} {
			b.Run(fmt.Sprintf("%s/%d", mode, routes), func(b *testing.B) {
				benchmarkProgram(b, routes, program, "compile", "-f", in, "-t", "envoy", "-o", b.TempDir(),
					fmt.Sprintf("--assume-admitted=%t", mode == "assume-admitted"))
			})
		}
	}
}

// writeRoutes gives a folder with files of so many routes.
func writeRoutes(b *testing.B, routes int) string {
	b.Helper()
	dir := b.TempDir()
	for _, s := range scaletest.MakeRoutes(routes) {
		if err := os.WriteFile(filepath.Join(dir, s.Name), s.Data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// benchmarkProgram runs a program, which compiles so many routes, or 0 for what does not count them.
func benchmarkProgram(b *testing.B, routes int, program string, args ...string) {
	var processor time.Duration
	var peak int64 // KiB
	for b.Loop() {
		cmd := exec.Command(program, args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		processor += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		peak = max(peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	}
	b.ReportMetric(processor.Seconds()/float64(b.N), "cpu-s/op")
	if routes > 0 {
		b.ReportMetric(float64(peak)/1024, "peak-MiB")
		b.ReportMetric(float64(peak)*1024/float64(routes), "peak-B/route")
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(routes), "µs/route")
	}
}
