package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/controller"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/kubernetes"
	"github.com/limpet-proxy/limpet/internal/proxies"
)

// proxyFlags say whether limpet runs the proxies of Gateways, and of what they are made.
type proxyFlags struct {
	image, helper string // of none, others run the proxies
	server        string
	modules       string // host and port of --wasm-listen, as proxies reach it
	authority     string
	keys          []string
}

func (f *proxyFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.image, "manage-proxies", "",
		"run the proxies of each Gateway of the cluster that has no annotation\n"+v1alpha1.AnnotationManaged+": \"false\", "+
			"from the `IMAGE` of Envoy unless their ProxyConfig names one")
	flags.StringVar(&f.helper, "helper-image", "", "`IMAGE` of limpet for those, which drains them")
	flags.StringVar(
		&f.server,
		"proxy-server",
		"",
		"`HOST:PORT` of limpet serve as those reach it, a name in the server's certificate;\n"+
			"they reach --wasm-listen at the same host, by its own port",
	)
	flags.StringVar(
		&f.authority,
		"proxy-ca",
		"",
		"`FILE` with the authorities that sign the server's certificate, for those",
	)
	flags.StringSliceVar(&f.keys, "infrastructure-keys", nil,
		"`KEY`s of labels and annotations of a Gateway's spec.infrastructure that those get,\n"+
			"or PREFIX/* for all with a prefix, such as service.beta.kubernetes.io/*")
}

// checkFlags refuses proxies that could not run.
func (f *proxyFlags) checkFlags(sc *serveCommand) error {
	some := f.helper+f.server+f.authority+strings.Join(f.keys, "") != ""
	switch {
	case f.image == "" && some:
		return usagef("--helper-image, --proxy-server, --proxy-ca and --infrastructure-keys need --manage-proxies")
	case f.image == "":
		return nil
	case !sc.config.input.elsewhere:
		return usagef("--manage-proxies needs an API server: name one with --kubeconfig")
	case f.helper == "":
		return usagef("--manage-proxies needs --helper-image: the image of limpet that drains proxies")
	case !isHostPort(f.server):
		return usagef("--proxy-server %q: must be a host and a port, such as limpet.limpet-system.svc:18000", f.server)
	case sc.config.keys.file == "" && sc.config.keys.secret == "":
		return usagef("--manage-proxies needs --keys: proxies that limpet runs get their keys from it")
	case f.authority == "" && sc.tls.secret == "":
		return usagef("--manage-proxies needs --tls-cert secret/NAME, or --proxy-ca: by which proxies know the server")
	}
	if err := proxies.AllowedKeys(f.keys).Check(); err != nil {
		return usagef("--infrastructure-keys: %v", err)
	}
	if sc.modules.listen != "" {
		host, _, _ := net.SplitHostPort(f.server)
		_, port, _ := net.SplitHostPort(sc.modules.listen)
		f.modules = net.JoinHostPort(host, port)
	}
	return nil
}

// newProxies makes what keeps proxies; nil where others run them.
func (sc *serveCommand) newProxies(c *cluster, of *controller.Controller) *kubernetes.Proxies {
	f := &sc.proxies
	if f.image == "" {
		return nil
	}
	p := kubernetes.NewProxies(c.source, c.log)
	p.Settings, p.Ports = sc.proxySettings, of.Ports
	p.Controller, p.Allowed = sc.cluster.controller, f.keys
	of.Proxies, of.Served.Telemetry = p.States, p.Telemetry
	return p
}

// proxySettings are what all proxies have in common, as it is now.
func (sc *serveCommand) proxySettings() (s proxies.Settings, err error) {
	f := &sc.proxies
	s = proxies.Settings{Image: f.image, HelperImage: f.helper, Server: f.server, Modules: f.modules}
	if s.Bind, err = netip.ParseAddr(sc.config.input.bind); err != nil {
		return s, err
	}
	s.Audience, s.Authority = sc.tls.audience, sc.tls.authority()
	if f.authority != "" {
		text, err := os.ReadFile(f.authority)
		if err != nil {
			return s, err
		}
		s.Authority = string(text)
	}
	if s.Authority == "" {
		return s, fmt.Errorf("the Secret %s: data: Required value: it has no ca.crt, by which proxies know the server; "+
			"name a file that has it with --proxy-ca", sc.tls.secret)
	}
	if s.Roots = sc.config.keys.fixed; s.Roots == nil {
		s.Roots, _, err = keyfile.ReadRoots(sc.config.keys.rootFile)
	}
	return s, err
}

// keepProxies keeps proxies, if there are any to keep, until ctx ends. It returns when it knows how they do.
func keepProxies(ctx context.Context, p *kubernetes.Proxies, changed func(), keeping *sync.WaitGroup) error {
	if p == nil {
		return nil
	}
	p.Changed = changed
	if err := p.Start(ctx); err != nil {
		return err
	}
	keeping.Go(func() { p.Run(ctx) })
	return nil
}
