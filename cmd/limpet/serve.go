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

Envoys show a certificate of --client-ca whose only URI is
spiffe://DOMAIN/ns/NAMESPACE/gateway/NAME, or, with --token-audience, a token of
their Gateway's service account. Without TLS serve listens on the
loopback only, or with --listen unix:PATH at a socket, and believes what the
bootstrap of an Envoy says that may connect there.

--admin has /metrics, /healthz, /readyz, /status, /config?gateway=NAMESPACE/NAME with
everything secret masked, /reading with options and names kept, and /debug/pprof.`

const serveExamples = `  # Envoys on this machine
  limpet serve -f gateways/ --wasm-path /usr/share/limpet/limpet.wasm
  limpet bootstrap --gateway default/public > envoy.yaml

  # Envoys on others
  limpet serve -f gateways/ --wasm-path /usr/share/limpet/limpet.wasm \
    --listen 0.0.0.0:18000 --tls-cert tls.crt --tls-key tls.key --client-ca ca.crt`

// defaultListen is where "limpet serve" is reached, and defaultServeAdmin where its own state is.
const (
	defaultListen     = "127.0.0.1:18000"
	defaultServeAdmin = "127.0.0.1:18001"
	defaultServePort  = 18001
	defaultSocketMode = "0600"
)

// serveCommand is "limpet serve".
type serveCommand struct {
	config   configFlags
	cluster  clusterFlags
	listen   string
	mode     string // of a socket
	modules  moduleServer
	admin    string
	probes   string
	tls      serveTLS
	deadline time.Duration
	age      time.Duration
	draining string
	owners   string
	format   string
	traces   string
	proxies  proxyFlags
}

func newServe() *cobra.Command {
	var sc serveCommand
	c := &cobra.Command{
		Use:     "serve -f PATH... --wasm-path PATH",
		Short:   "Compile, and serve the result to Envoys over xDS",
		Long:    serveHelp,
		Example: serveExamples,
		Args:    sc.check,
		RunE:    func(c *cobra.Command, _ []string) error { return sc.run(c) },
	}
	sc.config.input.register(c)
	flags := c.Flags()
	sc.cluster.register(flags)
	sc.proxies.register(flags)
	sc.config.filter.register(flags, "required; the same for every Envoy")
	sc.config.verdict.register(flags, "leave what is served as it is if anything is left out or not honoured")
	sc.config.keys.register(flags)
	sc.config.story.register(flags)
	flags.StringVar(&sc.listen, "listen", defaultListen, "`ADDRESS` for Envoys; without TLS a loopback address, or unix:PATH of a socket")
	flags.StringVar(&sc.mode, "socket-mode", defaultSocketMode, "with --listen unix:PATH: `MODE` of the socket, which says who may connect")
	sc.tls.register(flags)
	flags.StringVar(&sc.modules.listen, "wasm-listen", "",
		"`ADDRESS` at which Envoys fetch limpet.wasm, instead of --wasm-path; without TLS a loopback address")
	flags.StringVar(&sc.admin, "admin", defaultServeAdmin, "loopback `ADDRESS` of limpet's own state, or none")
	flags.StringVar(&sc.probes, "probes", "", "`ADDRESS` with /metrics, /healthz and /readyz alone, for other machines")
	flags.DurationVar(&sc.deadline, "ack-deadline", 15*time.Second, "report an Envoy that takes longer than this `TIME` to answer")
	flags.DurationVar(&sc.age, "connection-age", 30*time.Minute, "let Envoys connect anew after this `TIME`, give or take a fifth; 0 never")
	flags.StringVar(&sc.draining, "draining-file", "",
		"remember in `FILE` since when hosts terminate and, in FILE.unselected,\nwhich pods Services no longer select")
	flags.StringVar(&sc.owners, "owners-file", "", "remember in `FILE` which pods addresses belonged to")
	flags.StringVar(&sc.traces, "traces-to", "",
		"send OpenTelemetry traces of changes to `HOST:PORT` (OTLP over gRPC), with TLS unless that is the loopback")
	flags.StringVar(&sc.format, "log-format", "text", "how log lines are written: `text|json`")
	return c
}

// check refuses a wrong command line before anything is read.
func (sc *serveCommand) check(c *cobra.Command, args []string) error {
	sc.config.admin = compiler.NoAdmin
	if err := sc.cluster.check(sc.config.input.paths); err != nil {
		return err
	}
	if sc.cluster.root != "" && sc.config.keys.rootFile != "" {
		return usagef("--root and --root-secret: name one of the two")
	}
	sc.config.keys.secret = sc.cluster.keys
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
	if err := sc.checkListen(); err != nil {
		return err
	}
	if err := sc.checkSocket(c); err != nil {
		return err
	}
	return sc.checkRest()
}

// checkFilter wants one place at which Envoys find the filter.
func (sc *serveCommand) checkFilter() error {
	switch own := sc.config.filter.path() != ""; {
	case sc.modules.listen != "" && (own || sc.config.filter.isNative()):
		return usagef("--wasm-listen and a path of the filter exclude each other: Envoys fetch limpet.wasm, or have a file")
	case sc.modules.listen == "" && !own:
		return usagef("--%s-path is required: the path at which every Envoy finds %s; or --wasm-listen, for limpet.wasm",
			sc.config.filter.build, sc.config.filter.what())
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
	case sc.deadline <= 0 || sc.age < 0:
		return usagef("--ack-deadline must be more than 0, and --connection-age not less")
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
		return usagef("--wasm-listen %s: without --tls-cert, --tls-key and --client-ca it must be a loopback address", sc.modules.listen)
	case !encrypted && !isLocal(sc.listen):
		return usagef("--listen %s: without --tls-cert, --tls-key and --client-ca it must be a loopback address", sc.listen)
	}
	return nil
}

// checkSocket refuses a socket that can't be, or that TLS is asked for.
func (sc *serveCommand) checkSocket(c *cobra.Command) error {
	path, is := serve.SocketPath(sc.listen)
	mode, err := strconv.ParseUint(sc.mode, 8, 32)
	switch {
	case !is && c.Flags().Changed("socket-mode"):
		return usagef("--socket-mode needs --listen unix:PATH")
	case !is:
		return nil
	case err != nil || fs.FileMode(mode)&^fs.ModePerm != 0:
		return usagef("--socket-mode %q: must be the mode of a file in octal digits, such as %s", sc.mode, defaultSocketMode)
	case sc.tls.isOn():
		return usagef("--listen %s: a socket speaks no TLS: leave --tls-cert, --tls-key, --client-ca and --tls-secret out", sc.listen)
	}
	if err := serve.CheckSocketPath(path); err != nil {
		return usagef("--listen: %v", err)
	}
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
	mode, err := strconv.ParseUint(sc.mode, 8, 32)
	if err != nil {
		return nil, err
	}
	return serve.ListenOnSocket(path, fs.FileMode(mode))
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
	followed := &controller.Controller{
		Memory: known, Published: traces.Compiled, Compiled: serve.NewCompileMetrics(registry),
		Options: sc.modules.options(sc.config.cachedOptions(compiler.TargetEnvoy, cmp.Or(sc.modules.path, sc.config.filter.path()))),
		Served:  compiler.Served{Own: sc.listAddresses(), Remote: !isLocal(sc.listen)},
	}
	server := xds.NewServer(xds.Options{
		Deadline: sc.deadline, ConnectionAge: sc.age, MostStreams: mostStreams, Budget: serve.EnvoysBudget(),
		Authenticate: sc.tls.authenticate(), Identify: sc.identify(),
		Log: serve.Log{To: log, Answered: followed.Answered}, Acknowledged: followed.Acknowledged, Metrics: xds.NewMetrics(registry),
		Staged: traces.Staged, Ready: serve.NewReadyListener, Judge: sc.config.filter.judge,
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
	sc.cluster.manage, sc.cluster.controller = sc.proxies.manage, cmp.Or(sc.config.input.kinds.controller, string(v1alpha1.ControllerName))
	sc.config.keys.scoped = sc.proxies.manage
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
	if sc.proxies.manage {
		return sc.tls.identify()
	}
	return serve.RefuseManaged(sc.tls.identify())
}

// serveUntil listens, and follows the input until the context ends.
func (sc *serveCommand) serveUntil(
	ctx context.Context, log *slog.Logger, server *xds.Server, registry *prometheus.Registry, by *controller.Controller,
) error {
	rpc := serve.NewRPC(sc.tls.config, sc.age, sc.deadline)
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
