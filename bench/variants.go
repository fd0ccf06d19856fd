package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/limpet-proxy/limpet/bench/internal/rig"
	"github.com/limpet-proxy/limpet/bench/internal/stats"
)

// variantTraffics are what other builds of the filter are measured with.
var variantTraffics = []string{"pinned", "new", "forged"}

// variantCells are the cells of other builds, of the shipped build, and of no filter.
func variantCells(paths []string) []cell {
	cells := []cell{{rig.None, "pinned"}, {rig.None, "new"}}
	for _, traffic := range variantTraffics {
		cells = append(cells, cell{rig.Limpet, traffic})
		for _, path := range paths {
			cells = append(cells, cell{rig.Variant(path), traffic})
		}
	}
	return cells
}

// variantTable has a line for the shipped build and one for each other: its size, and its costs over no filter.
func (r measurements) variantTable(shipped string, paths []string) string {
	var b strings.Builder
	b.WriteString("| build | kB | pinned, µs over no filter | new | forged |\n|---|---:|---:|---:|---:|\n")
	line := func(title, path, contestant string) {
		size := int64(0)
		if info, err := os.Stat(path); err == nil {
			size = info.Size()
		}
		fmt.Fprintf(&b, "| %s | %d |", title, (size+500)/1000)
		for _, traffic := range variantTraffics {
			v := stats.Bootstrap(r.rounds(), r.over(contestant, traffic))
			fmt.Fprintf(&b, " %.1f (%.1f … %.1f) |", v.Mid, v.Low, v.High)
		}
		b.WriteString("\n")
	}
	line("shipped", shipped, rig.Limpet)
	for _, path := range paths {
		line("`"+strings.TrimSuffix(filepath.Base(path), ".wasm")+"`", path, rig.Variant(path))
	}
	return b.String()
}
