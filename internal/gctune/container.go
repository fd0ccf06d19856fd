package gctune

import (
	"os"
	"path"
	"strconv"
	"strings"
)

// ContainerLimit is how many bytes of memory the container of this process may have, by its control group and those
// above it; 0 for no limit, or where there are no such groups.
func ContainerLimit() int64 { return limitIn("/proc/self/cgroup", "/sys/fs/cgroup") }

// limitIn returns the least limit of the control groups that a file names. folder is where version 2 of control groups,
// or version 1, is mounted.
func limitIn(groups, folder string) (least int64) {
	text, err := os.ReadFile(groups)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, found := strings.Cut(rest, ":")
		switch {
		case !found:
		case controllers == "":
			least = atMost(least, leastAbove(folder, group, "memory.max"))
		case controllers == "memory":
			least = atMost(least, leastAbove(folder+"/memory", group, "memory.limit_in_bytes"))
		}
	}
	return least
}

// leastAbove returns the least limit of a group and those above it. A container sees its own as the root.
func leastAbove(folder, group, file string) (least int64) {
	for {
		least = atMost(least, readLimit(path.Join(folder, group, file)))
		if group == "/" || group == "." || group == "" {
			return least
		}
		group = path.Dir(group)
	}
}

// unlimited is the value from which a limit of version 1 is none.
const unlimited = 1 << 60

func readLimit(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || limit >= unlimited {
		return 0 // max
	}
	return limit
}

// atMost is the lesser limit; 0 is none.
func atMost(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// AvailableMemory is how many bytes of memory this process may have: its container's limit, or the machine's where that
// is less; 0 where neither is known.
func AvailableMemory() int64 {
	return availableIn("/proc/meminfo", "/proc/self/cgroup", "/sys/fs/cgroup")
}

func availableIn(machine, groups, folder string) int64 {
	return atMost(limitIn(groups, folder), readTotal(machine))
}

// readTotal gives the memory of a machine by its first line, in kilobytes.
func readTotal(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 || fields[0] != "MemTotal:" {
		return 0
	}
	kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}
