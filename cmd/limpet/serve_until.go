package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/controller"
	"github.com/limpet-proxy/limpet/internal/gctune"
	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/serve"
	"github.com/limpet-proxy/limpet/internal/xds"
)

func (sc *serveCommand) run(c *cobra.Command) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := sc.serve(ctx, stop, c)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) { // before there was anything to serve
		return nil
	}
	return err
}

// mostStreams is how many Envoys of a Gateway there may be at one address. There may be several behind one that
// translates addresses.
const mostStreams = 256

// connectionAge is how long Envoys stay connected, give or take a fifth: then they spread over the replicas again.
const connectionAge = 30 * time.Minute

func (sc *serveCommand) serve(ctx context.Context, stop func(), c *cobra.Command) error {
	gctune.ForServer()
	sc.config.input.fitBudget(gctune.AvailableMemory())
	log := sc.newLogger(c)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := sc.modules.load(); err != nil {
		return err
	}
	known, err := sc.recall(ctx, log, registry)
	if err != nil {
		return err
	}
	traces, err := sc.newTraces(ctx, log)
	if err != nil {
		return err
	}
	shards, seesShards, err := sc.shardPath()
	if err != nil {
		return err
	}
	sc.config.shards = shards
	followed := &controller.Controller{
		Memory: known, Published: traces.Compiled, Compiled: serve.NewCompileMetrics(registry),
		Options: sc.modules.options(sc.config.envoyOptions(cmp.Or(sc.modules.path, sc.config.filter.place))),
		Served:  compiler.Served{Own: sc.listAddresses(), Remote: !isLocal(sc.listen)},
	}
	server := xds.NewServer(xds.Options{
		Deadline: sc.deadline, ConnectionAge: connectionAge, MostStreams: mostStreams, Budget: serve.EnvoysBudget(),
		Authenticate: sc.authenticate(),
		Log: serve.Log{
			To:       log,
			Answered: followed.Answered,
		}, Acknowledged: followed.Acknowledged, Metrics: xds.NewMetrics(registry),
		Staged: traces.Staged, Ready: serve.NewReadyListener, Judge: sc.config.filter.judgeEnvoy,
		HasModule: seesShards,
	})
	followed.Server = server
	go gctune.ReleaseWhenIdle(ctx, followed.Done)
	if err := sc.followInput(ctx, log, followed, registry); err != nil {
		return err
	}
	result, err := followed.Start()
	if err != nil {
		return err
	}
	message.PrintProblems(followed.Stderr, result.Warnings, followed.Style)
	defer func() {
		stop()
		sc.cluster.awaitEnd()
	}()
	return sc.serveUntil(ctx, log, server, registry, followed)
}

// newTraces begins to send traces; nil where none are asked for.
func (sc *serveCommand) newTraces(ctx context.Context, log *slog.Logger) (*serve.Traces, error) {
	if sc.traces == "" {
		return nil, nil
	}
	traces, err := serve.NewTraces(ctx, sc.traces, isLoopback(sc.traces), log)
	if err == nil {
		go traces.End(ctx)
	}
	return traces, err
}

// followInput has a controller follow files, or an API server.
func (sc *serveCommand) followInput(
	ctx context.Context, log *slog.Logger, by *controller.Controller, registry *prometheus.Registry,
) error {
	if !sc.config.input.elsewhere {
		sc.config.followFiles(by, serve.Lines{To: log})
		return sc.tls.load(log)
	}
	sc.cluster.controller = cmp.Or(sc.config.input.kinds.controller, string(v1alpha1.ControllerName))
	sc.config.keys.scoped = sc.cluster.manage
	c, err := sc.cluster.follow(ctx, log)
	if err != nil {
		return err
	}
	if err := sc.tls.follow(ctx, c); err != nil {
		return err
	}
	// An API server has admitted the objects, and Gateways may come later.
	by.Admitted = true
	if err := c.followKeys(ctx, &sc.config.keys, by.LongestUnused); err != nil {
		return err
	}
	c.feed(ctx, &sc.config.keys, by)
	by.Notify = c.lead(ctx, by, registry, sc.newProxies(c, by))
	return nil
}

func (sc *serveCommand) authenticate() xds.Authenticate {
	if sc.cluster.manage {
		return sc.tls.authenticate()
	}
	return serve.RefuseManaged(sc.tls.authenticate())
}

// serveUntil listens, and follows the input until the context ends.
func (sc *serveCommand) serveUntil(
	ctx context.Context, log *slog.Logger, server *xds.Server, registry *prometheus.Registry, by *controller.Controller,
) error {
	rpc := serve.NewRPC(sc.tls.config, connectionAge, sc.deadline)
	listener, err := sc.openListener()
	if err != nil {
		return err
	}
	var ready atomic.Bool
	ends := make(chan error, 4)
	if err := sc.serveModules(ends); err != nil {
		return err
	}
	input := serve.Input{
		Status:  sc.inputStatus(by),
		Ended:   endedStatus(by),
		Keys:    by.Fingerprints,
		Reading: sc.reading(by),
	}
	serve.RegisterInput(registry, input)
	for address, handler := range map[string]http.Handler{
		sc.admin:  serve.Admin(server, input, serve.Probes(registry, ready.Load)),
		sc.probes: serve.Probes(registry, ready.Load),
	} {
		if address == "" || address == compiler.NoAdmin {
			continue
		}
		at, err := serve.ListenForWeb(address)
		if err != nil {
			return err
		}
		web := serve.NewWeb(handler)
		defer func() { _ = web.Close() }()
		go func() { ends <- web.Serve(at) }()
	}
	go func() { ends <- server.Serve(rpc, listener) }()
	ready.Store(true)
	log.Info("serving; changes of the input reach Envoys as they come", "listen", sc.listen, "tls", sc.tls.isOn(),
		"gateways", len(server.Gateways()))
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		by.Run(ctx)
	}()
	select {
	case err = <-ends:
	case <-ctx.Done():
		err = nil
	}
	ready.Store(false)
	rpc.Stop() // Envoys go on with what they have, and come back
	if err == nil || errors.Is(err, grpc.ErrServerStopped) {
		<-followed
		return nil
	}
	return err
}

// inputStatus gives what of a controller's input is not in effect, or may be old, the keys included.
func (sc *serveCommand) inputStatus(of *controller.Controller) func() serve.InputStatus {
	return func() serve.InputStatus {
		refused, since := of.InputState()
		status := serve.InputStatus{Refused: slices.Clone(refused), Since: since}
		for _, fault := range sc.cluster.faults {
			if f := fault(); f.Words != "" {
				status.Refused = append(status.Refused, f.Words)
				if status.Since.IsZero() || f.Since.Before(status.Since) {
					status.Since = f.Since
				}
			}
		}
		return status
	}
}

// endedStatus gives the routes of which edits have ended sessions.
func endedStatus(of *controller.Controller) func() []serve.EndedStatus {
	return func() (all []serve.EndedStatus) {
		for route, e := range of.Ended() {
			all = append(all, serve.EndedStatus{Route: route.String(), At: e.At, Words: e.String()})
		}
		slices.SortFunc(all, func(a, b serve.EndedStatus) int { return strings.Compare(a.Route, b.Route) })
		return all
	}
}

func (sc *serveCommand) newLogger(c *cobra.Command) *slog.Logger {
	if sc.format == "json" {
		return slog.New(slog.NewJSONHandler(c.ErrOrStderr(), nil))
	}
	return slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
}
