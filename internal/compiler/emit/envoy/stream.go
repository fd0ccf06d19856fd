package envoy

import (
	"strconv"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	udpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/udp/udp_proxy/v3"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// serveStream gives a listener that takes no HTTP what it does with connections, or datagrams.
func (e *emitter) serveStream(listener *listenerv3.Listener, l ir.Listener) {
	if !l.UDP {
		listener.FilterChains = []*listenerv3.FilterChain{e.newStreamChain(l, l.Stream)}
		return
	}
	listener.Address.GetSocketAddress().Protocol = corev3.SocketAddress_UDP
	listener.UdpListenerConfig = &listenerv3.UdpListenerConfig{}
	listener.ListenerFilters = []*listenerv3.ListenerFilter{{
		Name:       "envoy.filters.udp_listener.udp_proxy",
		ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: e.pack(e.newUDPProxy(l))},
	}}
}

// newStreamChain leads connections as they are to a cluster, or shares them out.
func (e *emitter) newStreamChain(l ir.Listener, s *ir.Stream) *listenerv3.FilterChain {
	proxy := &tcpproxyv3.TcpProxy{StatPrefix: statPrefix(strconv.Itoa(int(l.Port)))}
	if len(s.Split) == 0 {
		proxy.ClusterSpecifier = &tcpproxyv3.TcpProxy_Cluster{Cluster: s.Cluster}
	} else {
		shares := &tcpproxyv3.TcpProxy_WeightedCluster{}
		for _, share := range s.Split {
			shares.Clusters = append(shares.Clusters, &tcpproxyv3.TcpProxy_WeightedCluster_ClusterWeight{
				Name: share.Cluster, Weight: share.Weight,
			})
		}
		proxy.ClusterSpecifier = &tcpproxyv3.TcpProxy_WeightedClusters{WeightedClusters: shares}
	}
	return &listenerv3.FilterChain{Filters: []*listenerv3.Filter{{
		Name:       "envoy.filters.network.tcp_proxy",
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: e.pack(proxy)},
	}}}
}

// newUDPProxy leads datagrams to a cluster. Those from one address and port go to one host, as long as they come.
func (e *emitter) newUDPProxy(l ir.Listener) *udpproxyv3.UdpProxyConfig {
	route := &xdscorev3.TypedExtensionConfig{
		Name:        "route",
		TypedConfig: e.pack(&udpproxyv3.Route{Cluster: l.Stream.Cluster}),
	}
	return &udpproxyv3.UdpProxyConfig{
		StatPrefix: statPrefix(strconv.Itoa(int(l.Port))),
		RouteSpecifier: &udpproxyv3.UdpProxyConfig_Matcher{Matcher: &matcherv3.Matcher{
			OnNoMatch: &matcherv3.Matcher_OnMatch{OnMatch: &matcherv3.Matcher_OnMatch_Action{Action: route}},
		}},
	}
}
