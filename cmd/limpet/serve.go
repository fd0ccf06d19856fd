package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strconv"
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

const serveHelp = `serve compiles like 'limpet compile -t envoy' and serves the result over xDS to
any number of Envoys, each of which somebody else runs: 'limpet bootstrap' prints
what such an Envoy starts from. Every change of the input reaches them while they
run. Each Gateway has proxies of its own, which get what belongs to it and nothing
else.

A change goes to each Envoy make before break: clusters, endpoints, certificates
and keys first, then routes with their session policies, then listeners, then
removals, each step when the Envoy has acknowledged the one before. Endpoints do not wait for the
rest. An Envoy that does not answer holds up no other.

Envoys show a certificate of --tls-ca whose only URI is
spiffe://DOMAIN/ns/NAMESPACE/gateway/NAME, or, with --token-audience, a token of
their Gateway's service account. Without TLS serve listens on the
loopback only, or with --listen unix:PATH at a socket, and believes what the
bootstrap of an Envoy says that may connect there.

--admin has /metrics, /healthz, /readyz, /status, /config?gateway=NAMESPACE/NAME with
everything secret masked, /reading with options and names kept, and /debug/pprof.`

const serveExamples = `  # Envoys on this machine
  limpet serve -f gateways/ --filter-path /usr/share/limpet/limpet.wasm
  limpet bootstrap --gateway default/public > envoy.yaml

  # Envoys on others
  limpet serve -f gateways/ --filter-path /usr/share/limpet/limpet.wasm \
    --listen 0.0.0.0:18000 --tls-cert tls.crt --tls-key tls.key --tls-ca ca.crt`

// defaultListen is where "limpet serve" is reached, and defaultServeAdmin where its own state is.
const (
	defaultListen     = "127.0.0.1:18000"
	defaultServeAdmin = "127.0.0.1:18001"
	defaultSocketMode = fs.FileMode(0o600)
)

// serveCommand is "limpet serve".
type serveCommand struct {
	config   configFlags
	cluster  clusterFlags
	listen   string
	mode     fs.FileMode // of a socket
	modules  moduleServer
	admin    string
	probes   string
	tls      serveTLS
	deadline time.Duration
	state    string
	format   string
	traces   string
	proxies  proxyFlags
}

func newServe() *cobra.Command {
	var sc serveCommand
	c := &cobra.Command{
		Use:     "serve -f PATH... --filter-path PATH",
		Short:   "Compile, and serve the result to Envoys over xDS",
		Long:    serveHelp,
		Example: serveExamples,
		Args:    sc.check,
		RunE:    func(c *cobra.Command, _ []string) error { return sc.run(c) },
	}
	flags := c.Flags()
	in := &sc.config.input
	in.registerFiles(flags)
	in.kinds.register(flags)
	in.kinds.registerAssumed(flags)
	in.registerPlace(flags)
	in.registerShared(flags)
	in.registerBudget(flags)
	in.policies.register(flags)
	sc.cluster.register(flags)
	sc.proxies.register(flags)
	sc.config.filter.register(flags, "required; the same for every Envoy")
	sc.config.verdict.register(flags, "leave what is served as it is if anything is left out or not honoured")
	sc.config.keys.register(flags)
	sc.config.keys.registerRoot(flags)
	flags.Lookup("keys").Usage = "`FILE` with the key ring, or secret/NAME for a Secret of --system-namespace, which is\n" +
		"made if there is none, to serve sealed (default: Envoys have it in LIMPET_KEYS)"
	flags.Lookup("root").Usage = "`FILE` with the root secret that seals the ring, or secret/NAME for a Secret (root.txt),\n" +
		"which is made if there is none (default: that in LIMPET_ROOT)"
	flags.Lookup("system-namespace").Usage = "limpet's own `NAMESPACE`, whose policies for GatewayClasses count, and where its Lease\n" +
		"and its Secrets are"
	sc.config.story.register(flags)
	flags.StringVar(&sc.listen, "listen", defaultListen,
		"`ADDRESS` for Envoys; without TLS a loopback address, or unix:PATH of a socket;\nunix:PATH,mode=0660 lets its group connect too")
	sc.tls.register(flags)
	flags.StringVar(&sc.modules.listen, "wasm-listen", "",
		"`ADDRESS` at which Envoys fetch limpet.wasm, instead of --filter-path; without TLS a loopback address")
	flags.StringVar(&sc.admin, "admin", defaultServeAdmin, "loopback `ADDRESS` of limpet's own state, or none")
	flags.StringVar(&sc.probes, "probes", "", "`ADDRESS` with /metrics, /healthz and /readyz alone, for other machines")
	flags.DurationVar(&sc.deadline, "ack-deadline", 15*time.Second, "report an Envoy that takes longer than this `TIME` to answer")
	flags.StringVar(&sc.state, "state-dir", "",
		"remember in files of `DIR` whose addresses were, since when hosts terminate, and\n"+
			"which pods Services no longer select (default: nothing, on a cluster in objects)")
	flags.StringVar(&sc.traces, "traces-to", "",
		"send OpenTelemetry traces of changes to `HOST:PORT` (OTLP over gRPC), with TLS unless that is the loopback")
	flags.StringVar(&sc.format, "log-format", "text", "how log lines are written: `text|json`")
	return c
}

// check refuses a wrong command line before anything is read.
func (sc *serveCommand) check(c *cobra.Command, args []string) error {
	sc.config.admin.address = compiler.NoAdmin
	keys := &sc.config.keys
	sc.cluster.keys, sc.cluster.root = takeSecret(&keys.file), takeSecret(&keys.rootFile)
	if err := sc.cluster.check(sc.config.input.paths); err != nil {
		return err
	}
	keys.secret, sc.tls.secret = sc.cluster.keys, takeSecret(&sc.tls.files.Certificate)
	sc.cluster.namespace, sc.cluster.manage = sc.config.input.policies.classNamespace, sc.proxies.image != ""
	sc.config.story.others = sc.cluster.manage
	sc.config.input.elsewhere = sc.cluster.isWanted(sc.config.input.paths)
	if err := sc.config.check(c, args); err != nil {
		return err
	}
	if err := sc.config.input.checkWatchable(); err != nil {
		return err
	}
	if err := sc.checkFilter(); err != nil {
		return err
	}
	if err := sc.proxies.check(sc); err != nil {
		return err
	}
	if err := sc.takeMode(); err != nil {
		return err
	}
	if err := sc.checkListen(); err != nil {
		return err
	}
	if err := sc.checkSocket(); err != nil {
		return err
	}
	return sc.checkRest()
}

// checkFilter wants one place at which Envoys find the filter.
func (sc *serveCommand) checkFilter() error {
	switch own := sc.config.filter.place != ""; {
	case sc.modules.listen != "" && (own || sc.config.filter.isNative()):
		return usagef("--wasm-listen and a path of the filter exclude each other: Envoys fetch limpet.wasm, or have a file")
	case sc.modules.listen == "" && !own:
		return usagef("--filter-path is required: the path at which every Envoy finds %s; or --wasm-listen, for limpet.wasm",
			sc.config.filter.what())
	}
	return nil
}

// checkRest is about what has nothing to do with Envoys.
func (sc *serveCommand) checkRest() error {
	switch {
	case sc.admin != compiler.NoAdmin && !isLoopback(sc.admin):
		return usagef("--admin %q: must be a loopback address and a port, or none; --probes is for other machines", sc.admin)
	case sc.probes != "" && !isAddrPort(sc.probes):
		return usagef("--probes %q: must be an IP address and a port", sc.probes)
	case sc.traces != "" && !isHostPort(sc.traces):
		return usagef("--traces-to %q: must be a host and a port, such as 127.0.0.1:4317", sc.traces)
	case sc.format != "text" && sc.format != "json":
		return usagef("--log-format %q: must be text or json", sc.format)
	case sc.deadline <= 0:
		return usagef("--ack-deadline %s: must be more than 0", sc.deadline)
	}
	return nil
}

// checkListen refuses what is not safe for Envoys: they get keys and certificates.
func (sc *serveCommand) checkListen() error {
	encrypted := sc.tls.isOn()
	if err := sc.tls.check(sc.config.input.elsewhere); err != nil {
		return err
	}
	switch {
	case !isAddrPort(sc.listen) && !isSocket(sc.listen):
		return usagef("--listen %q: must be an IP address and a port, such as %s, or unix:PATH", sc.listen, defaultListen)
	case sc.modules.listen != "" && !isAddrPort(sc.modules.listen):
		return usagef("--wasm-listen %q: must be an IP address and a port", sc.modules.listen)
	case !encrypted && sc.modules.listen != "" && !isLoopback(sc.modules.listen):
		return usagef("--wasm-listen %s: without --tls-cert, --tls-key and --tls-ca it must be a loopback address", sc.modules.listen)
	case !encrypted && !isLocal(sc.listen):
		return usagef("--listen %s: without --tls-cert, --tls-key and --tls-ca it must be a loopback address", sc.listen)
	}
	return nil
}

// socketMode stands between a socket's path and its mode.
const socketMode = ",mode="

// checkSocket refuses a socket that can't be, or that TLS is asked for.
func (sc *serveCommand) checkSocket() error {
	path, is := serve.SocketPath(sc.listen)
	switch {
	case !is:
		return nil
	case sc.tls.isOn():
		return usagef("--listen %s: a socket speaks no TLS: leave --tls-cert, --tls-key and --tls-ca out", sc.listen)
	}
	if err := serve.CheckSocketPath(path); err != nil {
		return usagef("--listen: %v", err)
	}
	return nil
}

// takeMode takes the mode of a socket off its path.
func (sc *serveCommand) takeMode() error {
	sc.mode = defaultSocketMode
	path, text, has := strings.Cut(sc.listen, socketMode)
	if !has || !isSocket(path) {
		return nil
	}
	mode, err := strconv.ParseUint(text, 8, 32)
	if err != nil || fs.FileMode(mode)&^fs.ModePerm != 0 {
		return usagef("--listen %s: the mode must be that of a file in octal digits, such as %#o", sc.listen, defaultSocketMode)
	}
	sc.listen, sc.mode = path, fs.FileMode(mode)
	return nil
}

func isSocket(address string) bool {
	_, is := serve.SocketPath(address)
	return is
}

// isLocal tells whether only processes of this machine reach an address.
func isLocal(address string) bool { return isLoopback(address) || isSocket(address) }

// openListener listens for Envoys.
func (sc *serveCommand) openListener() (net.Listener, error) {
	path, is := serve.SocketPath(sc.listen)
	if !is {
		return net.Listen("tcp", sc.listen)
	}
	return serve.ListenOnSocket(path, sc.mode)
}

// listAddresses are those at which the server listens, and the API server of the cluster that it runs in.
func (sc *serveCommand) listAddresses() (all []netip.AddrPort) {
	apiServer := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	for _, address := range []string{sc.listen, sc.admin, sc.probes, sc.modules.listen, apiServer} {
		if at, err := netip.ParseAddrPort(address); err == nil {
			all = append(all, at)
		}
	}
	return all
}

func isHostPort(address string) bool {
	host, port, err := net.SplitHostPort(address)
	return err == nil && host != "" && port != ""
}

func isLoopback(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.Port() > 0 && at.Addr().IsLoopback()
}

func (sc *serveCommand) run(c *cobra.Command) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := sc.serve(ctx, stop, c)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) { // before there was anything to serve
		return nil
	}
	return err
}

// mostStreams is how many Envoys of a Gateway there may be at one address. There may be several behind one that translates addresses.
const mostStreams = 256

// connectionAge is how long Envoys stay connected, give or take a fifth: then they spread over the replicas anew.
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
	if sc.config.shards, err = sc.shardPath(); err != nil {
		return err
	}
	followed := &controller.Controller{
		Memory: known, Published: traces.Compiled, Compiled: serve.NewCompileMetrics(registry),
		Options: sc.modules.options(sc.config.envoyOptions(cmp.Or(sc.modules.path, sc.config.filter.place))),
		Served:  compiler.Served{Own: sc.listAddresses(), Remote: !isLocal(sc.listen)},
	}
	server := xds.NewServer(xds.Options{
		Deadline: sc.deadline, ConnectionAge: connectionAge, MostStreams: mostStreams, Budget: serve.EnvoysBudget(),
		Authenticate: sc.tls.authenticate(), Identify: sc.identify(),
		Log: serve.Log{To: log, Answered: followed.Answered}, Acknowledged: followed.Acknowledged, Metrics: xds.NewMetrics(registry),
		Settle: sc.settle(), Staged: traces.Staged, Ready: serve.NewReadyListener, Judge: sc.config.filter.judge,
	})
	followed.Server = server
	serve.RegisterInputMetric(registry, sc.inputStatus(followed))
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

func (sc *serveCommand) identify() xds.Identify {
	if sc.cluster.manage {
		return sc.tls.identify()
	}
	return serve.RefuseManaged(sc.tls.identify())
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
	serve.RegisterKeys(registry, by.Fingerprints)
	var ready atomic.Bool
	ends := make(chan error, 4)
	if err := sc.serveModules(ends); err != nil {
		return err
	}
	input := serve.Input{Status: sc.inputStatus(by), Ended: endedStatus(by), Keys: by.Fingerprints, Reading: sc.reading(by)}
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
