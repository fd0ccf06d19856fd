package envoy

import (
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

func (e *emitter) routeConfiguration(name string, hosts []ir.Host) *routev3.RouteConfiguration {
	config := &routev3.RouteConfiguration{
		Name: name,
		// No backend sees the pin header, be it limpet's or a client's, and a backend's copy goes before the filters see the
		// response.
		RequestHeadersToRemove:   []string{e.settings.Plugin.PinHeader},
		ResponseHeadersToRemove:  []string{e.settings.Plugin.PinHeader},
		IgnorePortInHostMatching: true, // HTTPRoute, spec.hostnames: a port in the Host header does not count
	}
	if len(hosts) > 0 {
		config.VirtualHosts = []*routev3.VirtualHost{e.gaps.leave(name, hosts)}
	}
	return config
}

func (e *emitter) virtualHost(h *ir.Host) *routev3.VirtualHost {
	host := &routev3.VirtualHost{Name: h.Domain, Domains: []string{h.Domain}}
	for _, r := range h.Routes {
		host.Routes = append(host.Routes, e.route(r))
	}
	return host
}

func (e *emitter) route(r ir.Route) *routev3.Route {
	route := &routev3.Route{Name: r.Name, Match: routeMatch(r.Match)}
	if r.Status != 0 {
		route.Action = directResponse(r.Status)
		return route
	}
	action := &routev3.RouteAction{
		Timeout:     durationpb.New(r.Timeout), // 0 is none; Envoy's default of 15 s would cut off downloads and streams
		HashPolicy:  hashPolicies(r.Hashes),
		RetryPolicy: e.retryPolicy(r),
	}
	if len(r.Split) > 0 {
		action.ClusterSpecifier = e.weighted(r)
	} else {
		action.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: r.Cluster}
	}
	route.Action = &routev3.Route_Route{Route: action}
	if r.Sticky {
		e.stick(route, r)
	}
	return route
}

// stick turns the session filters on for a route.
func (e *emitter) stick(route *routev3.Route, r ir.Route) {
	route.TypedPerFilterConfig = map[string]*anypb.Any{
		fenceFilter: e.on(), limpetFilter: e.on(), sessionFilter: e.session(r.FailStatus),
	}
}

// on switches a filter on as it is configured in the chain.
func (e *emitter) on() *anypb.Any { return e.pack(&routev3.FilterConfig{Config: &anypb.Any{}}) }

// session switches Envoy's session filter on. With a status it is strict: a session whose host is gone or unhealthy
// gets that.
func (e *emitter) session(failStatus int) *anypb.Any {
	if failStatus == 0 {
		return e.on()
	}
	return e.pack(&statefulsessionv3.StatefulSessionPerRoute{Override: &statefulsessionv3.StatefulSessionPerRoute_StatefulSession{
		StatefulSession: &statefulsessionv3.StatefulSession{
			SessionState: e.pinState(), Strict: true, StatusOnStrictDestinationNotFound: uint32(failStatus),
		},
	}})
}

func (e *emitter) weighted(r ir.Route) *routev3.RouteAction_WeightedClusters {
	clusters, partly := &routev3.WeightedCluster{}, triesAgain(r) && slices.ContainsFunc(r.Split, strict)
	for _, s := range r.Split {
		share := &routev3.WeightedCluster_ClusterWeight{Name: s.Cluster, Weight: wrapperspb.UInt32(s.Weight)}
		switch {
		case strict(s):
			share.TypedPerFilterConfig = map[string]*anypb.Any{sessionFilter: e.session(s.FailStatus)}
		case partly:
			share.RequestHeadersToAdd = []*corev3.HeaderValueOption{{
				Header:       &corev3.HeaderValue{Key: retryHeader, Value: retryOn(r.Retry)},
				AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
			}}
		}
		clusters.Clusters = append(clusters.Clusters, share)
	}
	return &routev3.RouteAction_WeightedClusters{WeightedClusters: clusters}
}

func directResponse(status int) *routev3.Route_DirectResponse {
	return &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: uint32(status)}}
}

func routeMatch(m ir.Match) *routev3.RouteMatch {
	match := &routev3.RouteMatch{}
	if m.GRPC {
		match.Grpc = &routev3.RouteMatch_GrpcRouteMatchOptions{}
	}
	switch {
	case m.Regex != "":
		match.PathSpecifier = &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: m.Regex}}
	case m.Exact:
		match.PathSpecifier = &routev3.RouteMatch_Path{Path: m.Path}
	case m.Path == "/":
		match.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: "/"}
	default:
		match.PathSpecifier = &routev3.RouteMatch_PathSeparatedPrefix{PathSeparatedPrefix: m.Path}
	}
	if m.Method != "" {
		match.Headers = append(match.Headers, headerMatch(":method", m.Method))
	}
	for _, h := range m.Headers {
		match.Headers = append(match.Headers, headerMatch(h.Name, h.Value))
	}
	for _, q := range m.Query {
		match.QueryParameters = append(match.QueryParameters, &routev3.QueryParameterMatcher{
			Name:                         q.Name,
			QueryParameterMatchSpecifier: &routev3.QueryParameterMatcher_StringMatch{StringMatch: exactly(q.Value)},
		})
	}
	return match
}

func headerMatch(name, value string) *routev3.HeaderMatcher {
	return &routev3.HeaderMatcher{
		Name:                 name,
		HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: exactly(value)},
	}
}

func exactly(value string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: value}}
}
