package serve

import (
	"cmp"
	"math"
	"runtime/debug"
	"testing"
)

// TestFindMemory: the lesser of what is available and what the environment says counts.
func TestFindMemory(t *testing.T) {
	for name, c := range map[string]struct{ available, limit, want int64 }{
		"nothing says so":       {0, 0, memoryIfUnknown},
		"what is available":     {2 << 20, 0, 2 << 20},
		"the environment":       {1 << 20, 4096, 4096},
		"the environment alone": {0, 4096, 4096},
		"a greater environment": {4096, 1 << 20, 4096},
	} {
		t.Run(name, func(t *testing.T) {
			before := debug.SetMemoryLimit(cmp.Or(c.limit, math.MaxInt64))
			defer debug.SetMemoryLimit(before)
			if got := findMemory(c.available); got != c.want {
				t.Errorf("there are %d bytes, want %d", got, c.want)
			}
		})
	}
}
