package envoy

import (
	"net/netip"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	caresv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// resolveNames has Envoy resolve a cluster's names. Each address is a host (STRICT_DNS), so that sessions are with an
// address as everywhere, and end with it; with LOGICAL_DNS there would be one host whose address changes. Names are
// taken as they stand: the search list of the machine's resolv.conf would lead short ones into the cluster.
func (e *emitter) resolveNames(c *clusterv3.Cluster) {
	c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
	c.DnsLookupFamily = clusterv3.Cluster_V4_PREFERRED
	c.RespectDnsTtl = true //nolint:staticcheck // what comes after it is another type of cluster, envoy.clusters.dns
	c.TypedDnsResolverConfig = e.packExtension("envoy.network.dns_resolver.cares", &caresv3.CaresDnsResolverConfig{
		DnsResolverOptions: &corev3.DnsResolverOptions{NoDefaultSearchDomain: true},
	})
}

// newHostAddress is where a host is, or the name that has its addresses.
func newHostAddress(host ir.Endpoint) *corev3.Address {
	if host.Host == "" {
		return newAddress(host.Address)
	}
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address:       host.Host,
		PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(host.Address.Port())},
	}}}
}

// closedPort is where nothing listens (RFC 863): connections there fail, and their requests get 503.
var closedPort = netip.MustParseAddrPort("127.0.0.1:9")

// newAnswerAddress is where requests go that get a status: a listener inside Envoy. Where names are resolved, hosts
// have addresses and names alone, and what should get another status gets 503.
func newAnswerAddress(c *ir.Cluster, status int) *corev3.Address {
	if c.IsNamed() {
		return newAddress(closedPort)
	}
	return newInternalAddress(answerName(status))
}
