// Command bench measures what limpet costs Envoy, side by side with other filters. make bench builds all that it needs
// and runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/limpet-proxy/limpet/bench/internal/report"
	"github.com/limpet-proxy/limpet/bench/internal/rig"
	"github.com/limpet-proxy/limpet/internal/barchart"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// runFlags are the flags that choose what to measure.
type runFlags struct {
	only     string
	variants string
	memory   int
	// counted is how many requests of each sort have their instructions counted.
	counted  int
	features bool
	write    bool
}

func run(ctx context.Context) error {
	var b bench
	var p runFlags
	flag.IntVar(&b.effort.starts, "starts", 3, "how often Envoy is started again")
	flag.IntVar(&b.effort.rounds, "rounds", 6, "rounds on each of them")
	flag.IntVar(&b.effort.requests, "requests", 10_000, "requests in one measurement")
	flag.IntVar(&b.effort.warm, "warm", 5_000, "requests of each sort before the first measurement")
	flag.StringVar(&p.only, "only", "*/*",
		"measure only the cells that match one of these patterns, separated by commas: limpet/*,none/pinned")
	flag.StringVar(&p.variants, "variants", "",
		"compare the shipped filter with these builds of it, separated by commas, and with nothing else")
	flag.IntVar(&p.memory, "memory", 0, "send so many requests of all sorts, watch the linear memory, and do nothing else")
	flag.IntVar(&p.counted, "instructions", 0,
		"count the instructions of so many requests of each sort, with valgrind, instead of measuring time")
	flag.BoolVar(
		&p.features,
		"features",
		false,
		"with -instructions: count what features cost that are used; -only names one of them",
	)
	flag.BoolVar(&p.write, "write", false, "write the results into docs/performance.md and docs/performance.svg")
	flag.Parse()
	dir, err := os.MkdirTemp("", "limpet-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := b.prepare(dir); err != nil {
		return err
	}
	switch {
	case p.memory > 0:
		return b.runMemory(ctx, p)
	case p.features && p.counted > 0:
		return b.runFeatures(ctx, p)
	case p.counted > 0:
		return b.runInstructions(ctx, p)
	case p.variants != "":
		return b.runVariants(ctx, p)
	}
	return b.runCosts(ctx, p)
}

// prepare starts the backends, and makes the keys and the traffics.
func (b *bench) prepare(dir string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	cores, err := rig.TakeCores()
	if err != nil {
		return err
	}
	if b.rig, err = rig.New(root, dir, os.Getenv("ENVOY"), cores); err != nil {
		return err
	}
	b.keys = rig.NewKeys()
	b.scope = b.keys.Scope(rig.CookieScope)
	b.traffics, err = traffics(b.keys, b.rig.Backends)
	return err
}

// The page that results go to, and the plot next to it.
const (
	performancePage = "docs/performance.md"
	plot            = "docs/performance.svg"
)

// say prints a part's results and, with -write, puts them into their place in the page.
func (p runFlags) say(place, text string) error {
	fmt.Println(text)
	if !p.write {
		return nil
	}
	return report.Replace(performancePage, place, text)
}

func (b *bench) runCosts(ctx context.Context, p runFlags) error {
	chosen := matching(p.only)
	results, err := b.measure(ctx, makeCells(chosen))
	if err != nil {
		return err
	}
	costs := results.costs(chosen)
	text := b.machine() + "\n" + report.Costs(costs)
	if len(chosen) == len(tableRows) {
		text += "\n" + report.Goals(results.goals())
	}
	if p.write {
		if err := os.WriteFile(plot, []byte(draw(costs)), 0o600); err != nil {
			return err
		}
	}
	return p.say("filter", text)
}

// draw draws what each request costs over no filter.
func draw(costs []report.Cost) string {
	var bars []barchart.Bar
	for _, c := range costs {
		if !c.Base && !c.Aside {
			bars = append(bars, barchart.Bar{
				Title: c.Title, Low: c.Over.Low, Mid: c.Over.Mid, High: c.Over.High,
				Value: fmt.Sprintf("%.1f", c.Over.Mid), Ours: strings.HasPrefix(c.Title, "limpet"),
			})
		}
	}
	return barchart.Draw("Processor time of Envoy over no filter, µs a request (median, 90 % interval)", bars)
}

func (b *bench) runInstructions(ctx context.Context, p runFlags) error {
	chosen := matching(p.only)
	results, err := b.instructions(ctx, makeCells(chosen), p.counted)
	if err != nil {
		return err
	}
	counted := fmt.Sprintf("Counted %s with valgrind: %s. %d requests a row, the median of %d passes.\n",
		time.Now().UTC().Format(time.DateOnly), versions(), p.counted, passes)
	return p.say("instructions", counted+"\n"+results.instructionTable(chosen))
}

func (b *bench) runVariants(ctx context.Context, p runFlags) error {
	paths := strings.Split(p.variants, ",")
	for i := range paths {
		var err error
		if paths[i], err = filepath.Abs(paths[i]); err != nil {
			return err
		}
	}
	results, err := b.measure(ctx, variantCells(paths))
	if err != nil {
		return err
	}
	return p.say("variants", b.machine()+"\n"+results.variantTable("dist/limpet.wasm", paths))
}

func (b *bench) runMemory(ctx context.Context, p runFlags) error {
	text, err := b.memory(ctx, p.memory)
	if err != nil {
		fmt.Println(text)
		return err
	}
	return p.say("memory", text)
}

func makeCells(rows []row) []cell {
	cells := make([]cell, len(rows))
	for i, r := range rows {
		cells[i] = r.cell
	}
	return cells
}

// matching are the rows whose cells match one of the patterns.
func matching(patterns string) []row {
	var chosen []row
	for _, r := range tableRows {
		for _, pattern := range strings.Split(patterns, ",") {
			if ok, _ := path.Match(pattern, r.String()); ok {
				chosen = append(chosen, r)
				break
			}
		}
	}
	return chosen
}
