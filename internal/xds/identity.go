package xds

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
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

// Identify says who a peer is that calls itself a node. Its error is what the peer is told.
type Identify func(ctx context.Context, from *peer.Peer, node *corev3.Node) (Identity, error)

// IdentifyByCertificate takes a peer for what its certificate says: one URI, spiffe://DOMAIN/ns/NAMESPACE/gateway/NAME.
// The node's cluster may say the same, and nothing else. Without TLS the node is believed, for who is on this machine's
// loopback or may open the server's socket; the server listens nowhere else without TLS.
func IdentifyByCertificate(domain string) Identify {
	return func(_ context.Context, from *peer.Peer, node *corev3.Node) (Identity, error) {
		claimed := node.GetCluster()
		info, secure := from.AuthInfo.(credentials.TLSInfo)
		if !secure {
			return identifyLocal(from.Addr, claimed)
		}
		if len(info.State.VerifiedChains) == 0 || len(info.State.PeerCertificates) == 0 {
			return Identity{}, errors.New("the client has no certificate")
		}
		uris := info.State.PeerCertificates[0].URIs
		if len(uris) != 1 {
			return Identity{}, fmt.Errorf("the client's certificate has %d URIs: must be one, %s",
				len(uris), FormatIdentity(domain, "NAMESPACE/NAME"))
		}
		key, err := parseIdentity(domain, uris[0])
		if err != nil {
			return Identity{}, err
		}
		if strings.Contains(claimed, "/") && claimed != key {
			return Identity{}, fmt.Errorf("the client's certificate is for Gateway %s, and its node's cluster is %q",
				key, claimed)
		}
		return Identity{Gateway: key, Name: uris[0].String()}, nil
	}
}

// IdentifyAs takes every peer for one whose resources are known: who may open the server's socket is the one that was
// started there.
func IdentifyAs(key string) Identify {
	return func(context.Context, *peer.Peer, *corev3.Node) (Identity, error) { return Identity{Gateway: key}, nil }
}

// FormatIdentity is the URI of the proxies of a Gateway.
func FormatIdentity(domain, key string) string {
	namespace, name, _ := strings.Cut(key, "/")
	return "spiffe://" + domain + "/ns/" + namespace + "/gateway/" + name
}

func parseIdentity(domain string, uri *url.URL) (key string, err error) {
	parts := strings.Split(uri.Path, "/")
	if len(parts) != 5 || parts[2] == "" || parts[4] == "" ||
		uri.String() != FormatIdentity(domain, parts[2]+"/"+parts[4]) {
		return "", fmt.Errorf("the client's certificate is for %q: must be %s", uri, FormatIdentity(domain, "NAMESPACE/NAME"))
	}
	return parts[2] + "/" + parts[4], nil
}

// Authenticate judges a peer by its connection and headers, before a message of it is read. The context that it gives
// is what Identify gets, and the namespace that of the peer's Gateway; empty where only the message tells.
type Authenticate func(ctx context.Context, from *peer.Peer) (of context.Context, namespace string, err error)

// AuthenticateByCertificate leaves the judgement to [IdentifyByCertificate], and gives the namespace of which a
// certificate says to be.
func AuthenticateByCertificate(ctx context.Context, from *peer.Peer) (of context.Context, namespace string, err error) {
	info, secure := from.AuthInfo.(credentials.TLSInfo)
	if !secure || len(info.State.VerifiedChains) == 0 || len(info.State.PeerCertificates[0].URIs) == 0 {
		return ctx, "", nil
	}
	if parts := strings.Split(info.State.PeerCertificates[0].URIs[0].Path, "/"); len(parts) == 5 {
		namespace = parts[2]
	}
	return ctx, namespace, nil
}

// maxGateway is how long a key of a Gateway is, at most.
const maxGateway = 2 * 254

func identifyLocal(from net.Addr, claimed string) (Identity, error) {
	at, err := netip.ParseAddrPort(from.String())
	if from.Network() != "unix" && (err != nil || !at.Addr().Unmap().IsLoopback()) {
		return Identity{}, errors.New("without TLS only clients on the loopback, or at a socket, are served")
	}
	namespace, name, ok := strings.Cut(claimed, "/")
	if !ok || namespace == "" || name == "" || len(claimed) > maxGateway {
		return Identity{}, fmt.Errorf("node.cluster: Invalid value: %q: must name a Gateway, as NAMESPACE/NAME", claimed)
	}
	return Identity{Gateway: claimed}, nil
}
