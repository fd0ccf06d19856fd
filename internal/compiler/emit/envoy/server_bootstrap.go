package envoy

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	internallistenerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/bootstrap/internal_listener/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/protoyaml"
)

// ServerBootstrap is what an Envoy starts from that discovers everything else from a server.
type ServerBootstrap struct {
	// Gateway is the key of the one whose proxy it is, and Node the Envoy's own name; both are empty for an Envoy that its
	// server knows without.
	Gateway, Node string
	// Server is the server's host and port, or "unix:" and the path of its socket.
	Server string
	// Modules is the host and port that the Envoy fetches limpet.wasm from; empty where it has that itself.
	Modules string
	// Admin is where the admin interface listens; the zero value is nowhere.
	Admin netip.AddrPort
	// AdminAll opens all of its pages.
	AdminAll bool
	// Traces is the host and port of a collector of traces (OTLP over gRPC, in the clear); empty for none.
	Traces string
	// TLS is nil for a server on the loopback that speaks none.
	TLS *ServerTLS
	// Ready is the address at which the server has the Envoy say that it is ready, when it has all of its first
	// configuration; the zero value is nowhere. Such an Envoy waits for the server as long as that takes, and its admin
	// interface lets it drain.
	Ready netip.AddrPort
}

// ServerTLS are the paths of the files with which an Envoy and its server know each other.
type ServerTLS struct {
	// Certificate and Key are the Envoy's. In their place it may have a Token, which it reads whenever it connects.
	Certificate, Key string
	Token            string
	// Authority has the certificates that the server's leads up to, and Name is the server's.
	Authority, Name string
}

// serverCluster is the name of the cluster that is the server.
const serverCluster = "limpet-serve"

// YAML writes the bootstrap.
func (b ServerBootstrap) YAML() ([]byte, error) {
	e := &emitter{settings: Settings{Admin: b.Admin, AdminAll: b.AdminAll}, served: true}
	out := e.newDynamicBootstrap()
	out.Node = &corev3.Node{Id: cmp.Or(b.Node, identity), Cluster: cmp.Or(b.Gateway, identity)}
	out.DynamicResources.AdsConfig = &corev3.ApiConfigSource{
		ApiType: corev3.ApiConfigSource_DELTA_GRPC, TransportApiVersion: corev3.ApiVersion_V3,
		GrpcServices: []*corev3.GrpcService{{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
			EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: serverCluster},
		}}},
	}
	clusters := map[string]string{serverCluster: b.Server, moduleCluster: b.Modules}
	if b.TLS != nil && b.TLS.Token != "" {
		out.DynamicResources.AdsConfig.GrpcServices = []*corev3.GrpcService{e.newTokenService(b.Server, *b.TLS)}
		delete(clusters, serverCluster)
	}
	b.addReadiness(out)
	for name, at := range clusters {
		if at == "" {
			continue
		}
		server, err := e.newServerCluster(name, at, b.TLS)
		if err != nil {
			return nil, err
		}
		out.StaticResources.Clusters = append(out.StaticResources.Clusters, server)
	}
	if b.Traces != "" {
		collector, err := e.newServerCluster(tracesCluster, b.Traces, nil)
		if err != nil {
			return nil, err
		}
		out.StaticResources.Clusters = append(out.StaticResources.Clusters, collector)
	}
	slices.SortFunc(out.StaticResources.Clusters, func(a, b *clusterv3.Cluster) int { return cmp.Compare(b.Name, a.Name) })
	if e.err == nil {
		e.fail(out.ValidateAll())
	}
	if e.err != nil {
		return nil, fmt.Errorf("the bootstrap is not valid: %w", e.err)
	}
	return toYAML(out, protoyaml.Placeholders{})
}

// bootstrapStatuses are the statuses that Envoy itself may have to give in the place of backends. Their listeners are
// always there, for they are in the bootstrap.
var bootstrapStatuses = []int{500, 503}

// newDynamicBootstrap is what does not change: everything but listeners, routes, clusters and the filter's
// configuration, and the listeners inside Envoy that give statuses.
func (e *emitter) newDynamicBootstrap() *bootstrapv3.Bootstrap {
	static := &bootstrapv3.Bootstrap_StaticResources{}
	for _, status := range bootstrapStatuses {
		static.Listeners = append(static.Listeners, e.newAnswerListener(status))
	}
	return &bootstrapv3.Bootstrap{
		Node:            &corev3.Node{Id: identity, Cluster: identity},
		Admin:           e.newAdmin(),
		OverloadManager: e.newOverloadManager(),
		LayeredRuntime:  newRuntime(),
		StatsConfig:     newStatsConfig(),
		StaticResources: static,
		DynamicResources: &bootstrapv3.Bootstrap_DynamicResources{
			CdsConfig: newServerSource(),
			LdsConfig: newServerSource(),
		},
		BootstrapExtensions: []*corev3.TypedExtensionConfig{
			e.packExtension("envoy.bootstrap.internal_listener", &internallistenerv3.InternalListener{}),
		},
	}
}

// newServerAddress is that of a server at a host and port, whose host has to be resolved if it is a name, or at a
// socket's path.
func newServerAddress(at string) (_ *corev3.Address, isNamed bool, _ error) {
	if path, is := strings.CutPrefix(at, "unix:"); is {
		return &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path}}}, false, nil
	}
	host, text, err := net.SplitHostPort(at)
	if err != nil {
		return nil, false, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, false, err
	}
	_, notIP := netip.ParseAddr(host)
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)},
	}}}, notIP != nil, nil
}

// newServerCluster is a cluster of limpet's server.
func (e *emitter) newServerCluster(name, at string, encryption *ServerTLS) (*clusterv3.Cluster, error) {
	address, isNamed, err := newServerAddress(at)
	if err != nil {
		return nil, err
	}
	c := &clusterv3.Cluster{
		Name:                          name,
		ConnectTimeout:                seconds(5),
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		TypedExtensionProtocolOptions: map[string]*anypb.Any{protocolOptions: e.newServerProtocol()},
		LoadAssignment: &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{{
			LbEndpoints: []*endpointv3.LbEndpoint{newEndpoint(address, false)},
		}}},
	}
	if isNamed {
		c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
	}
	if encryption != nil {
		c.TransportSocket = &corev3.TransportSocket{
			Name:       "envoy.transport_sockets.tls",
			ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: e.pack(newServerTLS(*encryption))},
		}
	}
	return c, nil
}

// newServerProtocol is HTTP/2 with pings, so that a server that vanishes without a word is missed.
func (e *emitter) newServerProtocol() *anypb.Any {
	return e.pack(&upstreamsv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstreamsv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &upstreamsv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &upstreamsv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &corev3.Http2ProtocolOptions{ConnectionKeepalive: &corev3.KeepaliveSettings{
						Interval: durationpb.New(30e9), Timeout: durationpb.New(10e9),
					}},
				},
			},
		},
	})
}

func newServerTLS(t ServerTLS) *tlsv3.UpstreamTlsContext {
	file := func(path string) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: path}}
	}
	context := &tlsv3.UpstreamTlsContext{
		Sni: t.Name,
		CommonTlsContext: &tlsv3.CommonTlsContext{
			// Envoy as a client speaks no more than 1.2 unless it is told to.
			TlsParams: &tlsv3.TlsParameters{TlsMaximumProtocolVersion: tlsv3.TlsParameters_TLSv1_3},
			ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{
				ValidationContext: &tlsv3.CertificateValidationContext{
					TrustedCa: file(t.Authority),
					MatchTypedSubjectAltNames: []*tlsv3.SubjectAltNameMatcher{{
						SanType: tlsv3.SubjectAltNameMatcher_DNS,
						Matcher: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: t.Name}},
					}},
				},
			},
		},
	}
	if t.Certificate != "" {
		context.CommonTlsContext.TlsCertificates = []*tlsv3.TlsCertificate{
			{CertificateChain: file(t.Certificate), PrivateKey: file(t.Key)},
		}
	}
	return context
}
