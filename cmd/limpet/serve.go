package main

import (
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
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
		Args:    sc.checkFlags,
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
	flags.Lookup("keys").Usage = "`FILE` with the key ring, or secret/NAME for a Secret of --system-namespace, which " +
		"is\n" +
		"made if there is none, to serve sealed (default: Envoys have it in LIMPET_KEYS)"
	flags.Lookup("root").Usage = "`FILE` with the root secret that seals the ring, or secret/NAME for a Secret " +
		"(root.txt),\n" +
		"which is made if there is none (default: that in LIMPET_ROOT)"
	flags.Lookup("system-namespace").Usage = "limpet's own `NAMESPACE`, whose policies for GatewayClasses count, and " +
		"where its Lease\n" +
		"and its Secrets are"
	sc.config.telemetry.register(flags)
	flags.StringVar(
		&sc.listen,
		"listen",
		defaultListen,
		"`ADDRESS` for Envoys; without TLS a loopback address, or unix:PATH of a socket;\nunix:PATH,mode=0660 lets its "+
			"group connect too",
	)
	sc.tls.register(flags)
	flags.StringVar(&sc.modules.listen, "wasm-listen", "",
		"`ADDRESS` at which Envoys fetch limpet.wasm, instead of --filter-path; without TLS a loopback address")
	flags.StringVar(&sc.admin, "admin", defaultServeAdmin, "loopback `ADDRESS` of limpet's own state, or none")
	flags.StringVar(&sc.probes, "probes", "", "`ADDRESS` with /metrics, /healthz and /readyz alone, for other machines")
	flags.DurationVar(
		&sc.deadline,
		"ack-deadline",
		15*time.Second,
		"report an Envoy that takes longer than this `TIME` to answer",
	)
	flags.StringVar(&sc.state, "state-dir", "",
		"remember in files of `DIR` whose addresses were, since when hosts terminate, and\n"+
			"which pods Services no longer select (default: nothing, on a cluster in objects)")
	flags.StringVar(&sc.traces, "traces-to", "",
		"send OpenTelemetry traces of changes to `HOST:PORT` (OTLP over gRPC), with TLS unless that is the loopback")
	flags.StringVar(&sc.format, "log-format", "text", "how log lines are written: `text|json`")
	return c
}

// checkFlags refuses a wrong command line before anything is read.
func (sc *serveCommand) checkFlags(c *cobra.Command, args []string) error {
	sc.config.admin.address = compiler.NoAdmin
	keys := &sc.config.keys
	sc.cluster.keys, sc.cluster.root = takeSecret(&keys.file), takeSecret(&keys.rootFile)
	if err := sc.cluster.checkFlags(sc.config.input.paths); err != nil {
		return err
	}
	keys.secret, sc.tls.secret = sc.cluster.keys, takeSecret(&sc.tls.files.Certificate)
	sc.cluster.namespace, sc.cluster.manage = sc.config.input.policies.classNamespace, sc.proxies.image != ""
	sc.config.telemetry.others = sc.cluster.manage
	sc.config.input.elsewhere = sc.cluster.isWanted(sc.config.input.paths)
	if err := sc.config.checkFlags(c, args); err != nil {
		return err
	}
	if err := sc.config.input.checkWatchable(); err != nil {
		return err
	}
	if err := sc.checkFilter(); err != nil {
		return err
	}
	if err := sc.proxies.checkFlags(sc); err != nil {
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
