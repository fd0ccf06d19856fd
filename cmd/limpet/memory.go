package main

import (
	"io"
	"os"
	"runtime/debug"

	"github.com/limpet-proxy/limpet/compiler"
)

// What the collector is told. At Go's own 100 percent a third of the processor's time went into collecting, on 10,000
// routes with their policies, Services and EndpointSlices; within the limit, which they reach, it is a tenth.
const (
	gcPercent = 400
	// leastLimit, in bytes, is where it begins to collect as often as it must, for up to 9 MB of input.
	leastLimit = 700 << 20
	// limitPerByte is the limit for more, by the byte of input.
	limitPerByte = 75
)

// memoryIsTheirs tells whether the environment says how Go shall trade memory for time.
func memoryIsTheirs() bool { return os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" }

// tuneMemory trades memory for time.
func tuneMemory() {
	if !memoryIsTheirs() {
		debug.SetGCPercent(gcPercent)
		debug.SetMemoryLimit(leastLimit)
	}
}

// readPaths reads the input, and gives it the memory that it needs.
func readPaths(paths []string, stdin io.Reader) ([]compiler.Source, error) {
	sources, err := compiler.ReadPaths(paths, stdin)
	size := 0
	for _, s := range sources {
		size += len(s.Data)
	}
	if !memoryIsTheirs() {
		debug.SetMemoryLimit(max(leastLimit, int64(size)*limitPerByte))
	}
	return sources, err
}
