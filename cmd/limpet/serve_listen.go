package main

import (
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/limpet-proxy/limpet/internal/serve"
)

// checkListen refuses what is not safe for Envoys: they get keys and certificates.
func (sc *serveCommand) checkListen() error {
	encrypted := sc.tls.isOn()
	if err := sc.tls.checkFlags(sc.config.input.elsewhere); err != nil {
		return err
	}
	switch {
	case !isAddrPort(sc.listen) && !isSocket(sc.listen):
		return usagef("--listen %q: must be an IP address and a port, such as %s, or unix:PATH", sc.listen, defaultListen)
	case sc.modules.listen != "" && !isAddrPort(sc.modules.listen):
		return usagef("--wasm-listen %q: must be an IP address and a port", sc.modules.listen)
	case !encrypted && sc.modules.listen != "" && !isLoopback(sc.modules.listen):
		return usagef(
			"--wasm-listen %s: without --tls-cert, --tls-key and --tls-ca it must be a loopback address",
			sc.modules.listen,
		)
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
		return usagef(
			"--listen %s: the mode must be that of a file in octal digits, such as %#o",
			sc.listen,
			defaultSocketMode,
		)
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
