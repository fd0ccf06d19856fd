package main

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/controller"
	"github.com/limpet-proxy/limpet/internal/envoyproc"
)

// configFlags are those of commands that write configuration.
type configFlags struct {
	input     inputFlags
	admin     adminFlag
	filter    filterFlags
	verdict   verdictFlags
	output    outputFlags
	keys      keyFlags
	telemetry telemetryFlags
	module    moduleFlags
	shards    string // the path of what an Envoy needs to have tables for shards; empty for none
	istio     istioFlags
	// local says that the Envoy runs here: only clients of this machine reach a listener on a loopback address.
	local bool
}

func (f *configFlags) register(c *cobra.Command) {
	flags := c.Flags()
	f.input.registerSources(flags)
	f.input.kinds.registerAssumed(flags)
	f.input.registerPlace(flags)
	f.input.registerShared(flags)
	f.input.policies.register(flags)
	f.admin.register(flags)
	f.filter.register(flags, "default: that of the copy that limpet writes")
	f.verdict.register(flags, "write nothing if anything is left out or not honoured")
	f.output.register(flags, "tell of advice too, and of each object that has a finding")
	f.keys.register(flags)
	f.telemetry.register(flags)
}

// checkFlags refuses a wrong command line before anything is read.
func (f *configFlags) checkFlags(c *cobra.Command, args []string) error {
	if err := f.input.checkFlags(c, args); err != nil {
		return err
	}
	if err := f.admin.checkFlags(); err != nil {
		return err
	}
	if err := f.filter.checkFlags(); err != nil {
		return err
	}
	if err := f.verdict.checkFlags(); err != nil {
		return err
	}
	if err := errors.Join(f.output.checkFlags(), f.telemetry.checkFlags()); err != nil {
		return err
	}
	return f.keys.checkFlags()
}

// isAddrPort tells whether s is an IP address and a port other than 0.
func isAddrPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	_, err = netip.ParseAddr(host)
	n, notNumber := strconv.ParseUint(port, 10, 16)
	return err == nil && notNumber == nil && n > 0
}

// read reads all that a compilation needs. What there is to say of key files goes to stderr.
func (f *configFlags) read(stdin io.Reader, stderr io.Writer) (controller.Input, error) {
	in, err := f.keys.load(stderr)
	if err != nil {
		return in, err
	}
	sources, err := f.input.readSources(stdin)
	in.Sources = read.NewList(sources...)
	return in, err
}

// options are those of a compilation of the inputs.
func (f *configFlags) options(in controller.Input, target compiler.Target, modulePath string) compiler.Options {
	o := compiler.Options{
		Target: target,
		Bind:   f.input.bind,
		Keys:   in.Keys,

		LocalClients: f.local,
	}
	f.input.set(&o)
	f.verdict.set(&o)
	f.telemetry.set(&o)
	switch target {
	case compiler.TargetEnvoy:
		o.Envoy = &compiler.EnvoyOptions{
			Admin:      f.admin.address,
			AdminAll:   f.admin.all,
			Native:     f.filter.isNative(),
			ModulePath: modulePath,
		}
		o.Envoy.ShardModule = f.shards
		if f.local {
			o.Envoy.Machine = envoyproc.MachineAddresses()
		}
	case compiler.TargetEnvoyGateway:
		o.EnvoyGateway = &compiler.EnvoyGatewayOptions{
			WasmURL: f.module.url, WasmSHA256: f.module.sha256, NativePath: f.filter.nativePath(), Owner: f.module.owner,
		}
	case compiler.TargetIstio:
		o.Istio = f.istio.optionsOf(f.module, f.filter.nativePath())
	}
	return o
}

// compile reads and compiles the input; all errors come back together. The caller shows the result's warnings.
func (f *configFlags) compile(c *cobra.Command, target compiler.Target, modulePath string) (*compiler.Result, error) {
	in, err := f.read(c.InOrStdin(), c.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	o := f.options(in, target, modulePath)
	o.SuggestNames = true
	return compiler.Compile(in.Sources.Slice(), o)
}
