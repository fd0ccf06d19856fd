package istio

import (
	"maps"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	earlyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	headerstatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/header/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// sessionFilter is the name of the filter that pins, by which routes enable it.
const sessionFilter = "limpet.stateful_session"

// noRetries, as a route's conditions for retries, never holds: it is about headers, and none is named. An EnvoyFilter
// can change a retry policy and not take it away.
const noRetries = "retriable-headers"

// newEnvoyFilter patches what Istio makes for a set of proxies.
func (e *emitter) newEnvoyFilter(p *proxySet, pin string) document {
	patches := []any{
		e.newEarlyFence(pin), e.newFence(pin),
		newPatch("ROUTE_CONFIGURATION", nil, "MERGE",
			e.convertMessage(&routev3.RouteConfiguration{ResponseHeadersToRemove: []string{pin}})),
	}
	if !e.NativePin {
		patches = append(patches, e.newStatefulSession(pin))
	}
	for _, r := range p.routes {
		patches = append(patches, r.patchRoutes(e.newRoute(r, pin))...)
	}
	if !e.NativePin {
		patches = append(patches, e.patchClusters(p)...)
	}
	return e.newPatches(p, patches)
}

// patchRoutes merges a value into each of a rule's routes.
func (r *enabledRule) patchRoutes(value any) (patches []any) {
	for _, name := range r.names {
		host := map[string]any{"route": map[string]any{"name": name}}
		match := map[string]any{"routeConfiguration": map[string]any{"vhost": host}}
		patches = append(patches, newPatch("HTTP_ROUTE", match, "MERGE", value))
	}
	return patches
}

// patchClusters are the patches of the clusters with sessions.
func (e *emitter) patchClusters(p *proxySet) (patches []any) {
	hosts := map[string]bool{}
	p.noteServices(hosts)
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		match := map[string]any{"cluster": map[string]any{"service": host}}
		patches = append(patches, newPatch("CLUSTER", match, "MERGE", e.newCluster()))
	}
	return patches
}

// newPatches is the EnvoyFilter with the patches for a set of proxies.
func (e *emitter) newPatches(p *proxySet, patches []any) document {
	spec := map[string]any{"configPatches": patches}
	if p.gateway == "" {
		spec["workloadSelector"] = map[string]any{"labels": p.labels}
	} else {
		p.addSelector(spec)
	}
	return e.newDocument("networking.istio.io/v1alpha3", kindEnvoyFilter, p, spec)
}

// newPatch is one of an EnvoyFilter's. All are for the listeners, routes and clusters of gateways.
func newPatch(applyTo string, match map[string]any, operation string, value any) map[string]any {
	if match == nil {
		match = map[string]any{}
	}
	match["context"] = "GATEWAY"
	patch := map[string]any{"operation": operation, "value": value}
	return map[string]any{"applyTo": applyTo, "match": match, "patch": patch}
}

const httpManager = "envoy.filters.network.http_connection_manager"

// matchManager matches the HTTP connection manager, or a filter of it.
func matchManager(sub string) map[string]any {
	filter := map[string]any{"name": httpManager}
	if sub != "" {
		filter["subFilter"] = map[string]any{"name": sub}
	}
	return map[string]any{"listener": map[string]any{"filterChain": map[string]any{"filter": filter}}}
}

// newFence takes the pin header out of whatever clients and backends send, on every route. First in the chain, it is
// last on the way back: neither side can steer a session or learn a host's address by that header.
func (e *emitter) newFence(pin string) map[string]any {
	remove := []*mutationv3.HeaderMutation{{Action: &mutationv3.HeaderMutation_Remove{Remove: pin}}}
	filter := &hcmv3.HttpFilter{Name: "limpet.fence", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: e.pack(
		&headermutationv3.HeaderMutation{Mutations: &headermutationv3.Mutations{
			RequestMutations: remove, RequestTrailersMutations: remove,
			ResponseMutations: remove, ResponseTrailersMutations: remove,
		}},
	)}}
	return newPatch("HTTP_FILTER", matchManager(""), "INSERT_FIRST", e.convertMessage(filter))
}

// newEarlyFence takes the internal headers out of what clients send before the route is chosen: no client can choose
// its backend, not even while the filter is away. It is there without a split too: copies of one that is gone stay as
// long as nobody has taken them away.
func (e *emitter) newEarlyFence(more ...string) map[string]any {
	early := &earlyv3.HeaderMutation{}
	for _, header := range append(more, leadHeader) {
		early.Mutations = append(
			early.Mutations,
			&mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: header}},
		)
	}
	manager := &hcmv3.HttpConnectionManager{EarlyHeaderMutationExtensions: []*corev3.TypedExtensionConfig{
		{Name: "limpet.fence", TypedConfig: e.pack(early)},
	}}
	packed, err := anypb.New(manager) // a part, which is not valid by itself
	e.fail(err)
	filter := &listenerv3.Filter{Name: httpManager, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: packed}}
	return newPatch("NETWORK_FILTER", matchManager(""), "MERGE", e.convertMessage(filter))
}

// listHidden are the internal headers besides the pin that backends don't see.
func (r *enabledRule) listHidden() []string {
	if !isSplit(r.rule) {
		return nil
	}
	return []string{leadHeader}
}

// newStatefulSession sends a request to the host in the pin header and puts the host that was chosen into the response.
// Right before the router it comes after every plugin; it is off but on the routes that turn it on.
func (e *emitter) newStatefulSession(pin string) map[string]any {
	state := e.pack(&statefulsessionv3.StatefulSession{SessionState: e.newPinState(pin)})
	filter := &hcmv3.HttpFilter{
		Name: sessionFilter, Disabled: true, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: state},
	}
	return newPatch("HTTP_FILTER", matchManager("envoy.filters.http.router"), "INSERT_BEFORE", e.convertMessage(filter))
}

// newPinState says that the pin is in its header.
func (e *emitter) newPinState(pin string) *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{
		Name: "envoy.http.stateful_session.header", TypedConfig: e.pack(&headerstatev3.HeaderBasedSessionState{Name: pin}),
	}
}

// newRoute turns the session filter on and keeps the pin from the backend. A session that shall not move must not be
// tried elsewhere, for Envoy drops the pin on a retry.
func (e *emitter) newRoute(r *enabledRule, pin string) any {
	route := &routev3.Route{RequestHeadersToRemove: append([]string{pin}, r.listHidden()...)}
	if e.NativePin {
		return e.convertMessage(route)
	}
	on := &statefulsessionv3.StatefulSession{SessionState: e.newPinState(pin)}
	if r.failStatus != 0 {
		on.Strict, on.StatusOnStrictDestinationNotFound = true, uint32(r.failStatus)
		endRetries(route)
	}
	route.TypedPerFilterConfig = map[string]*anypb.Any{sessionFilter: e.pack(&statefulsessionv3.StatefulSessionPerRoute{
		Override: &statefulsessionv3.StatefulSessionPerRoute_StatefulSession{StatefulSession: on},
	})}
	return e.convertMessage(route)
}

// endRetries has requests of a route tried once.
func endRetries(route *routev3.Route) {
	route.Action = &routev3.Route_Route{Route: &routev3.RouteAction{RetryPolicy: &routev3.RetryPolicy{RetryOn: noRetries}}}
}

// newCluster lets sessions stay on hosts that drain, and keeps requests off dead hosts however few are left.
func (e *emitter) newCluster() any {
	return e.convertMessage(&clusterv3.Cluster{CommonLbConfig: &clusterv3.Cluster_CommonLbConfig{
		HealthyPanicThreshold: &typev3.Percent{},
		OverrideHostStatus: &corev3.HealthStatusSet{Statuses: []corev3.HealthStatus{
			corev3.HealthStatus_UNKNOWN, corev3.HealthStatus_HEALTHY, corev3.HealthStatus_DEGRADED, corev3.HealthStatus_DRAINING,
		}},
	}})
}
