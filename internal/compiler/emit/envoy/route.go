package envoy

import (
	"fmt"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// newRouteConfiguration is what a site leads to. Its virtual hosts are those that newVirtualHost makes. It turns the
// session filters on for all routes that say nothing else if most of them have sessions.
func (e *emitter) newRouteConfiguration(siteName string, hosts int, sessions bool) *routev3.RouteConfiguration {
	config := &routev3.RouteConfiguration{
		Name: siteName,
		// No backend sees the pin header, be it limpet's or a client's, and a backend's copy goes before the filters see the
		// response.
		RequestHeadersToRemove:   e.listHiddenHeaders(),
		ResponseHeadersToRemove:  []string{e.settings.Plugin.PinHeader},
		IgnorePortInHostMatching: true, // HTTPRoute, spec.hostnames: a port in the Host header does not count
	}
	if sessions {
		config.TypedPerFilterConfig = map[string]*anypb.Any{}
		e.setEach(config.TypedPerFilterConfig, e.enableFilter())
	}
	if hosts > 0 {
		config.VirtualHosts = []*routev3.VirtualHost{newPlaceholderHost(siteName)}
	}
	return config
}

// setEach gives each of the filters that make sessions what a route says of it.
func (e *emitter) setEach(of map[string]*anypb.Any, to *anypb.Any) {
	if e.settings.Native {
		of[nativeFilter] = to
		return
	}
	of[fenceFilter], of[wasmFilter], of[sessionFilter] = to, to, to
}

// listHiddenHeaders are those that neither backends nor mirrors see. Where they mean nothing here, they may mean
// something to another proxy with limpet.wasm behind this one.
func (e *emitter) listHiddenHeaders() []string {
	hidden := []string{e.settings.Plugin.PinHeader, policyconfig.BackendHeader(e.settings.Plugin.PinHeader)}
	if e.settings.Plugin.DebugTickets {
		hidden = append(hidden, policyconfig.TicketHeader)
	}
	if e.settings.ShardModule != "" {
		hidden = append(hidden, policyconfig.ShardHeader)
	}
	return hidden
}

// Tally says how many of a table's routes have sessions. If they are more than half of all, the route configuration
// turns the session filters on and the others turn them off, else those with sessions turn them on: what routes say of
// filters is what a table costs Envoy most, whenever one of its routes changes.
type Tally struct{ Sessions, Routes int }

// Most reports whether more than half of the routes have sessions.
func (t Tally) Most() bool { return 2*t.Sessions > t.Routes }

func tallyHosts(hosts ...ir.Host) (t Tally) {
	for _, h := range hosts {
		t.Routes += len(h.Routes)
		for i := range h.Routes {
			if h.Routes[i].Sticky {
				t.Sessions++
			}
		}
	}
	return t
}

func (e *emitter) newVirtualHost(h *ir.Host) *routev3.VirtualHost {
	host := &routev3.VirtualHost{Name: h.Domain, RetryPolicy: e.newHostRetryPolicy(h)}
	host.Domains = append([]string{h.Domain}, h.Others...)
	for i := range h.Routes {
		route := e.newRoute(&h.Routes[i])
		if host.RetryPolicy != nil {
			completeRetryPolicy(route.GetRoute(), &h.Routes[i])
		}
		host.Routes = append(host.Routes, route)
	}
	return host
}

func (e *emitter) newRoute(r *ir.Route) *routev3.Route {
	route := &routev3.Route{Name: r.Name, Match: newRouteMatch(r.Match)}
	e.applyFilters(route, r)
	e.switchSessions(route, r)
	switch {
	case r.Status != 0:
		route.Action = newDirectResponse(r.Status)
		return route
	case r.Redirect != nil:
		route.Action = newRedirect(r)
		return route
	}
	action := &routev3.RouteAction{
		Timeout:     durationpb.New(r.Timeout), // 0 is none; Envoy's default of 15 s would cut off downloads and streams
		HashPolicy:  newHashPolicies(r.Hashes),
		RetryPolicy: e.newRetryPolicy(r),
	}
	if again := e.splitConditions(r); again.unpinned != "" && action.RetryPolicy.GetRetryOn() != "" {
		route.RequestHeadersToAdd = append(route.RequestHeadersToAdd, e.newRetryHeader("", again.unpinned))
	}
	applyRewrite(action, r)
	action.RequestMirrorPolicies = e.newMirrors(r)
	if len(r.Split) > 0 {
		action.ClusterSpecifier = e.newWeightedClusters(r)
	} else {
		action.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: r.Cluster}
	}
	route.Action = &routev3.Route_Route{Route: action}
	if r.Sticky {
		e.carryPolicies(route, r)
	}
	return route
}

// switchSessions turns the session filters on for a route with sessions, and off for others, where the route
// configuration does not do so.
func (e *emitter) switchSessions(route *routev3.Route, r *ir.Route) {
	own := route.TypedPerFilterConfig
	if own == nil {
		own = map[string]*anypb.Any{}
	}
	switch {
	case r.Sticky && !e.sessions:
		e.setEach(own, e.enableFilter())
	case !r.Sticky && e.sessions:
		e.setEach(own, e.disableFilter())
	}
	if r.Sticky && r.FailStatus != 0 && !e.settings.Native {
		own[sessionFilter] = e.enableSession(r.FailStatus)
	}
	if r.Within && !e.settings.Native {
		own[withinFilter] = e.enableFilter()
	}
	if len(own) > 0 {
		route.TypedPerFilterConfig = own
	}
}

// carryPolicies puts the policies of a route into its metadata, which no client has a part in, and their identity into
// its name, which the filter reads in any case.
func (e *emitter) carryPolicies(route *routev3.Route, r *ir.Route) {
	if !slices.ContainsFunc(r.Policies, func(p policyconfig.Policy) bool { return slices.Contains(p.Routes, r.Name) }) {
		return
	}
	name, text, err := policyconfig.WriteRoute(r.Name, r.Policies, e.settings.Plugin.PinHeader)
	if err != nil {
		e.fail(fmt.Errorf("the session policies of route %s: %w", r.Name, err))
		return
	}
	route.Name, route.Metadata = name, newPolicyMetadata(text)
}

func newPolicyMetadata(text string) *corev3.Metadata {
	return &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{policyconfig.RouteMetadata: {
		Fields: map[string]*structpb.Value{policyconfig.RouteField: structpb.NewStringValue(text)},
	}}}
}

// enableFilter switches a filter on as it is configured in the chain.
func (e *emitter) enableFilter() *anypb.Any {
	return e.pack(&routev3.FilterConfig{Config: &anypb.Any{}})
}

// disableFilter switches a filter off.
func (e *emitter) disableFilter() *anypb.Any { return e.pack(&routev3.FilterConfig{Disabled: true}) }

// enableSession switches Envoy's session filter on. With a status it is strict: a session whose host is gone or
// unhealthy gets that.
func (e *emitter) enableSession(failStatus int) *anypb.Any {
	if failStatus == 0 {
		return e.enableFilter()
	}
	return e.pack(
		&statefulsessionv3.StatefulSessionPerRoute{Override: &statefulsessionv3.StatefulSessionPerRoute_StatefulSession{
			StatefulSession: &statefulsessionv3.StatefulSession{
				SessionState: e.newPinState(), Strict: true, StatusOnStrictDestinationNotFound: uint32(failStatus),
			},
		}},
	)
}

// failSessions has sessions of a share fail with their host. The native filter does so by their policy.
func (e *emitter) failSessions(status int) map[string]*anypb.Any {
	if e.settings.Native {
		return nil
	}
	return map[string]*anypb.Any{sessionFilter: e.enableSession(status)}
}

func (e *emitter) newWeightedClusters(r *ir.Route) *routev3.RouteAction_WeightedClusters {
	clusters, partly := &routev3.WeightedCluster{}, triesAgain(r) && slices.ContainsFunc(r.Split, failsWithHost)
	for _, s := range r.Split {
		share := &routev3.WeightedCluster_ClusterWeight{
			Name: s.Cluster, Weight: wrapperspb.UInt32(s.Weight),
			RequestHeadersToRemove: s.RequestHeaders.Remove, RequestHeadersToAdd: newHeaderOptions(&s.RequestHeaders),
			ResponseHeadersToRemove: s.ResponseHeaders.Remove, ResponseHeadersToAdd: newHeaderOptions(&s.ResponseHeaders),
		}
		if s.RewriteHost != "" {
			share.HostRewriteSpecifier = &routev3.WeightedCluster_ClusterWeight_HostRewriteLiteral{
				HostRewriteLiteral: s.RewriteHost,
			}
		}
		switch {
		case failsWithHost(s):
			share.TypedPerFilterConfig = e.failSessions(s.FailStatus)
		case partly:
			again := e.splitConditions(r)
			all := strings.Trim(again.policy+","+again.unpinned, ",")
			share.RequestHeadersToAdd = append(share.RequestHeadersToAdd, e.newRetryHeader(again.policy, all))
		}
		clusters.Clusters = append(clusters.Clusters, share)
	}
	return &routev3.RouteAction_WeightedClusters{WeightedClusters: clusters}
}

func newDirectResponse(status int) *routev3.Route_DirectResponse {
	return &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: uint32(status)}}
}

// rootPath is "/" as Envoy leaves it: where it merges slashes, two remain of a path that has nothing else.
const rootPath = "//?"

func newRouteMatch(m ir.Match) *routev3.RouteMatch {
	match := &routev3.RouteMatch{}
	if m.GRPC {
		match.Grpc = &routev3.RouteMatch_GrpcRouteMatchOptions{}
	}
	switch {
	case m.Regex != "":
		match.PathSpecifier = &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: m.Regex}}
	case m.Exact && m.Path == "/":
		match.PathSpecifier = &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: rootPath}}
	case m.Exact:
		match.PathSpecifier = &routev3.RouteMatch_Path{Path: m.Path}
	case m.Path == "/":
		match.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: "/"}
	default:
		match.PathSpecifier = &routev3.RouteMatch_PathSeparatedPrefix{PathSeparatedPrefix: m.Path}
	}
	if m.Method != "" {
		match.Headers = append(match.Headers, newHeaderMatch(ir.ValueMatch{Name: ":method", Value: m.Method}))
	}
	for _, h := range m.Headers {
		match.Headers = append(match.Headers, newHeaderMatch(h))
	}
	for _, q := range m.Query {
		match.QueryParameters = append(match.QueryParameters, &routev3.QueryParameterMatcher{
			Name:                         q.Name,
			QueryParameterMatchSpecifier: &routev3.QueryParameterMatcher_StringMatch{StringMatch: matchValue(q)},
		})
	}
	return match
}

func newHeaderMatch(m ir.ValueMatch) *routev3.HeaderMatcher {
	return &routev3.HeaderMatcher{
		Name:                 m.Name,
		HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: matchValue(m)},
	}
}

func matchValue(m ir.ValueMatch) *matcherv3.StringMatcher {
	if m.Regex {
		return matchRegex(m.Value)
	}
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: m.Value}}
}

func matchRegex(expression string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{
		SafeRegex: &matcherv3.RegexMatcher{Regex: expression},
	}}
}
