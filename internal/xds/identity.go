package xds

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// Identity is who an Envoy is.
type Identity struct {
	// Gateway is the key of the one Gateway whose resources it gets.
	Gateway string
	// Name is what its certificate or token says; empty without one.
	Name string
}

// Authenticate judges a peer by its connection and headers, before a message of it is read. It gives the namespace of
// the peer's Gateway, empty where only the message tells, and what says who the peer is once it has sent that.
type Authenticate func(ctx context.Context, from *peer.Peer) (namespace string, identify Identify, err error)

// Identify says who a peer is that calls itself a node. Its error is what the peer is told.
type Identify func(node *corev3.Node) (Identity, error)

// AuthenticateByCertificate takes a peer for what its certificate says: one URI,
// spiffe://DOMAIN/ns/NAMESPACE/gateway/NAME. The node's cluster may say the same, and nothing else. Without TLS the
// node is believed, for who is on this machine's loopback or may open the server's socket; the server listens nowhere
// else without TLS.
func AuthenticateByCertificate(domain string) Authenticate {
	return func(_ context.Context, from *peer.Peer) (namespace string, identify Identify, err error) {
		info, secure := from.AuthInfo.(credentials.TLSInfo)
		if !secure {
			return "", identifyLocal(from.Addr), nil
		}
		who, wrong := readCertificate(domain, info.State)
		namespace, _, _ = strings.Cut(who.Gateway, "/")
		return namespace, func(node *corev3.Node) (Identity, error) {
			if claimed := node.GetCluster(); wrong == nil && strings.Contains(claimed, "/") && claimed != who.Gateway {
				return Identity{}, fmt.Errorf("the client's certificate is for Gateway %s, and its node's cluster is %q",
					who.Gateway, claimed)
			}
			return who, wrong
		}, nil
	}
}

// AuthenticateAs takes every peer for one whose resources are known: who may open the server's socket is the one that
// was started there.
func AuthenticateAs(key string) Authenticate {
	return func(context.Context, *peer.Peer) (namespace string, identify Identify, err error) {
		return "", func(*corev3.Node) (Identity, error) { return Identity{Gateway: key}, nil }, nil
	}
}

// readCertificate reads what a client's certificate says.
func readCertificate(domain string, of tls.ConnectionState) (Identity, error) {
	if len(of.VerifiedChains) == 0 || len(of.PeerCertificates) == 0 {
		return Identity{}, errors.New("the client has no certificate")
	}
	uris := of.PeerCertificates[0].URIs
	if len(uris) != 1 {
		return Identity{}, fmt.Errorf("the client's certificate has %d URIs: must be one, %s",
			len(uris), FormatIdentity(domain, "NAMESPACE/NAME"))
	}
	uri, parts := uris[0].String(), strings.Split(uris[0].Path, "/")
	if len(parts) != 5 || parts[2] == "" || parts[4] == "" || uri != FormatIdentity(domain, parts[2]+"/"+parts[4]) {
		return Identity{}, fmt.Errorf("the client's certificate is for %q: must be %s",
			uri, FormatIdentity(domain, "NAMESPACE/NAME"))
	}
	return Identity{Gateway: parts[2] + "/" + parts[4], Name: uri}, nil
}

// FormatIdentity is the URI of the proxies of a Gateway.
func FormatIdentity(domain, key string) string {
	namespace, name, _ := strings.Cut(key, "/")
	return "spiffe://" + domain + "/ns/" + namespace + "/gateway/" + name
}

// maxGateway is how long a key of a Gateway is, at most.
const maxGateway = 2 * 254

func identifyLocal(from net.Addr) Identify {
	return func(node *corev3.Node) (Identity, error) {
		at, err := netip.ParseAddrPort(from.String())
		if from.Network() != "unix" && (err != nil || !at.Addr().Unmap().IsLoopback()) {
			return Identity{}, errors.New("without TLS only clients on the loopback, or at a socket, are served")
		}
		claimed := node.GetCluster()
		namespace, name, ok := strings.Cut(claimed, "/")
		if !ok || namespace == "" || name == "" || len(claimed) > maxGateway {
			return Identity{}, fmt.Errorf("node.cluster: Invalid value: %q: must name a Gateway, as NAMESPACE/NAME", claimed)
		}
		return Identity{Gateway: claimed}, nil
	}
}
