// Package parallel spreads work over the processors.
package parallel

import (
	"runtime"
	"sync"
)

// maxBatch is the most items that a worker takes at a time: enough that taking them costs nothing, and few enough that
// no worker is left with the last ones.
const maxBatch = 64

// Each calls work with every item once, some of them at a time, from as many goroutines as there are processors.
func Each[T any](items []T, work func(some []T)) {
	workers := runtime.GOMAXPROCS(0)
	size := max(1, min(maxBatch, len(items)/(4*workers)))
	next := make(chan []T)
	var wait sync.WaitGroup
	for range min(workers, len(items)) {
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

// Map gives what work makes of the items, in their order: work fills in the result of each item that it gets. It is
// called as Each calls it.
func Map[T, R any](items []T, work func(some []T, results []R)) []R {
	type part struct {
		items   []T
		results []R
	}
	results := make([]R, len(items))
	var parts []part
	for from := 0; from < len(items); from += maxBatch {
		to := min(from+maxBatch, len(items))
		parts = append(parts, part{items[from:to], results[from:to]})
	}
	Each(parts, func(some []part) {
		for _, p := range some {
			work(p.items, p.results)
		}
	})
	return results
}
