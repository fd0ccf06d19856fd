package gctune

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestContainerLimit finds a container's limit as both versions of control groups have it, and none where there is none.
func TestContainerLimit(t *testing.T) {
	for name, c := range map[string]struct {
		groups string
		files  map[string]string
		want   int64
	}{
		"a container's own":        {"0::/\n", map[string]string{"memory.max": "1073741824\n"}, 1 << 30},
		"none":                     {"0::/\n", map[string]string{"memory.max": "max\n"}, 0},
		"no groups":                {"", nil, 0},
		"the least of those above": {"0::/a/b\n", map[string]string{"a/b/memory.max": "max", "a/memory.max": "300", "memory.max": "400"}, 300},
		"the first version": {
			"4:cpu:/x\n3:memory:/x\n0::/\n",
			map[string]string{"memory/x/memory.limit_in_bytes": "500", "memory/memory.limit_in_bytes": "9223372036854771712"},
			500,
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder, groups := t.TempDir(), filepath.Join(t.TempDir(), "cgroup")
			writeFile(t, groups, c.groups)
			for path, text := range c.files {
				writeFile(t, filepath.Join(folder, path), text)
			}
			if got := limitIn(groups, folder); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
	folder := t.TempDir()
	writeFile(t, filepath.Join(folder, "meminfo"), "MemTotal:        8039420 kB\nMemFree: 1 kB\n")
	if got := readTotal(filepath.Join(folder, "meminfo")); got != 8039420<<10 {
		t.Errorf("the machine has %d bytes", got)
	}
	for name, c := range map[string]struct {
		machine, container string
		want               int64
	}{
		"nothing says so":       {"", "", 0},
		"a machine":             {"MemTotal:    2048 kB\nMemFree: 1 kB\n", "max\n", 2 << 20},
		"a container":           {"MemTotal:    2048 kB\n", "1048576\n", 1 << 20},
		"no good":               {"MemTotal: much kB\n", "much\n", 0},
		"a container of a giga": {"MemTotal:    512 kB\n", "1073741824\n", 512 << 10},
	} {
		writeFile(t, filepath.Join(folder, "meminfo"), c.machine)
		writeFile(t, filepath.Join(folder, "cgroup"), "0::/\n")
		writeFile(t, filepath.Join(folder, "memory.max"), c.container)
		if got := availableIn(filepath.Join(folder, "meminfo"), filepath.Join(folder, "cgroup"), folder); got != c.want {
			t.Errorf("%s: there are %d bytes, want %d", name, got, c.want)
		}
	}
	if limitOf(0) != math.MaxInt64 || limitOf(1000) != 900 {
		t.Error("the heap's limit is not a tenth less than the container's")
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
