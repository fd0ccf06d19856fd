package resource

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// grpcRouteKind is GRPCRoute. Its objects stand among HTTPRoutes, with their own kind.
var grpcRouteKind = newKind(definition[gatewayv1.GRPCRoute]{
	group: gatewayv1.GroupName, kind: object.KindGRPCRoute, versions: []string{"v1"},
	fields: func() support.Fields {
		return routeFields(support.All("method.type", "method.service", "method.method"))
	},
	sessionPath: "spec.rules[]." + sessionKey, localFaults: true, checkUnverified: checkGRPCRoute,
	findFaults: func(r *Object[gatewayv1.GRPCRoute]) []Fault {
		return findRouteFaults(convertGRPCRoute(r).Value, "method")
	},
	convert: func(r *Object[gatewayv1.GRPCRoute], into *Objects) {
		into.Routes = append(into.Routes, convertGRPCRoute(r))
	},
})

// convertGRPCRoute gives a GRPCRoute as the HTTPRoute that matches the same requests: a gRPC call is a request for the
// path /SERVICE/METHOD (gRPC over HTTP2, "Requests"). Only the kind then tells that it wants gRPC requests alone and
// backends that speak HTTP/2. Rules and matches keep their places, so paths in reports fit the document.
func convertGRPCRoute(o *Object[gatewayv1.GRPCRoute]) *Object[gatewayv1.HTTPRoute] {
	route := &gatewayv1.HTTPRoute{TypeMeta: o.Value.TypeMeta, ObjectMeta: o.Value.ObjectMeta}
	route.Spec.CommonRouteSpec = o.Value.Spec.CommonRouteSpec
	route.Spec.Hostnames = o.Value.Spec.Hostnames
	for _, r := range o.Value.Spec.Rules {
		rule := gatewayv1.HTTPRouteRule{Name: r.Name}
		for _, m := range r.Matches {
			rule.Matches = append(rule.Matches, convertGRPCMatch(m))
		}
		for _, ref := range r.BackendRefs {
			rule.BackendRefs = append(rule.BackendRefs, gatewayv1.HTTPBackendRef{
				BackendRef: ref.BackendRef, Filters: convertGRPCFilters(ref.Filters),
			})
		}
		rule.Filters = convertGRPCFilters(r.Filters)
		route.Spec.Rules = append(route.Spec.Rules, rule)
	}
	return withValue(o, route)
}

func convertGRPCMatch(m gatewayv1.GRPCRouteMatch) gatewayv1.HTTPRouteMatch {
	match := gatewayv1.HTTPRouteMatch{Path: convertGRPCMethod(m.Method)}
	for _, h := range m.Headers {
		header := gatewayv1.HTTPHeaderMatch{Name: gatewayv1.HTTPHeaderName(h.Name), Value: h.Value}
		if h.Type != nil {
			header.Type = new(gatewayv1.HeaderMatchType)
			*header.Type = gatewayv1.HeaderMatchType(*h.Type)
		}
		match.Headers = append(match.Headers, header)
	}
	return match
}

// convertGRPCFilters gives filters as those of an HTTPRoute, in their places.
func convertGRPCFilters(filters []gatewayv1.GRPCRouteFilter) (all []gatewayv1.HTTPRouteFilter) {
	for _, f := range filters {
		all = append(all, gatewayv1.HTTPRouteFilter{
			Type: gatewayv1.HTTPRouteFilterType(f.Type), RequestHeaderModifier: f.RequestHeaderModifier,
			ResponseHeaderModifier: f.ResponseHeaderModifier, RequestMirror: f.RequestMirror, ExtensionRef: f.ExtensionRef,
		})
	}
	return all
}

// convertGRPCMethod is what a match says of the path: all of it, the service, or the method of any service.
func convertGRPCMethod(m *gatewayv1.GRPCMethodMatch) *gatewayv1.HTTPPathMatch {
	if m == nil {
		return nil
	}
	service, method := stringOrEmpty(m.Service), stringOrEmpty(m.Method)
	if m.Type != nil && *m.Type == gatewayv1.GRPCMethodMatchRegularExpression {
		return foreign.NewPathMatch(gatewayv1.PathMatchRegularExpression, "/"+groupRegex(service)+"/"+groupRegex(method))
	}
	switch {
	case service != "" && method != "":
		return foreign.NewPathMatch(gatewayv1.PathMatchExact, "/"+service+"/"+method)
	case service != "":
		return foreign.NewPathMatch(gatewayv1.PathMatchPathPrefix, "/"+service)
	case method != "":
		return foreign.NewPathMatch(gatewayv1.PathMatchRegularExpression, "/[^/]+/"+regexp.QuoteMeta(method))
	default:
		return nil
	}
}

// groupRegex makes an expression a part of a greater one; the empty one is for any name.
func groupRegex(expression string) string {
	if expression == "" {
		return "[^/]+"
	}
	return "(?:" + expression + ")"
}

func stringOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// checkGRPCRoute checks what the compiler relies on in a GRPCRoute that is said to be admitted.
func checkGRPCRoute(r *gatewayv1.GRPCRoute) (errs field.ErrorList) {
	names := map[gatewayv1.SectionName]bool{}
	for i, rule := range r.Spec.Rules {
		errs = append(errs, checkRuleName(names, field.NewPath("spec", "rules").Index(i), rule.Name)...)
		for j, ref := range rule.BackendRefs {
			errs = append(
				errs,
				checkWeight(field.NewPath("spec", "rules").Index(i).Child("backendRefs").Index(j), ref.Weight)...)
		}
	}
	return errs
}
