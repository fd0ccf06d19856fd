// Package parallel spreads work over the processors.
package parallel

import (
	"runtime"
	"sync"
)

// batch is the most items that a worker takes at a time: enough that taking them costs nothing, and few enough that
// no worker is left with the last ones.
const batch = 64

// Each calls work with every item once, some of them at a time, from as many goroutines as there are processors.
func Each[T any](items []T, work func(some []T)) {
	size := max(1, min(batch, len(items)/(4*runtime.GOMAXPROCS(0))))
	next := make(chan []T)
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(items)) {
		wait.Go(func() {
			for some := range next {
				work(some)
			}
		})
	}
	for len(items) > 0 {
		n := min(size, len(items))
		next <- items[:n]
		items = items[n:]
	}
	close(next)
	wait.Wait()
}
