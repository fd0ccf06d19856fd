package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/controller"
	"github.com/limpet-proxy/limpet/internal/inputfiles"
	"github.com/limpet-proxy/limpet/internal/kubernetes"
	"github.com/limpet-proxy/limpet/internal/serve"
)

// cluster is an API server whose objects are followed.
type cluster struct {
	flags  *clusterFlags
	config *rest.Config
	source *kubernetes.Source
	log    *slog.Logger
}

// follow begins to follow the API server's objects.
func (f *clusterFlags) follow(ctx context.Context, log *slog.Logger) (*cluster, error) {
	config, err := f.load()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &cluster{f, config, kubernetes.NewSource(client, log), log}
	c.source.Manage = f.manage
	c.source.ServeAt(config.Host)
	if prefix, err := netip.ParsePrefix(f.pool); err == nil {
		c.source.Pool = kubernetes.NewPool(prefix)
	}
	f.faults, f.given = append(f.faults, c.source.Fault), c.source.Given
	log.Info("reading the objects", "server", config.Host)
	return c, c.source.Start(ctx)
}

// followKeys makes the keys come from the Secret, if one is named. overlap is how long a key that no longer signs still
// verifies.
func (c *cluster) followKeys(ctx context.Context, keys *keyFlags, overlap func() (time.Duration, bool)) error {
	if c.flags.keys == "" {
		return nil
	}
	ring := &kubernetes.Keyring{
		Config: c.config, Namespace: c.flags.namespace, Name: c.flags.keys, Log: c.log,
		Changed: c.source.Touch, Every: c.flags.rotateKeys, Overlap: overlap,
	}
	keys.ring, c.flags.faults = ring.Ring, append(c.flags.faults, ring.Fault)
	if err := c.readRoots(ctx, keys); err != nil {
		return err
	}
	return ring.Start(ctx)
}

// readRoots reads the root secrets from their Secret, if one is named.
func (c *cluster) readRoots(ctx context.Context, keys *keyFlags) error {
	if c.flags.root == "" {
		return nil
	}
	secrets, err := kubernetes.NewSecrets(c.config, c.flags.namespace)
	if err != nil {
		return err
	}
	keys.fixed, err = kubernetes.Roots(ctx, secrets, c.flags.root, string(compiler.TargetEnvoy), c.log)
	return err
}

// feed makes a controller follow the objects and the keys.
func (c *cluster) feed(ctx context.Context, keys *keyFlags, to *controller.Controller) {
	if keys.file != "" {
		files := inputfiles.NewWatcher(keys.file)
		go func() {
			for ctx.Err() == nil {
				if _, changed := files.Next(ctx, time.Time{}); changed {
					c.source.Touch()
				}
			}
		}()
	}
	to.Changes, to.Again, to.Stderr = c.source, c.source.Touch, serve.Lines{To: c.log}
	to.Read = func(stderr io.Writer) (controller.Input, error) {
		in, err := keys.load(stderr)
		in.Sources, in.Nodes = c.source.Sources(), c.source.Nodes()
		return in, err
	}
}

// lead writes statuses and manages proxies, which may be nil, while this process holds the Lease, until ctx ends. Call
// wake when something has changed.
func (c *cluster) lead(
	ctx context.Context, of *controller.Controller, registry prometheus.Registerer, proxies *kubernetes.Proxies,
) (wake func()) {
	if !c.flags.statuses && proxies == nil {
		return func() {}
	}
	of.Grace = c.flags.grace
	w := c.newStatusWriter(ctx, of, registry)
	host, err := os.Hostname()
	if err != nil {
		host = "limpet"
	}
	readOthers := c.shareAcknowledged(ctx, of, strings.ToLower(host))
	classes := kubernetes.NewClasses(c.source, c.flags.controller, c.log)
	classes.Events = w.Events
	lease := kubernetes.Lease{
		Config: c.config, Namespace: c.flags.namespace, Name: "limpet-serve",
		Identity: fmt.Sprintf("%s_%d_%d", host, os.Getpid(), time.Now().UnixNano()), Log: c.log,
	}
	task := func(ctx context.Context) {
		var keeping sync.WaitGroup
		defer keeping.Wait()
		if err := keepProxies(ctx, proxies, w.Wake, &keeping); err != nil {
			return // ctx has ended
		}
		if c.flags.statuses {
			keeping.Go(func() { readOthers(ctx) })
			keeping.Go(func() { classes.Run(ctx) })
			w.Run(ctx)
		}
		<-ctx.Done()
	}
	c.flags.ending.Go(func() {
		if err := lease.Run(ctx, task); err != nil {
			c.log.Error("statuses are not written", "reason", err)
		}
	})
	return func() {
		w.Wake()
		if proxies != nil {
			proxies.Wake()
		}
	}
}

// shareAcknowledged tells other replicas which listeners this one's Envoys have acknowledged, until ctx ends. The
// leader calls readOthers, which reads what the others tell.
func (c *cluster) shareAcknowledged(
	ctx context.Context,
	of *controller.Controller,
	host string,
) (readOthers func(context.Context)) {
	if !c.flags.statuses {
		return nil
	}
	acknowledged, err := kubernetes.NewAcknowledgements(
		c.config,
		c.flags.namespace,
		fmt.Sprintf("%s-%d", host, os.Getpid()),
		of.Server.Acknowledged,
		of.AcknowledgedElsewhere,
		c.log,
	)
	if err != nil {
		c.log.Error("other replicas are not told what Envoys have acknowledged", "reason", err)
		return func(context.Context) {}
	}
	of.Elsewhere, of.TellElsewhere = acknowledged.Others, acknowledged.Wake
	c.flags.ending.Go(func() { acknowledged.Publish(ctx) })
	return acknowledged.Follow
}

// newStatusWriter makes what writes statuses.
func (c *cluster) newStatusWriter(
	ctx context.Context,
	of *controller.Controller,
	registry prometheus.Registerer,
) *kubernetes.StatusWriter {
	w := kubernetes.NewStatusWriter(c.source, of.Statuses, c.log)
	w.Written, w.Metrics = kubernetes.NewStatusMetrics(registry), kubernetes.NewQueueMetrics(registry)
	c.source.RegisterSize(registry)
	events, err := kubernetes.NewEvents(ctx, c.config)
	if err != nil {
		c.log.Error("no events are sent", "reason", err)
	}
	w.Events = events
	return w
}

// endWithin is how long the process may take to end: an API server may be away.
const endWithin = 3 * time.Second

// awaitEnd waits until the Lease is given up, so that another process leads at once, and what is remembered is written.
func (f *clusterFlags) awaitEnd() {
	ended := make(chan struct{})
	go func() {
		f.ending.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(endWithin):
	}
}
