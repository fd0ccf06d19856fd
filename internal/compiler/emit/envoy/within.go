package envoy

import (
	"fmt"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	headertometadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_to_metadata/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// withinFilter tells the load balancer the backend of a pinned request's session, for the case that its host is lost.
const withinFilter = "envoy.filters.http.header_to_metadata"

// usesWithin reports whether sessions of some route stay in their backend.
func usesWithin(config *ir.Config) bool {
	return slices.ContainsFunc(config.Clusters, func(c ir.Cluster) bool { return c.Within })
}

// newWithinFilter reads the header that limpet sets, and takes it out of the request. It comes after limpet; what a
// client has in that header the fence takes away before.
func (e *emitter) newWithinFilter() *hcmv3.HttpFilter {
	f := e.newFilter(withinFilter, &headertometadatav3.Config{RequestRules: []*headertometadatav3.Config_Rule{{
		Header: policyconfig.BackendHeader(e.settings.Plugin.PinHeader),
		OnHeaderPresent: &headertometadatav3.Config_KeyValuePair{
			MetadataNamespace: policyconfig.SubsetMetadata, Key: policyconfig.BackendMetadataKey,
			Type: headertometadatav3.Config_STRING,
		},
		Remove: true,
	}}})
	f.Disabled = true
	return f
}

// newSubsets has a subset of hosts for each backend of the cluster. Requests that name none, or one that takes no new
// sessions, go to all of them.
func newSubsets() *clusterv3.Cluster_LbSubsetConfig {
	return &clusterv3.Cluster_LbSubsetConfig{
		FallbackPolicy: clusterv3.Cluster_LbSubsetConfig_ANY_ENDPOINT,
		SubsetSelectors: []*clusterv3.Cluster_LbSubsetConfig_LbSubsetSelector{
			{Keys: []string{policyconfig.BackendMetadataKey}},
		},
		LocalityWeightAware: true,
	}
}

// labelEndpoint puts the tag of its backend into an endpoint: for tokens in any case, and for the load balancer if the
// endpoint takes new sessions.
func labelEndpoint(to *endpointv3.LbEndpoint, p *ir.Locality, draining bool) {
	tag := &structpb.Struct{Fields: map[string]*structpb.Value{
		policyconfig.BackendMetadataKey: structpb.NewStringValue(fmt.Sprintf("%08x", p.Tag)),
	}}
	describeEndpoint(to, policyconfig.BackendMetadata, tag)
	if p.Weight > 0 && !draining {
		describeEndpoint(to, policyconfig.SubsetMetadata, tag)
	}
}
