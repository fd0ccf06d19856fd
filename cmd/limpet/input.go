package main

import (
	"io"
	"net"
	"net/netip"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/gctune"
	"github.com/limpet-proxy/limpet/internal/inputfiles"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// input is what commands that read objects have in common: what to read and how to compile it.
type input struct {
	paths    []string
	bind     string
	admin    string
	wasmPath string
	strict   bool
	policies policyFlags
	keys     keyFlags
	module   moduleFlags
	istio    istioFlags
	// cache is there where the input is compiled again and again.
	cache *compiler.Cache
}

// registerReading adds the flags of every command that reads objects.
func (in *input) registerReading(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringArrayVarP(&in.paths, "file", "f", nil, "read `PATH`: a file, a folder (all *.yaml, *.yml, *.json below it)\nor - for standard input; may be repeated")
	f.StringVar(&in.bind, "bind", compiler.DefaultBind, "IP `ADDRESS` for Gateways without addresses")
	in.policies.register(f)
}

// register adds the flags to a command that writes configuration.
func (in *input) register(c *cobra.Command) {
	in.registerReading(c)
	f := c.Flags()
	f.StringVar(&in.admin, "admin", compiler.DefaultAdmin, "`ADDRESS` of Envoy's admin, or none")
	f.StringVar(&in.wasmPath, "wasm-path", "", "`PATH` at which Envoy finds limpet.wasm\n(default: that of the copy that limpet writes)")
	f.BoolVar(&in.strict, "strict", false, "refuse objects that cannot be honoured, instead of warning")
	in.keys.register(f)
}

// checkReading is a cobra argument check: arguments are further paths, so that "-f *.yaml" does what it says.
func (in *input) checkReading(c *cobra.Command, args []string) error {
	if len(in.paths) == 0 {
		return usagef("-f PATH is required; see '%s --help'", c.CommandPath())
	}
	in.paths = append(in.paths, args...)
	if _, err := netip.ParseAddr(in.bind); err != nil {
		return usagef("--bind %q: must be an IP address, such as 127.0.0.1", in.bind)
	}
	return in.policies.check()
}

// check is checkReading for all of register's flags.
func (in *input) check(c *cobra.Command, args []string) error {
	if err := in.checkReading(c, args); err != nil {
		return err
	}
	if in.admin != compiler.NoAdmin && !isAddrPort(in.admin) {
		return usagef("--admin %q: must be an IP address and a port, such as 127.0.0.1:9901, or none", in.admin)
	}
	return in.keys.check()
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

// material is all that a compilation reads.
type material struct {
	keys    policyconfig.Keys
	sources []compiler.Source
}

// read reads the input. What it says of key files goes to stderr.
func (in *input) read(stdin io.Reader, stderr io.Writer) (material, error) {
	keys, err := in.keys.load(stderr)
	if err != nil {
		return material{}, err
	}
	sources, err := readPaths(in.paths, stdin)
	return material{keys, sources}, err
}

// readPaths reads files and folders, and gives memory for what is in them.
func readPaths(paths []string, stdin io.Reader) ([]compiler.Source, error) {
	sources, err := inputfiles.Read(paths, stdin)
	size := 0
	for _, s := range sources {
		size += len(s.Data)
	}
	gctune.ForInput(size)
	return sources, err
}

// compileOptions are those of a compilation of the material.
func (in *input) compileOptions(m material, target compiler.Target, wasmPath string) compiler.Options {
	options := compiler.Options{
		Target:   target,
		Bind:     in.bind,
		Admin:    in.admin,
		WasmPath: wasmPath,
		Keys:     m.keys,
		Strict:   in.strict,
		Cache:    in.cache,
	}
	in.policies.set(&options)
	in.module.set(&options)
	in.istio.set(&options)
	return options
}

// compile reads and compiles the input; all errors come back together. The caller shows the result's warnings.
func (in *input) compile(c *cobra.Command, target compiler.Target, wasmPath string) (*compiler.Result, error) {
	m, err := in.read(c.InOrStdin(), c.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	return compiler.Compile(m.sources, in.compileOptions(m, target, wasmPath))
}
