package parallel

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestSparingly holds that what is done sparingly keeps one processor busy, and anything else all.
func TestSparingly(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	most := func() int64 {
		var now, most atomic.Int64
		Each(make([]int, 64), func([]int) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Millisecond)
			now.Add(-1)
		})
		return most.Load()
	}
	Sparingly(func() {
		if n := most(); n != 1 {
			t.Errorf("sparingly %d work at a time", n)
		}
	})
	if n := most(); n < 2 {
		t.Errorf("%d works at a time", n)
	}
}
