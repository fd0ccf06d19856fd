package parallel

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestEach holds that work keeps several processors busy.
func TestEach(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var now, most atomic.Int64
	Each(make([]int, 64), func([]int) {
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(time.Millisecond)
		now.Add(-1)
	})
	if n := most.Load(); n < 2 {
		t.Errorf("%d works at a time", n)
	}
}
