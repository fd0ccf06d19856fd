package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/limpet-proxy/limpet/bench/stats"
)

// passes is how often instructions are counted for every cell; the median counts.
const passes = 3

// instructions counts what a request of each cell takes of the worker, outside of the kernel. Other jobs on the machine
// do not change that.
func (b *bench) instructions(ctx context.Context, cells []cell, requests int) (results, error) {
	b.rig.Counting = true
	e, err := b.rig.Start(b.keys.Text(), contestants(cells))
	if err != nil {
		return nil, err
	}
	defer e.Stop()
	out := results{}
	for _, c := range cells {
		t := b.traffics[c.traffic]
		if err := c.verify(e, t, b.scope); err != nil {
			return nil, err
		}
		if err := t.send(e.Address(c.contestant), b.effort.warm/max(1, t.weight)); err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		count := requests / max(1, t.weight)
		for range passes {
			total, err := e.Instructions(func() error { return t.send(e.Address(c.contestant), count) })
			if err := firstOf(err, ctx.Err()); err != nil {
				return nil, fmt.Errorf("%s: %w", c, err)
			}
			out[c] = append(out[c], float64(total)/float64(count))
		}
		fmt.Fprintf(os.Stderr, "bench: %s: %.0f\n", c, stats.Median(out[c]))
	}
	return out, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// instructionTable has a line for each row, in thousands.
func (r results) instructionTable(rows []row) string {
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
