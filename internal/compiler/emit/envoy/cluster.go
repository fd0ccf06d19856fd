package envoy

import (
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	upstreamsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

const (
	// connectTimeout bounds, in seconds, how long a session waits for a host that has vanished.
	connectTimeout = 2
	// overprovisioning, in percent, keeps each backend's share of a split what its weight says as long as one
	// in a hundred of its hosts is left. At Envoy's 140, 70/30 becomes 62/38 when half of one backend is unhealthy.
	overprovisioning = 10_000
)

// servesSessions are the states in which a host gets the requests of its sessions; draining ones get no others.
var servesSessions = []corev3.HealthStatus{
	corev3.HealthStatus_UNKNOWN, corev3.HealthStatus_HEALTHY, corev3.HealthStatus_DEGRADED, corev3.HealthStatus_DRAINING,
}

// newCluster is a cluster. With discovery its endpoints are apart from it; see newAssignment.
func (e *emitter) newCluster(c *ir.Cluster) *clusterv3.Cluster {
	lb := &clusterv3.Cluster_CommonLbConfig{
		// In panic mode, which begins at half, Envoy balances over dead hosts too.
		HealthyPanicThreshold: &typev3.Percent{Value: 0},
		OverrideHostStatus:    &corev3.HealthStatusSet{Statuses: servesSessions},
	}
	if isMerged(c) {
		lb.LocalityConfigSpecifier = &clusterv3.Cluster_CommonLbConfig_LocalityWeightedLbConfig_{
			LocalityWeightedLbConfig: &clusterv3.Cluster_CommonLbConfig_LocalityWeightedLbConfig{},
		}
	}
	out := &clusterv3.Cluster{
		Name:                 c.Name,
		ConnectTimeout:       seconds(connectTimeout),
		CommonLbConfig:       lb,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LbPolicy:             lbPolicies[c.Balancing],
		CircuitBreakers:      newCircuitBreakers(c.RetryBudget),
	}
	applyHostPolicy(out, c)
	if c.Within {
		out.LbSubsetConfig = newSubsets()
	}
	if c.IsNamed() {
		e.resolveNames(out)
	}
	switch {
	case !e.served:
		out.LoadAssignment = newAssignment(c.Acknowledged())
	case !c.IsNamed():
		out.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
		out.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: newServerSource()}
	}
	e.secure(out, c)
	if c.HTTP2 {
		out.TypedExtensionProtocolOptions = map[string]*anypb.Any{protocolOptions: e.newHTTP2Options()}
	}
	return out
}

// isMerged reports whether the cluster is of several backends, each of which is a locality.
func isMerged(c *ir.Cluster) bool { return len(c.Localities) > 1 }

// newAssignment is a cluster's endpoints.
func newAssignment(c *ir.Cluster) *endpointv3.ClusterLoadAssignment {
	assignment := &endpointv3.ClusterLoadAssignment{ClusterName: c.Name}
	if isMerged(c) {
		assignment.Policy = &endpointv3.ClusterLoadAssignment_Policy{
			OverprovisioningFactor: wrapperspb.UInt32(overprovisioning),
		}
	}
	if len(c.Localities) == 1 && slices.ContainsFunc(c.Localities[0].Endpoints, isFar) {
		return assignByZone(assignment, c)
	}
	for i, p := range c.Localities {
		l := newLocality(p, c)
		if isMerged(c) && p.TLS != nil {
			markSecure(l, len(p.Endpoints), i)
		}
		assignment.Endpoints = append(assignment.Endpoints, l)
	}
	return assignment
}

// protocolOptions is the name under which a cluster says how its hosts are spoken to; HTTP/1.1 without it.
const protocolOptions = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

// newHTTP2Options is HTTP/2 with prior knowledge.
func (e *emitter) newHTTP2Options() *anypb.Any {
	return e.pack(&upstreamsv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstreamsv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &upstreamsv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &upstreamsv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
				},
			},
		},
	})
}

// newLocality is a locality. In a merged cluster its weight is the backend's; without one it gets no new sessions.
func newLocality(p ir.Locality, of *ir.Cluster) *endpointv3.LocalityLbEndpoints {
	l := &endpointv3.LocalityLbEndpoints{}
	if isMerged(of) {
		l.Locality = &corev3.Locality{SubZone: p.Name}
		if p.Weight > 0 {
			l.LoadBalancingWeight = wrapperspb.UInt32(p.Weight)
		}
	}
	for _, host := range p.Endpoints {
		endpoint := newEndpoint(newHostAddress(host), host.Draining)
		if of.Within {
			labelEndpoint(endpoint, &p, host.Draining)
		}
		namePod(endpoint, host.Pod)
		l.LbEndpoints = append(l.LbEndpoints, endpoint)
	}
	if p.DirectStatus != 0 {
		answer := newEndpoint(newAnswerAddress(of, p.DirectStatus), false)
		if of.Hosts.HealthCheck != nil {
			answer = exemptFromChecks(answer)
		}
		l.LbEndpoints = append(l.LbEndpoints, answer)
	}
	return l
}

func newEndpoint(at *corev3.Address, draining bool) *endpointv3.LbEndpoint {
	e := &endpointv3.LbEndpoint{
		HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: at}},
	}
	if draining {
		e.HealthStatus = corev3.HealthStatus_DRAINING
	}
	return e
}

// describeEndpoint gives an endpoint metadata for one of Envoy's parts, besides what it has for others.
func describeEndpoint(e *endpointv3.LbEndpoint, reader string, fields *structpb.Struct) {
	if e.Metadata == nil {
		e.Metadata = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{}}
	}
	e.Metadata.FilterMetadata[reader] = fields
}

// newInternalAddress is the address of a listener inside Envoy.
func newInternalAddress(listener string) *corev3.Address {
	return &corev3.Address{
		Address: &corev3.Address_EnvoyInternalAddress{EnvoyInternalAddress: &corev3.EnvoyInternalAddress{
			AddressNameSpecifier: &corev3.EnvoyInternalAddress_ServerListenerName{ServerListenerName: listener},
		}},
	}
}

// listDirectStatuses lists the statuses that clusters need Envoy itself to answer.
func listDirectStatuses(config *ir.Config) []int {
	var found []int
	for _, c := range config.Clusters {
		for _, p := range c.Localities {
			if p.DirectStatus != 0 && !c.IsNamed() && !slices.Contains(found, p.DirectStatus) {
				found = append(found, p.DirectStatus)
			}
		}
	}
	slices.Sort(found)
	return found
}
