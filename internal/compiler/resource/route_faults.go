package resource

import (
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/re2"
)

// findRouteFaults finds what the schema lets a route say and Envoy would not take, or take otherwise than it is meant:
// one such value makes it reject all routes of a listener. The path of a match is called otherwise in a GRPCRoute.
func findRouteFaults(r *gatewayv1.HTTPRoute, pathField string) (all []Fault) {
	for i := range r.Spec.Rules {
		rule, path := &r.Spec.Rules[i], field.NewPath("spec", "rules").Index(i)
		for j, m := range rule.Matches {
			all = append(all, findMatchFaults(path.Child("matches").Index(j), pathField, &m)...)
		}
		for j, f := range rule.Filters {
			all = append(all, findFilterFaults(path.Child("filters").Index(j), &f)...)
			all = append(all, findAuthFaults(path.Child("filters").Index(j), &f, rule.Filters[:j])...)
		}
		for j, ref := range rule.BackendRefs {
			for n, f := range ref.Filters {
				all = append(all, findFilterFaults(path.Child("backendRefs").Index(j).Child("filters").Index(n), &f)...)
			}
		}
	}
	return all
}

// findMatchFaults finds headers that are not to be matched, and regular expressions that are none, or too large.
func findMatchFaults(path *field.Path, pathField string, m *gatewayv1.HTTPRouteMatch) (all []Fault) {
	check := func(at *field.Path, expression string) {
		if why := re2.Explain(expression); why != "" {
			all = append(all, newFault(at, expression, why))
		}
	}
	if p := m.Path; p != nil && p.Type != nil && *p.Type == gatewayv1.PathMatchRegularExpression && p.Value != nil {
		check(path.Child(pathField), *p.Value)
	}
	for i, h := range m.Headers {
		if why := foreign.ExplainMatched(string(h.Name)); why != "" {
			all = append(all, newFault(path.Child("headers").Index(i).Child("name"), string(h.Name), why))
		}
		if h.Type != nil && *h.Type == gatewayv1.HeaderMatchRegularExpression {
			check(path.Child("headers").Index(i).Child("value"), h.Value)
		}
	}
	for i, q := range m.QueryParams {
		if q.Type != nil && *q.Type == gatewayv1.QueryParamMatchRegularExpression {
			check(path.Child("queryParams").Index(i).Child("value"), q.Value)
		}
	}
	return all
}

func newFault(at *field.Path, value, why string) Fault {
	return Fault{Path: at.String(), Message: fmt.Sprintf("Invalid value: %q: %s", value, why)}
}

// findFilterFaults finds changes of headers that Envoy does not make, and redirects that are none.
func findFilterFaults(path *field.Path, f *gatewayv1.HTTPRouteFilter) (all []Fault) {
	all = append(all, findModifierFaults(path.Child("requestHeaderModifier"), f.RequestHeaderModifier)...)
	all = append(all, findModifierFaults(path.Child("responseHeaderModifier"), f.ResponseHeaderModifier)...)
	if r := f.RequestRedirect; r != nil && r.StatusCode != nil && !slices.Contains(foreign.RedirectCodes, *r.StatusCode) {
		at := path.Child("requestRedirect", "statusCode")
		all = append(all, newFault(at, fmt.Sprint(*r.StatusCode), "must be the status of a redirect"))
	}
	return all
}

// findAuthFaults finds what authorization services are asked for that Envoy does not do by rule.
func findAuthFaults(path *field.Path, f *gatewayv1.HTTPRouteFilter, before []gatewayv1.HTTPRouteFilter) (all []Fault) {
	a, path := f.ExternalAuth, path.Child("externalAuth")
	if a == nil {
		return nil
	}
	if slices.ContainsFunc(before, func(b gatewayv1.HTTPRouteFilter) bool { return b.ExternalAuth != nil }) {
		all = append(all, Fault{Path: path.String(), Message: "not supported: a rule asks one authorization service"})
	}
	if g := a.GRPCAuthConfig; g != nil && len(g.AllowedRequestHeaders) > 0 {
		at := path.Child("grpc", "allowedHeaders")
		all = append(all, Fault{Path: at.String(), Message: "not supported: a service that speaks gRPC sees all headers"})
	}
	h := a.HTTPAuthConfig
	if h == nil {
		return all
	}
	if h.Path != "" && h.Path[0] != '/' {
		all = append(all, newFault(path.Child("http", "path"), h.Path, "must begin with a slash"))
	}
	for i, name := range h.AllowedRequestHeaders {
		if !isPlainName.MatchString(name) {
			at := path.Child("http", "allowedHeaders").Index(i)
			all = append(all, newFault(at, name, "must be a header's name of letters, digits and hyphens"))
		}
	}
	return all
}

// isPlainName matches the names that Envoy's formats take as they are.
var isPlainName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

func findModifierFaults(at *field.Path, m *gatewayv1.HTTPHeaderFilter) (all []Fault) {
	for _, err := range foreign.ValidateModifier(at, m) {
		all = append(all, Fault{Path: err.Field, Message: err.ErrorBody()})
	}
	return all
}
