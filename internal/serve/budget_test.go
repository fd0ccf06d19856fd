package serve

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// TestFindMemory: the least of what the environment, the container and the machine say counts.
func TestFindMemory(t *testing.T) {
	for name, c := range map[string]struct {
		machine, container string
		limit              int64
		want               int64
	}{
		"nothing says so":       {"", "", 0, memoryIfUnknown},
		"a machine":             {"MemTotal:    2048 kB\nMemFree: 1 kB\n", "max\n", 0, 2 << 20},
		"a container":           {"MemTotal:    2048 kB\n", "1048576\n", 0, 1 << 20},
		"the environment":       {"MemTotal:    2048 kB\n", "1048576\n", 4096, 4096},
		"no good":               {"MemTotal: much kB\n", "much\n", 0, memoryIfUnknown},
		"a container of a giga": {"MemTotal:    512 kB\n", "1073741824\n", 0, 512 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			machine, container := filepath.Join(dir, "meminfo"), filepath.Join(dir, "memory.max")
			for path, text := range map[string]string{machine: c.machine, container: c.container} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.limit > 0 {
				before := debug.SetMemoryLimit(c.limit)
				defer debug.SetMemoryLimit(before)
			}
			if got := findMemory(machine, container); got != c.want {
				t.Errorf("there are %d bytes, want %d", got, c.want)
			}
		})
	}
}
