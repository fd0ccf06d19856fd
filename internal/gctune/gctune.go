// Package gctune trades memory for time: it tells Go's collector how much the heap may grow, unless the environment
// does (GOGC, GOMEMLIMIT).
//
// It does so when it is initialised, before those of the compiler's six hundred packages that allocate. Go initialises
// packages in the order of their paths, each as soon as what it imports is done ("Package initialization" of the
// language's specification), and this one imports next to nothing. So it must stay a package of its own: what they all
// allocate is just what Go would collect at, and that collection took 2 of 20 ms.
package gctune

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"time"
)

// The collector's settings. At Go's own 100 percent a third of the processor's time went into collecting, on 10,000
// routes with their policies, Services and EndpointSlices; within the limit, which they reach, it is a tenth.
const (
	gcPercent = 400
	// leastLimit, in bytes, is where it begins to collect as often as it must, for up to 8 MB of input.
	leastLimit = 700 << 20
	// limitPerByte is the limit for more, by the byte of input.
	limitPerByte = 85
)

func init() {
	if !isSetByEnvironment() {
		debug.SetGCPercent(gcPercent)
		debug.SetMemoryLimit(leastLimit)
	}
}

// serverPercent is how much the heap of a server grows: what runs for months does little at a time, and its memory is
// paid for.
const serverPercent = 50

// ForServer keeps the heap small, and collects as often as it must before a container's limit ends the process.
func ForServer() {
	if os.Getenv("GOGC") == "" { // be there a limit or not: the heap reaches it otherwise, whatever it needs
		debug.SetGCPercent(serverPercent)
	}
	if !isSetByEnvironment() {
		debug.SetMemoryLimit(limitOf(ContainerLimit()))
	}
}

// limitOf is that of the heap in a container with a limit, a tenth less, for there is more than the heap. Zero is none.
func limitOf(container int64) int64 {
	if container == 0 {
		return math.MaxInt64
	}
	return container / 10 * 9
}

// idleAfter is for how long nothing happens before a server gives back what it does not use.
const idleAfter = 5 * time.Second

// ReleaseWhenIdle gives memory back that is not used, once after each time in which something was done, until ctx ends.
// Done counts what was: a compilation of thousands of routes leaves hundreds of megabytes, which would stay until the
// next.
func ReleaseWhenIdle(ctx context.Context, done func() int64) {
	released, before := int64(-1), int64(-1)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(idleAfter):
		}
		if now := done(); now == before && now != released {
			debug.FreeOSMemory()
			released = now
		} else {
			before = now
		}
	}
}

// isSetByEnvironment tells whether the user says how Go shall trade memory for time.
func isSetByEnvironment() bool { return os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" }

// ForInput gives the heap what an input of that many bytes needs.
func ForInput(size int) {
	if !isSetByEnvironment() {
		debug.SetMemoryLimit(max(leastLimit, int64(size)*limitPerByte))
	}
}
