package serve

import (
	"math"
	"runtime/debug"

	"github.com/limpet-proxy/limpet/internal/gctune"
)

// EnvoysBudget is how many bytes of memory all Envoys together may cost: three eighths of what there is. The rest is
// for what is compiled and served.
func EnvoysBudget() int { return int(findMemory(gctune.AvailableMemory()) / 8 * 3) }

// memoryIfUnknown is what there is where nothing says so.
const memoryIfUnknown = 1 << 30

// findMemory is how much memory there is for this process: what is available, 0 where that is not known, or the heap's
// limit, which the environment may say (GOMEMLIMIT), where that is less.
func findMemory(available int64) int64 {
	least := debug.SetMemoryLimit(-1)
	if available > 0 {
		least = min(least, available)
	}
	if least == math.MaxInt64 {
		return memoryIfUnknown
	}
	return least
}
