package envoy

import (
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	previoushostsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/compiler/ir"
)

// How a session leaves a host that does not answer. Envoy drops the pin on a retry.
const (
	retryOn         = "connect-failure,refused-stream,reset-before-request" // nothing that a backend may have acted on
	retries         = 3
	selectionTrials = 5 // picks of a host that was not tried yet; without them dead hosts are tried again and again
	// retryHeader asks Envoy's router to try a request again, as a route's retryOn does. Envoy takes it off requests
	// as they come in, and as they go on.
	retryHeader = "x-envoy-retry-on"
)

func (e *emitter) routeConfiguration(name string, hosts []ir.Host) *routev3.RouteConfiguration {
	config := &routev3.RouteConfiguration{
		Name: name,
		// A backend's copy of the pin header goes before the filters see the response.
		ResponseHeadersToRemove:  []string{e.settings.Plugin.PinHeader},
		IgnorePortInHostMatching: true, // HTTPRoute, spec.hostnames: a port in the Host header does not count
	}
	for _, h := range hosts {
		host := &routev3.VirtualHost{Name: h.Domain, Domains: []string{h.Domain}}
		for _, r := range h.Routes {
			host.Routes = append(host.Routes, e.route(r))
		}
		config.VirtualHosts = append(config.VirtualHosts, host)
	}
	return config
}

func (e *emitter) route(r ir.Route) *routev3.Route {
	route := &routev3.Route{Name: r.Name, Match: routeMatch(r.Match)}
	if r.Status != 0 {
		route.Action = directResponse(r.Status)
		return route
	}
	action := &routev3.RouteAction{Timeout: seconds(0), HashPolicy: hashPolicies(r.Hashes)} // none: 15 s would cut off downloads and streams
	if len(r.Split) > 0 {
		action.ClusterSpecifier = e.weighted(r.Split)
	} else {
		action.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: r.Cluster}
	}
	route.Action = &routev3.Route_Route{Route: action}
	if r.Sticky {
		e.stick(route, action, r)
	}
	return route
}

// stick turns the session filters on for a route, keeps the pin from the backend, and moves sessions off dead hosts.
func (e *emitter) stick(route *routev3.Route, action *routev3.RouteAction, r ir.Route) {
	route.TypedPerFilterConfig = map[string]*anypb.Any{limpetFilter: e.on(), sessionFilter: e.session(r.FailStatus)}
	route.RequestHeadersToRemove = []string{e.settings.Plugin.PinHeader}
	if r.FailStatus != 0 || len(r.Split) > 0 && !slices.ContainsFunc(r.Split, lax) {
		return // a session that shall not move must not be tried elsewhere: Envoy drops the pin on a retry
	}
	action.RetryPolicy = &routev3.RetryPolicy{
		NumRetries: wrapperspb.UInt32(retries),
		RetryHostPredicate: []*routev3.RetryPolicy_RetryHostPredicate{{
			Name: "envoy.retry_host_predicates.previous_hosts",
			ConfigType: &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{
				TypedConfig: e.pack(&previoushostsv3.PreviousHostsPredicate{}),
			},
		}},
		HostSelectionRetryMaxAttempts: selectionTrials,
	}
	if !slices.ContainsFunc(r.Split, strict) {
		action.RetryPolicy.RetryOn = retryOn
	} // else it says how a request is tried again, and a header of the other shares whether (see weighted)
}

// strict reports whether the sessions of a share shall not move, lax whether they may.
func strict(s ir.Share) bool { return s.FailStatus != 0 }
func lax(s ir.Share) bool    { return s.FailStatus == 0 }

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

func (e *emitter) weighted(split []ir.Share) *routev3.RouteAction_WeightedClusters {
	clusters, partly := &routev3.WeightedCluster{}, slices.ContainsFunc(split, strict)
	for _, s := range split {
		share := &routev3.WeightedCluster_ClusterWeight{Name: s.Cluster, Weight: wrapperspb.UInt32(s.Weight)}
		switch {
		case s.FailStatus != 0:
			share.TypedPerFilterConfig = map[string]*anypb.Any{sessionFilter: e.session(s.FailStatus)}
		case partly:
			share.RequestHeadersToAdd = []*corev3.HeaderValueOption{{
				Header:       &corev3.HeaderValue{Key: retryHeader, Value: retryOn},
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
