package wasmimage

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
)

// guarded refuses plain HTTP, on redirects too: the registry library would by itself speak it to names and addresses
// that look private, and send credentials along.
type guarded struct {
	http.RoundTripper
	// insecure allows it to this machine.
	insecure bool
}

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && (!g.insecure || !onThisMachine(r.URL.Host)) {
		return nil, fmt.Errorf("plain HTTP to %s refused; --insecure allows it for registries on this machine", r.URL.Host)
	}
	return g.RoundTripper.RoundTrip(r)
}

// onThisMachine tells whether a host, with a port or without, is this machine's loopback interface.
func onThisMachine(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
