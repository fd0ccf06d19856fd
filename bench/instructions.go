package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/limpet-proxy/limpet/bench/internal/rig"
	"github.com/limpet-proxy/limpet/bench/internal/stats"
)

// passes is how often instructions are counted for every cell; the median counts.
const passes = 3

// instructions counts what a request of each cell takes of the worker, outside of the kernel. Other jobs on the machine
// do not change that. Each contestant has an Envoy of its own, for under valgrind V8 has no room for all of their VMs.
func (b *bench) instructions(ctx context.Context, cells []cell, requests int) (measurements, error) {
	b.rig.Counting = true
	out := measurements{}
	for _, name := range contestants(cells) {
		e, err := b.rig.Start(b.keys.Text(), []string{name})
		if err != nil {
			return nil, err
		}
		for _, c := range cells {
			if c.contestant == name && err == nil {
				out[c], err = b.count(ctx, e, c, requests)
			}
		}
		e.Stop()
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// count is what a request of a cell takes, in each of the passes.
func (b *bench) count(ctx context.Context, e *rig.Envoy, c cell, requests int) (stats.Rounds, error) {
	t := b.traffics[c.traffic]
	if err := c.verify(e, t, b.scope); err != nil {
		return nil, err
	}
	requests /= max(1, t.weight)
	err := t.send(e.Address(c.contestant), b.effort.warm/max(1, t.weight))
	var rounds stats.Rounds
	for pass := 0; pass < passes && err == nil; pass++ {
		var total int64
		total, err = e.Instructions(func() error { return t.send(e.Address(c.contestant), requests) })
		rounds = append(rounds, float64(total)/float64(requests))
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c, err)
	}
	fmt.Fprintf(os.Stderr, "bench: %s: %.0f\n", c, stats.Median(rounds))
	return rounds, nil
}

// instructionTable has a line for each row, in thousands.
func (r measurements) instructionTable(rows []row) string {
	var b strings.Builder
	b.WriteString("| request | instructions, thousands | over no filter |\n|---|---:|---:|\n")
	for _, line := range rows {
		over := ""
		if base := r[line.base()]; len(base) > 0 && line.base() != line.cell {
			over = fmt.Sprintf("%.1f", (stats.Median(r[line.cell])-stats.Median(base))/1e3)
		}
		fmt.Fprintf(&b, "| %s | %.1f | %s |\n", line.title, stats.Median(r[line.cell])/1e3, over)
	}
	return b.String()
}
