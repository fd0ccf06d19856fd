// Command bench measures what limpet costs Envoy, side by side with other filters. make bench builds all that it needs and
// runs it.
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

	"github.com/limpet-proxy/limpet/bench/rig"
	"github.com/limpet-proxy/limpet/bench/stats"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var b bench
	flag.IntVar(&b.effort.starts, "starts", 4, "how often Envoy is started anew")
	flag.IntVar(&b.effort.rounds, "rounds", 6, "rounds on each of them")
	flag.IntVar(&b.effort.requests, "requests", 10_000, "requests in one measurement")
	flag.IntVar(&b.effort.warm, "warm", 3_000, "requests of each sort before the first measurement")
	only := flag.String("only", "*/*", "measure only the cells that match one of these patterns, separated by commas: limpet/*,none/pinned")
	variants := flag.String("variants", "", "further builds of the filter, separated by commas")
	flag.Parse()
	dir, err := os.MkdirTemp("", "limpet-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
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
	if b.traffics, err = traffics(b.keys, b.rig.Backends); err != nil {
		return err
	}
	cells := wanted(*only)
	if *variants != "" {
		b.variants = strings.Split(*variants, ",")
		for _, file := range b.variants {
			name, _ := rig.Variant(file)
			cells = append(cells, cell{name, "pinned"}, cell{name, "new"}, cell{name, "forged"})
		}
	}
	for i := range b.variants {
		if b.variants[i], err = filepath.Abs(b.variants[i]); err != nil {
			return err
		}
	}
	res, err := b.measure(ctx, cells)
	if err != nil {
		return err
	}
	for _, c := range cells {
		n := len(res[c])
		v := stats.Bootstrap(n, stats.Value(res[c]))
		line := fmt.Sprintf("%-32s %7.2f", c, v.Mid)
		if base, ok := res[c.base()]; ok {
			o := stats.Bootstrap(n, stats.Over(res[c], base))
			line += fmt.Sprintf("  over none %6.2f (%6.2f … %6.2f)", o.Mid, o.Low, o.High)
		}
		fmt.Println(line)
	}
	return nil
}

func wanted(only string) []cell {
	var cells []cell
	for _, r := range rows {
		for _, word := range strings.Split(only, ",") {
			if ok, _ := path.Match(word, r.cell.String()); ok {
				cells = append(cells, r.cell)
				break
			}
		}
	}
	return cells
}
