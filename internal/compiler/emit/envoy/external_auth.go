package envoy

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Envoy's filter that asks an authorization service is there twice, for what a service sees of a request that speaks
// gRPC is otherwise than of one that speaks HTTP, and routes can't choose that.
const (
	grpcAuthFilter = "envoy.filters.http.ext_authz/grpc"
	httpAuthFilter = "envoy.filters.http.ext_authz/http"
)

const (
	// noService is the cluster of the service that is asked where a route names none. It is not there: nothing is let
	// through.
	noService = "no-authorization-service"
	// authTimeout is how long a service may take, in seconds.
	authTimeout = 5
)

// protectedHeaders are those that a service can't change: they are about the message and the connection, not the
// request, or the proxy itself works by them. Envoy keeps its own, and those by which routes are found. The expression
// is a small one, for an Envoy with its own limit of them would reject the listener.
const protectedHeaders = "content-length|transfer-encoding|connection|upgrade|te|x-(forwarded|limpet)-.*"

// listProtected is an expression for protectedHeaders and the pin header with its kind, whatever that is called.
func listProtected(pin string) string {
	pin = strings.ToLower(pin)
	if strings.HasPrefix(pin, "x-limpet-") {
		return protectedHeaders
	}
	return strings.Join(
		[]string{protectedHeaders, regexp.QuoteMeta(pin), regexp.QuoteMeta(policyconfig.BackendHeader(pin))},
		"|",
	)
}

// usesAuth reports whether any route asks an authorization service.
func usesAuth(config *ir.Config) bool {
	return anyRoute(config, func(r *ir.Route) bool { return r.Auth != nil })
}

// anyRoute reports whether something holds of any route.
func anyRoute(config *ir.Config, holds func(*ir.Route) bool) bool {
	has := func(h ir.Host) bool {
		return slices.ContainsFunc(h.Routes, func(r ir.Route) bool { return holds(&r) })
	}
	return slices.ContainsFunc(config.Listeners, func(l ir.Listener) bool {
		return slices.ContainsFunc(l.Hosts, has) ||
			slices.ContainsFunc(l.TLSHosts, func(t ir.TLSHost) bool { return slices.ContainsFunc(t.Hosts, has) })
	})
}

// newAuthFilters ask the services that routes name. They come before limpet: what is denied has no session, and a
// service can pin no request.
func (e *emitter) newAuthFilters() []*hcmv3.HttpFilter {
	protected := listProtected(e.settings.Plugin.PinHeader)
	var filters []*hcmv3.HttpFilter
	for _, name := range []string{grpcAuthFilter, httpAuthFilter} {
		config := &extauthzv3.ExtAuthz{
			TransportApiVersion: corev3.ApiVersion_V3, ValidateMutations: true,
			DecoderHeaderMutationRules: &mutationv3.HeaderMutationRules{
				DisallowExpression: &matcherv3.RegexMatcher{Regex: protected},
			},
		}
		if name == grpcAuthFilter {
			config.Services = &extauthzv3.ExtAuthz_GrpcService{GrpcService: newAuthGRPC(&ir.ExternalAuth{Cluster: noService})}
		} else {
			config.Services = &extauthzv3.ExtAuthz_HttpService{HttpService: newAuthHTTP(&ir.ExternalAuth{Cluster: noService})}
		}
		f := e.newFilter(name, config)
		f.Disabled = true
		filters = append(filters, f)
	}
	return filters
}

// askService turns the filter on for a route, with the service that it names.
func (e *emitter) askService(own map[string]*anypb.Any, a *ir.ExternalAuth) {
	check, name := &extauthzv3.CheckSettings{}, httpAuthFilter
	if a.GRPC {
		name, check.ServiceOverride = grpcAuthFilter, &extauthzv3.CheckSettings_GrpcService{GrpcService: newAuthGRPC(a)}
	} else {
		check.ServiceOverride = &extauthzv3.CheckSettings_HttpService{HttpService: newAuthHTTP(a)}
	}
	if a.MaxBody > 0 {
		check.WithRequestBody = &extauthzv3.BufferSettings{MaxRequestBytes: a.MaxBody}
	}
	own[name] = e.pack(
		&extauthzv3.ExtAuthzPerRoute{Override: &extauthzv3.ExtAuthzPerRoute_CheckSettings{CheckSettings: check}},
	)
}

func newAuthGRPC(a *ir.ExternalAuth) *corev3.GrpcService {
	return &corev3.GrpcService{
		Timeout:         durationpb.New(cmp.Or(a.Timeout, authTimeout*time.Second)),
		TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: a.Cluster}},
	}
}

func newAuthHTTP(a *ir.ExternalAuth) *extauthzv3.HttpService {
	return &extauthzv3.HttpService{
		ServerUri: &corev3.HttpUri{
			Uri: "http://authorization", Timeout: seconds(authTimeout), // the Host header is the client's
			HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: a.Cluster},
		},
		PathPrefix:            a.PathPrefix,
		AuthorizationRequest:  newAuthRequest(a.RequestHeaders),
		AuthorizationResponse: &extauthzv3.AuthorizationResponse{AllowedUpstreamHeaders: matchNames(a.ResponseHeaders)},
	}
}

// newAuthRequest gives a service headers of the client's besides those that it always has. Absent ones are left out.
func newAuthRequest(names []string) *extauthzv3.AuthorizationRequest {
	if len(names) == 0 {
		return nil
	}
	request := &extauthzv3.AuthorizationRequest{}
	for _, name := range names {
		request.HeadersToAdd = append(request.HeadersToAdd, &corev3.HeaderValue{Key: name, Value: "%REQ(" + name + ")%"})
	}
	return request
}

// matchNames matches headers by their names; with none, all.
func matchNames(names []string) *matcherv3.ListStringMatcher {
	if len(names) == 0 {
		return &matcherv3.ListStringMatcher{Patterns: []*matcherv3.StringMatcher{matchRegex(".*")}}
	}
	list := &matcherv3.ListStringMatcher{}
	for _, name := range names {
		list.Patterns = append(list.Patterns, &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_Exact{Exact: name}, IgnoreCase: true,
		})
	}
	return list
}
