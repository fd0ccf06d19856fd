package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/bench/internal/rig"
)

// memoryGauge is the linear memory of all of limpet's VMs.
const memoryGauge = "wasmcustom.limpet_memory_bytes"

// step is how many requests memory sends between two looks.
const step = 20_000

// memory sends requests of all sorts to one limpet and tells its worker's linear memory before and after. It fails
// when the memory grows after the first step.
func (b *bench) memory(ctx context.Context, requests int) (string, error) {
	e, err := b.rig.Start(b.keys.Text(), []string{rig.LimpetIdle})
	if err != nil {
		return "", err
	}
	defer e.Stop()
	mixture := b.mixture()
	if err := mixture.send(e.Address(rig.LimpetIdle), 1); err != nil { // the gauge begins with a response
		return "", err
	}
	start, err := e.Stat(memoryGauge)
	if err != nil {
		return "", err
	}
	var sizes []int64
	for sent := 0; sent < requests && ctx.Err() == nil; sent += step {
		if err := mixture.send(e.Address(rig.LimpetIdle), step); err != nil {
			return "", err
		}
		size, err := e.Stat(memoryGauge)
		if err != nil {
			return "", err
		}
		sizes = append(sizes, size)
	}
	outcomes, err := e.Admin("/stats?filter=limpet_sessions")
	if err := errors.Join(err, ctx.Err()); err != nil {
		return "", err
	}
	// The gauge counts this worker and the VM that Envoy's main thread keeps, which serves nothing.
	text := fmt.Sprintf(
		"Linear memory of one worker with one policy: %d kB after the first request, %d kB after %d requests, %d kB after "+
			"%d.\n",
		start/1024,
		sizes[0]/1024,
		step,
		slices.Max(sizes)/1024,
		len(sizes)*step,
	)
	text += "\nOutcomes of these: " + summary(outcomes) + ".\n"
	if slices.Max(sizes) > sizes[0] {
		return text, fmt.Errorf("the linear memory grew: %d", sizes)
	}
	return text, nil
}

// mixture are requests of all sorts in turn, in no order that a cache could profit from.
func (b *bench) mixture() requestMix {
	var pool []request
	for _, name := range []string{"pinned", "pinned-many", "new", "renewed", "forged", "preflight", "without-route"} {
		sort := b.traffics[name].pool
		for i := range 200 {
			pool = append(pool, sort[i*len(sort)/200])
		}
	}
	pool = append(pool, b.traffics["flood-forged"].pool[0])
	mixed := make([]request, 0, len(pool))
	for i := range pool {
		mixed = append(mixed, pool[i*601%len(pool)])
	}
	return requestMix{pool: mixed}
}

// summary shortens a page of counters to "outcome count" pairs.
func summary(page string) string {
	var parts []string
	for line := range strings.Lines(page) {
		name, count, found := strings.Cut(strings.TrimSpace(line), ": ")
		if found && count != "0" {
			parts = append(parts, name[strings.LastIndex(name, ".")+1:]+" "+count)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
