package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/bench/internal/rig"
	"github.com/limpet-proxy/limpet/bench/internal/stats"
	"github.com/limpet-proxy/limpet/token"
)

// effort is how much is measured.
type effort struct {
	// starts is how often Envoy is started again, rounds how many rounds each of them serves.
	starts, rounds int
	// requests make one measurement; warm of them come before, for V8 to compile what is hot.
	requests, warm int
}

// bench is one run.
type bench struct {
	rig      *rig.Rig
	keys     rig.Keys
	scope    *token.Scope
	traffics map[string]requestMix
	effort   effort
}

// measurements are processor times of Envoy's worker, in µs a request, by cell.
type measurements map[cell]stats.Rounds

// measure runs all cells in turn, in another order in every round.
func (b *bench) measure(ctx context.Context, cells []cell) (measurements, error) {
	out := measurements{}
	for start := range b.effort.starts {
		if err := b.measureOn(ctx, cells, out); err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "bench: Envoy %d of %d: %d rounds\n", start+1, b.effort.starts, b.effort.rounds)
	}
	return out, nil
}

// measureOn runs one Envoy's rounds.
func (b *bench) measureOn(ctx context.Context, cells []cell, out measurements) error {
	e, err := b.rig.Start(b.keys.Text(), contestants(cells))
	if err != nil {
		return err
	}
	defer e.Stop()
	for _, c := range cells {
		if err := c.verify(e, b.traffics[c.traffic], b.scope); err != nil {
			return err
		}
		if err := b.traffics[c.traffic].send(e.Address(c.contestant), b.effort.warm); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	for range b.effort.rounds {
		for _, i := range rand.Perm(len(cells)) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			c := cells[i]
			cost, err := b.cost(e, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
			out[c] = append(out[c], float64(cost.Nanoseconds())/1e3)
		}
	}
	return nil
}

// cost is what one request of a cell takes of the worker's processor time.
func (b *bench) cost(e *rig.Envoy, c cell) (time.Duration, error) {
	t := b.traffics[c.traffic]
	count := b.effort.requests / max(1, t.weight)
	before, err := e.CPU()
	if err != nil {
		return 0, err
	}
	if err := t.send(e.Address(c.contestant), count); err != nil {
		return 0, err
	}
	after, err := e.CPU()
	return (after - before) / time.Duration(count), err
}

// contestants are those of the cells, each once.
func contestants(cells []cell) []string {
	var names []string
	for _, c := range cells {
		if !slices.Contains(names, c.contestant) {
			names = append(names, c.contestant)
		}
	}
	return names
}
