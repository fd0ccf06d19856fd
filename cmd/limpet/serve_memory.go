package main

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/limpet-proxy/limpet/internal/kubernetes"
	"github.com/limpet-proxy/limpet/internal/memory"
)

// recall reads what is remembered, in files or in objects of limpet's namespace, which all processes share and this one
// writes until the context ends. What can't be read is told of, and begins again.
func (sc *serveCommand) recall(
	ctx context.Context,
	log *slog.Logger,
	registry prometheus.Registerer,
) (*memory.Memory, error) {
	open := sc.openFile
	var failed error
	if sc.config.input.elsewhere {
		config, err := sc.cluster.load()
		if err != nil {
			return nil, err
		}
		written := kubernetes.NewMemoryMetrics(registry)
		open = func(kind *memory.Kind) memory.Store {
			if file := sc.openFile(kind); file != nil {
				return file
			}
			m, err := kubernetes.NewMemory(ctx, config, sc.cluster.namespace, kind.Name, log)
			if err != nil {
				failed = cmp.Or(failed, err)
				return nil
			}
			m.IsSame, m.Written = kind.IsSame, written
			sc.cluster.ending.Go(func() { m.Run(ctx) })
			return m
		}
	}
	known := memory.Load(open, func(lost string, why error) { log.Warn(lost, "reason", why) })
	return known, cmp.Or(failed, ctx.Err())
}

// openFile opens the file of a kind; nil without a folder for them.
func (sc *serveCommand) openFile(kind *memory.Kind) memory.Store {
	if sc.state == "" {
		return nil
	}
	return memory.File(filepath.Join(sc.state, kind.Name+".json"))
}
