package envoy

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	proxyprotocolv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/proxy_protocol/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	earlymutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// site is a part of a listener with routes of its own: with TLS what one server name leads to, else all of it.
type site struct {
	name       string // of its routes
	serverName string // of TLS; "*" without
	port       uint16
	hosts      []ir.Host
}

func listenerName(l ir.Listener) string {
	name := fmt.Sprintf("%s%s/%d", listenerPrefix, l.Address, l.Port)
	if l.UDP {
		name += udpSuffix
	}
	return name
}

// listenerPrefix begins the names of listeners, and udpSuffix ends those of datagrams'.
const (
	listenerPrefix = "listener/"
	udpSuffix      = "/udp"
)

// ParseListenerName returns the address of the listener that has a name.
func ParseListenerName(name string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(name, listenerPrefix), udpSuffix), "/")
	return netip.ParseAddrPort(net.JoinHostPort(host, port))
}

// listSites gives a listener's sites, in order. A listener that takes no HTTP has none.
func listSites(l ir.Listener) []site {
	name := listenerName(l)
	switch {
	case l.Stream != nil:
		return nil
	case len(l.TLSHosts) == 0:
		return []site{{name, "*", l.Port, l.Hosts}}
	}
	sites := make([]site, 0, len(l.TLSHosts))
	for _, h := range l.TLSHosts {
		if h.Stream == nil {
			sites = append(sites, site{name + "/" + h.Domain, h.Domain, l.Port, h.Hosts})
		}
	}
	return sites
}

// takesRequests tells whether a listener takes HTTP, with TLS for one server name at least.
func takesRequests(l ir.Listener) bool { return len(listSites(l)) > 0 }

func (e *emitter) newListener(l ir.Listener) *listenerv3.Listener {
	listener := &listenerv3.Listener{
		Name:    listenerName(l),
		Address: newAddress(netip.AddrPortFrom(l.Address, l.Port)),
	}
	switch {
	case l.Stream != nil:
		e.serveStream(listener, l)
	case len(l.TLSHosts) > 0:
		e.serveTLS(listener, l)
	default:
		e.serveHTTP(listener, l)
	}
	return listener
}

// serveHTTP serves plain HTTP. Where trusted proxies speak the PROXY protocol, connections of other peers are closed:
// with its header they could claim any address.
func (e *emitter) serveHTTP(listener *listenerv3.Listener, l ir.Listener) {
	s := listSites(l)[0]
	listener.FilterChains = e.newTrustedChains(l.TrustedProxies, s, l.ProxyTLSPorts)
	if len(l.ProxyTLSPorts) == 0 || len(l.TrustedProxies) == 0 {
		listener.FilterChains = append(listener.FilterChains, e.newFilterChains(e.newManager(s))...)
		return
	}
	listener.ListenerFilters = []*listenerv3.ListenerFilter{{
		Name:       "envoy.filters.listener.proxy_protocol",
		ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: e.pack(&proxyprotocolv3.ProxyProtocol{})},
	}}
}

// newTrustedChains serves connections from trusted proxies. The client's address is what they add to x-forwarded-for,
// and its protocol what they say in x-forwarded-proto. Other peers are not trusted: Envoy takes the peer's own address.
// With the PROXY protocol its header says both, and the port that the client connected to stands for TLS.
func (e *emitter) newTrustedChains(proxies []netip.Prefix, s site, tlsPorts []uint32) []*listenerv3.FilterChain {
	if len(proxies) == 0 {
		return nil
	}
	manager := e.newManager(s)
	if len(tlsPorts) > 0 {
		manager.ForwardProtoConfig = &hcmv3.ForwardProtoConfig{HttpsDestinationPorts: tlsPorts}
	} else {
		manager.XffNumTrustedHops = 1
	}
	chains := e.newFilterChains(manager)
	chains[0].Name = "trusted-proxies"
	chains[0].FilterChainMatch = &listenerv3.FilterChainMatch{}
	for _, p := range proxies {
		chains[0].FilterChainMatch.DirectSourcePrefixRanges = append(chains[0].FilterChainMatch.DirectSourcePrefixRanges,
			&corev3.CidrRange{AddressPrefix: p.Addr().String(), PrefixLen: wrapperspb.UInt32(uint32(p.Bits()))})
	}
	return chains
}

// newManager serves HTTP. With an xDS server its routes come by RDS.
func (e *emitter) newManager(s site) *hcmv3.HttpConnectionManager {
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: statPrefix(strconv.Itoa(int(s.port))),
		// The client's address is the connection's: a client does not choose its x-forwarded-for.
		UseRemoteAddress: wrapperspb.Bool(true),
		// Routes match, and cookies' paths mean, what backends will see: no /cart/../admin, no /cart%2F..%2Fadmin, no
		// //cart. Envoy sends no client there: a redirect to a path that begins with two slashes leads to another host.
		NormalizePath:                wrapperspb.Bool(true),
		MergeSlashes:                 true,
		PathWithEscapedSlashesAction: hcmv3.HttpConnectionManager_UNESCAPE_AND_FORWARD,
		// Clients may not send the x-envoy- headers that direct Envoy, nor x_limpet_pin as another spelling of x-limpet-pin.
		EarlyHeaderMutationExtensions: []*corev3.TypedExtensionConfig{e.newClientHeaderRemoval()},
		CommonHttpProtocolOptions: &corev3.HttpProtocolOptions{
			HeadersWithUnderscoresAction: corev3.HttpProtocolOptions_REJECT_REQUEST,
		},
		// A client that trickles its headers does not hold the connection for ever.
		RequestHeadersTimeout: seconds(30),
		// Envoy's guide for edge proxies.
		Http2ProtocolOptions: &corev3.Http2ProtocolOptions{
			MaxConcurrentStreams:        wrapperspb.UInt32(100),
			InitialStreamWindowSize:     wrapperspb.UInt32(64 << 10),
			InitialConnectionWindowSize: wrapperspb.UInt32(1 << 20),
		},
		UpgradeConfigs: newWebsocketUpgrades(),
		HttpFilters:    e.newHTTPFilters(),
		AccessLog:      e.newAccessLogs(),
		Tracing:        e.newTracing(),
	}
	switch {
	case e.sharded[s.name]:
		e.shardRoutes(manager, e.settings.tableName(s.name))
	case e.served:
		manager.RouteSpecifier = &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
			RouteConfigName: e.settings.tableName(s.name), ConfigSource: newTablesSource(),
		}}
	default:
		manager.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{
			RouteConfig: e.newRouteConfiguration(s.name, len(s.hosts), tallyHosts(s.hosts...).Most()),
		}
	}
	return manager
}

// envoysHeaders begin the names of headers with which Envoys speak to one another: of retries, timeouts, names of
// counters.
const envoysHeaders = "x-envoy-"

// newClientHeaderRemoval removes those headers from requests, before Envoy adds its own. By default Envoy trusts those
// of every client with a private address.
func (e *emitter) newClientHeaderRemoval() *corev3.TypedExtensionConfig {
	return e.packExtension("envoy.http.early_header_mutation.header_mutation", &earlymutationv3.HeaderMutation{
		Mutations: []*mutationv3.HeaderMutation{{
			Action: &mutationv3.HeaderMutation_RemoveOnMatch_{RemoveOnMatch: &mutationv3.HeaderMutation_RemoveOnMatch{
				KeyMatcher: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: envoysHeaders}},
			}},
		}},
	})
}

// statPrefix is a part of the names of a listener's counters.
func statPrefix(port string) string { return "port-" + port }

func (e *emitter) newFilterChains(manager *hcmv3.HttpConnectionManager) []*listenerv3.FilterChain {
	return []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
		Name:       "envoy.filters.network.http_connection_manager",
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: e.pack(manager)},
	}}}}
}

// answerName is the name of the internal listener that gives a status, and of its address.
func answerName(status int) string { return fmt.Sprintf("answer-%d", status) }

// newAnswerListener answers every request with a status. It has no port: clusters reach it inside Envoy. It stands in
// for backends that can't answer, so that their share of a split goes nowhere else; its address is no ip:port,
// so that no token can ever name it.
func (e *emitter) newAnswerListener(status int) *listenerv3.Listener {
	name := answerName(status)
	everything := &routev3.Route{
		Name:   name,
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		Action: newDirectResponse(status),
	}
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix:     name,
		UpgradeConfigs: newWebsocketUpgrades(),
		HttpFilters:    []*hcmv3.HttpFilter{e.newRouter()},
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			Name:         name,
			VirtualHosts: []*routev3.VirtualHost{{Name: name, Domains: []string{"*"}, Routes: []*routev3.Route{everything}}},
		}},
	}
	return &listenerv3.Listener{
		Name: name,
		ListenerSpecifier: &listenerv3.Listener_InternalListener{
			InternalListener: &listenerv3.Listener_InternalListenerConfig{},
		},
		FilterChains: e.newFilterChains(manager),
	}
}

// newWebsocketUpgrades lets clients upgrade; without it Envoy answers 403.
func newWebsocketUpgrades() []*hcmv3.HttpConnectionManager_UpgradeConfig {
	return []*hcmv3.HttpConnectionManager_UpgradeConfig{{UpgradeType: "websocket"}}
}
