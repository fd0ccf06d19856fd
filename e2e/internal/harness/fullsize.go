package harness

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// FullSize tells whether scenarios run at their full size: make e2e-long sets LIMPET_LONG.
func FullSize() bool { return os.Getenv("LIMPET_LONG") != "" }

// Size is the size of a scenario: short in make test, long in make e2e-long.
func Size[T any](short, long T) T {
	if FullSize() {
		return long
	}
	return short
}

// progressEvery is how often a scenario says how far it is.
const progressEvery = 5 * time.Second

// Progress shows how far a scenario is, in make e2e-long only: there a silent minute looks like a test that is stuck.
// It may be used by several goroutines at once.
type Progress struct {
	name string
	mu   sync.Mutex
	last time.Time
}

// progresses has one for each test function, so that its parts together say no more than one part would.
var progresses sync.Map

// NewProgress begins to show the progress of a test.
func NewProgress(t testing.TB) *Progress {
	name, _, _ := strings.Cut(t.Name(), "/")
	progress, _ := progresses.LoadOrStore(name, &Progress{name: name, last: time.Now()})
	return progress.(*Progress)
}

// Say prints a line, unless the last one was printed less than five seconds ago.
func (p *Progress) Say(format string, args ...any) {
	if !FullSize() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.last) < progressEvery {
		return
	}
	p.last = time.Now()
	fmt.Fprintf(os.Stderr, "%s %s: %s\n", p.last.Format(time.TimeOnly), p.name, fmt.Sprintf(format, args...))
}
