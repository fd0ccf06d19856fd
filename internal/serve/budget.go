package serve

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// EnvoysBudget is how many bytes of memory all Envoys together may cost: three eighths of what there is. The rest is for what is compiled
// and served.
func EnvoysBudget() int { return int(findMemory("/proc/meminfo", "/sys/fs/cgroup/memory.max") / 8 * 3) }

// memoryIfUnknown is what there is where nothing says so.
const memoryIfUnknown = 1 << 30

// findMemory is how much memory there is for this process: by GOMEMLIMIT, by what its container may have, or by what the machine has.
func findMemory(machine, container string) int64 {
	least := debug.SetMemoryLimit(-1)
	text, _ := os.ReadFile(container)
	if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
		least = min(least, limit)
	}
	text, _ = os.ReadFile(machine)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
			if kilobytes, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				least = min(least, kilobytes<<10)
			}
		}
	}
	if least == math.MaxInt64 {
		return memoryIfUnknown
	}
	return least
}
