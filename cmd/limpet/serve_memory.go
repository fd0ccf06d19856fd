package main

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/limpet-proxy/limpet/internal/kubernetes"
	"github.com/limpet-proxy/limpet/internal/livereload"
	"github.com/limpet-proxy/limpet/internal/serve"
)

// remembered is what serve knows that no object says.
type remembered struct {
	draining   *livereload.Draining
	unselected *livereload.Unselected
	owners     *livereload.Owners
}

// recall reads what is remembered, in files or in the cluster. What can't be read is told of, and begins anew.
func (sc *serveCommand) recall(ctx context.Context, log *slog.Logger, registry prometheus.Registerer) (r remembered, err error) {
	draining, unselected, owners := livereload.Memory(livereload.FileMemory(sc.draining)),
		livereload.Memory(livereload.FileMemory(sc.unselectedFile())), livereload.Memory(livereload.FileMemory(sc.owners))
	if sc.config.input.elsewhere {
		config, err := sc.cluster.load()
		if err != nil {
			return r, err
		}
		shared := sharedMemories{sc, ctx, log, config, serve.NewMemoryMetrics(registry), nil}
		if sc.draining == "" {
			draining = shared.add("draining", livereload.SameDraining)
			unselected = shared.add("unselected", livereload.SameUnselected)
		}
		if sc.owners == "" {
			owners = shared.add("owners", livereload.SameOwner)
		}
		if shared.err != nil {
			return r, shared.err
		}
	}
	if r.draining, err = livereload.NewDrainingIn(draining); err != nil {
		log.Warn("since when hosts terminate is not known, and begins now", "reason", err)
	}
	if r.unselected, err = livereload.NewUnselectedIn(unselected); err != nil {
		log.Warn("which pods Services have left is not known", "reason", err)
	}
	if r.owners, err = livereload.NewOwnersIn(owners); err != nil {
		log.Warn("whose addresses were is not known, and those that they have now count as their first", "reason", err)
	}
	return r, ctx.Err()
}

// sharedMemories are those in objects of limpet's namespace, which all processes share.
type sharedMemories struct {
	sc      *serveCommand
	ctx     context.Context
	log     *slog.Logger
	config  *rest.Config
	written func(result string)
	err     error // the first
}

// add makes one, which is written until the context ends.
func (s *sharedMemories) add(name string, isSame func(stored, own json.RawMessage) bool) livereload.Memory {
	m, err := kubernetes.NewMemory(s.ctx, s.config, s.sc.cluster.namespace, name, s.log)
	if err != nil {
		s.err = cmp.Or(s.err, err)
		return livereload.FileMemory("")
	}
	m.IsSame, m.Written = isSame, s.written
	s.sc.cluster.ending.Go(func() { m.Run(s.ctx) })
	return m
}
