package main

import (
	"net"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/serve"
)

const bootstrapHelp = `bootstrap prints what an Envoy starts from that 'limpet serve' configures. It names
the Gateway whose proxy the Envoy is, and where the server is; everything else
comes from there, and changes while the Envoy runs.

With --tls-cert, --tls-key and --tls-ca the connection is encrypted and both sides
know each other; the certificate's only URI must be
spiffe://DOMAIN/ns/NAMESPACE/gateway/NAME. Paths are those of the machine that
the Envoy runs on.

With --token-file and --tls-ca the Envoy shows a token of the Gateway's service
account instead of a certificate (--token-audience of limpet serve). It reads
the file whenever it connects, so that a token that was renewed is shown.

The signing keys come from the environment of the Envoy (LIMPET_KEYS), or from the
server ('limpet serve --keys FILE'), sealed under the root secret in LIMPET_ROOT.`

const bootstrapExamples = `  limpet bootstrap --gateway default/public > envoy.yaml
  LIMPET_KEYS="$(limpet keygen)" envoy -c envoy.yaml

  limpet bootstrap --gateway default/public --server limpet.example:18000 \
    --tls-cert /etc/limpet/tls.crt --tls-key /etc/limpet/tls.key --tls-ca /etc/limpet/ca.crt

  limpet bootstrap --gateway default/public --server limpet.limpet-system:18000 \
    --token-file /var/run/secrets/limpet/token --tls-ca /etc/limpet/ca.crt`

// bootstrapCommand is "limpet bootstrap".
type bootstrapCommand struct {
	gateway, server string
	modules         string
	admin           adminFlag
	tls             envoy.ServerTLS
}

func newBootstrap() *cobra.Command {
	var bc bootstrapCommand
	c := &cobra.Command{
		Use:     "bootstrap --gateway NAMESPACE/NAME [--server ADDRESS]",
		Short:   "Print the bootstrap of an Envoy for 'limpet serve'",
		Long:    bootstrapHelp,
		Example: bootstrapExamples,
		Args:    bc.checkFlags,
		RunE:    func(c *cobra.Command, _ []string) error { return bc.run(c) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&bc.gateway, "gateway", "", "`NAMESPACE/NAME` of the Gateway; required")
	flags.StringVar(&bc.server, "server", defaultListen, "`HOST:PORT` of limpet serve, or unix:PATH of its socket")
	flags.StringVar(
		&bc.modules,
		"wasm-server",
		"",
		"`HOST:PORT` that the Envoy fetches limpet.wasm from (--wasm-listen of limpet serve)",
	)
	bc.admin.register(flags)
	flags.StringVar(&bc.tls.Certificate, "tls-cert", "", "`FILE` with the Envoy's certificate chain")
	flags.StringVar(&bc.tls.Key, "tls-key", "", "`FILE` with its private key")
	flags.StringVar(
		&bc.tls.Token,
		"token-file",
		"",
		"`FILE` with a token of the Gateway's service account, in place of those two",
	)
	flags.StringVar(&bc.tls.Authority, "tls-ca", "", "`FILE` with the authorities that sign the server's certificate")
	flags.StringVar(&bc.tls.Name, "server-name", "", "the DNS `NAME` in that (default: the host of --server)")
	return c
}

// checkFlags refuses a wrong command line.
func (bc *bootstrapCommand) checkFlags(c *cobra.Command, args []string) error {
	if err := noArgs(c, args); err != nil {
		return err
	}
	namespace, name, _ := strings.Cut(bc.gateway, "/")
	if len(validation.IsDNS1123Label(namespace))+len(validation.IsDNS1123Subdomain(name)) > 0 {
		return usagef("--gateway %q: must name a Gateway, as NAMESPACE/NAME", bc.gateway)
	}
	if err := bc.admin.checkFlags(); err != nil {
		return err
	}
	return bc.checkServer()
}

// checkServer refuses an invalid address, and one at which Envoy and server could not authenticate each other.
func (bc *bootstrapCommand) checkServer() error {
	given := bc.tls.Authority != "" && (bc.tls.Certificate != "" && bc.tls.Key != "" || bc.tls.Token != "")
	some := bc.tls.Certificate+bc.tls.Key+bc.tls.Authority+bc.tls.Token != ""
	if err := bc.checkToken(); err != nil {
		return err
	}
	switch {
	case isSocket(bc.server):
		return bc.checkSocket(some)
	case !isHostPort(bc.server):
		return usagef("--server %q: must be a host and a port, such as %s, or unix:PATH", bc.server, defaultListen)
	case some && !given:
		return usagef("--tls-cert, --tls-key and --tls-ca belong together: name all three")
	case !given && !isLoopback(bc.server):
		return usagef("--server %s: without --tls-cert, --tls-key and --tls-ca it must be a loopback address", bc.server)
	}
	if given && bc.tls.Name == "" {
		bc.tls.Name, _, _ = net.SplitHostPort(bc.server)
	}
	return bc.checkModules(given)
}

// checkToken is checkServer for a token, which takes the place of a certificate.
func (bc *bootstrapCommand) checkToken() error {
	switch {
	case bc.tls.Token != "" && bc.tls.Certificate+bc.tls.Key != "":
		return usagef("--token-file and --tls-cert, --tls-key exclude each other")
	case bc.tls.Token != "" && bc.tls.Authority == "":
		return usagef("--token-file needs --tls-ca: a token is not shown to a stranger")
	}
	return nil
}

// checkSocket is checkServer for the path of a socket.
func (bc *bootstrapCommand) checkSocket(encrypted bool) error {
	path, _ := serve.SocketPath(bc.server)
	switch err := serve.CheckSocketPath(path); {
	case err != nil:
		return usagef("--server: %v", err)
	case !filepath.IsAbs(path):
		return usagef("--server %s: must be an absolute path, for Envoy may start in any folder", bc.server)
	case encrypted:
		return usagef(
			"--server %s: a socket speaks no TLS: leave --tls-cert, --tls-key, --tls-ca and --token-file out",
			bc.server,
		)
	}
	return bc.checkModules(false)
}

// checkModules is checkServer for the server that has limpet.wasm, if there is one.
func (bc *bootstrapCommand) checkModules(encrypted bool) error {
	switch {
	case bc.modules == "":
		return nil
	case !isHostPort(bc.modules):
		return usagef("--wasm-server %q: must be a host and a port", bc.modules)
	case !encrypted && !isLoopback(bc.modules):
		return usagef(
			"--wasm-server %s: without --tls-cert, --tls-key and --tls-ca it must be a loopback address",
			bc.modules,
		)
	}
	return nil
}

func (bc *bootstrapCommand) run(c *cobra.Command) error {
	b := envoy.ServerBootstrap{Gateway: bc.gateway, Node: bc.gateway, Server: bc.server, Modules: bc.modules}
	bc.admin.set(&b)
	if bc.tls.Authority != "" {
		for _, path := range []*string{&bc.tls.Certificate, &bc.tls.Key, &bc.tls.Authority, &bc.tls.Token} {
			if *path == "" {
				continue
			}
			absolute, err := filepath.Abs(*path)
			if err != nil {
				return err
			}
			*path = absolute
		}
		b.TLS = &bc.tls
	}
	text, err := b.YAML()
	return writeMade(c.OutOrStdout(), text, err)
}
