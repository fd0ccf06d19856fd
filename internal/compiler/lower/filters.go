package lower

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// lowerFilters lowers a rule's filters. What limpet does not support of them was found at admission: see
// gateway.FilterFault. It is false where nothing of the rule may be served, for its authorization service can't be
// asked.
func (l *lowerer) lowerFilters(route *gateway.Route, path *field.Path, index int) (f ir.Filters, served bool) {
	served = true
	for i, filter := range route.Value.Spec.Rules[index].Filters {
		switch filter.Type {
		case gatewayv1.HTTPRouteFilterRequestHeaderModifier:
			f.RequestHeaders = lowerHeaders(filter.RequestHeaderModifier)
		case gatewayv1.HTTPRouteFilterResponseHeaderModifier:
			f.ResponseHeaders = lowerHeaders(filter.ResponseHeaderModifier)
		case gatewayv1.HTTPRouteFilterRequestRedirect:
			f.Redirect = lowerRedirect(filter.RequestRedirect)
		case gatewayv1.HTTPRouteFilterURLRewrite:
			f.Rewrite = lowerRewrite(f.Rewrite, filter.URLRewrite)
		case gatewayv1.HTTPRouteFilterCORS:
			f.CORS = lowerCORS(filter.CORS)
			l.adviseOfCORS(route, path.Child("filters").Index(i), index)
		case gatewayv1.HTTPRouteFilterRequestMirror:
			at := path.Child("filters").Index(i).Child("requestMirror")
			if m, found := l.lowerMirror(route, index, at, filter.RequestMirror); found {
				f.Mirrors = append(f.Mirrors, m)
			}
		case gatewayv1.HTTPRouteFilterExternalAuth:
			at := path.Child("filters").Index(i).Child("externalAuth")
			f.Auth, served = l.lowerAuth(route, at, filter.ExternalAuth)
		}
	}
	return f, served
}

// lowerAuth lowers a filter that asks an authorization service. It is false for one that leads nowhere.
func (l *lowerer) lowerAuth(
	route *gateway.Route,
	path *field.Path,
	f *gatewayv1.HTTPExternalAuthFilter,
) (*ir.ExternalAuth, bool) {
	if f == nil {
		return nil, false
	}
	a := &ir.ExternalAuth{GRPC: f.ExternalAuthProtocol == gatewayv1.HTTPRouteExternalAuthGRPCProtocol}
	c, invalid := l.resolveTarget(
		route,
		path.Child("backendRef"),
		gatewayv1.BackendRef{BackendObjectReference: f.BackendRef},
		a.GRPC,
	)
	if invalid != nil {
		invalid.Detail += fmt.Sprintf(": every request of the rule gets %d", gateway.UnresolvedStatusCode(route))
		l.rep.WarnFor(report.BackendNotFound, route, string(backend.ReasonFor(invalid)), invalid)
	}
	if c.backend == nil {
		return nil, false
	}
	if s := l.Backends.FindAuthService(route, f.BackendRef); s != nil {
		c.balancing, a.Timeout = l.LoadBalancing.Unhashed(s.Ref()), s.Value.Timeout()
	}
	a.Cluster = l.addSharedCluster(c)
	if h := f.HTTPAuthConfig; h != nil {
		a.PathPrefix, a.ResponseHeaders = h.Path, h.AllowedResponseHeaders
		for _, name := range h.AllowedRequestHeaders {
			if name = strings.ToLower(name); !slices.Contains(alwaysAsked, name) {
				a.RequestHeaders = append(a.RequestHeaders, name)
			}
		}
	}
	if f.ForwardBody != nil {
		a.MaxBody = uint32(f.ForwardBody.MaxSize)
	}
	return a, true
}

// alwaysAsked are the headers that an authorization service gets in any case (HTTPExternalAuthFilter,
// http.allowedHeaders).
var alwaysAsked = []string{"host", "content-length", "authorization"}

// applyFilters adds a rule's filters to its action. Changes of a backend's filters come after the rule's.
func applyFilters(action *ir.Route, f ir.Filters) {
	if action.Status != 0 {
		return // nothing of the rule is served
	}
	hidden := listBackendHeaders(action)
	rule := f.RequestHeaders
	f.RequestHeaders = joinEdits(f.RequestHeaders, action.RequestHeaders)
	f.ResponseHeaders = joinEdits(f.ResponseHeaders, action.ResponseHeaders)
	f.Rewrite = rewriteHosts(action, f.Rewrite)
	if slices.ContainsFunc(action.Split, changesHeaders) {
		for i := range action.Split {
			s := &action.Split[i]
			s.RequestHeaders = joinEdits(f.RequestHeaders, s.RequestHeaders)
			s.ResponseHeaders = joinEdits(f.ResponseHeaders, s.ResponseHeaders)
		}
		f.RequestHeaders, f.ResponseHeaders = ir.HeaderEdits{}, ir.HeaderEdits{}
	}
	action.Filters = f
	editMirrors(action, rule, append(listTokenHeaders(action), hidden...))
}

// rewriteHosts returns the rule's rewrite where backends rewrite the host themselves. The rewrite of an only backend
// precedes the rule's. Where one of several backends has one, each gets its own or the rule's: Envoy would give all of
// them the rule's.
func rewriteHosts(action *ir.Route, rule *ir.Rewrite) *ir.Rewrite {
	joined := ir.Rewrite{}
	if rule != nil {
		joined = *rule
	}
	switch {
	case action.Rewrite != nil:
		joined.Host = action.Rewrite.Host
	case slices.ContainsFunc(action.Split, func(s ir.Share) bool { return s.RewriteHost != "" }):
		for i := range action.Split {
			action.Split[i].RewriteHost = cmp.Or(action.Split[i].RewriteHost, joined.Host)
		}
		joined.Host = ""
	default:
		return rule
	}
	return &joined
}

func changesHeaders(s ir.Share) bool {
	return !s.RequestHeaders.IsEmpty() || !s.ResponseHeaders.IsEmpty()
}

// edits are what the filters of a backendRef do: changes of headers, and another host.
type edits struct {
	request, response ir.HeaderEdits
	host              string
}

func (e *edits) equals(o *edits) bool {
	return equalEdits(e.request, o.request) && equalEdits(e.response, o.response) && e.host == o.host
}

// rewrite is what a route does for the only backend.
func (e *edits) rewrite() *ir.Rewrite {
	if e.host == "" {
		return nil
	}
	return &ir.Rewrite{Host: e.host}
}

// lowerBackendFilters lowers the filters of a backendRef.
func lowerBackendFilters(filters []gatewayv1.HTTPRouteFilter) (e edits) {
	for _, f := range filters {
		switch f.Type {
		case gatewayv1.HTTPRouteFilterRequestHeaderModifier:
			e.request = lowerHeaders(f.RequestHeaderModifier)
		case gatewayv1.HTTPRouteFilterResponseHeaderModifier:
			e.response = lowerHeaders(f.ResponseHeaderModifier)
		case gatewayv1.HTTPRouteFilterURLRewrite:
			if r := f.URLRewrite; r != nil && r.Hostname != nil {
				e.host = string(*r.Hostname)
			}
		}
	}
	return e
}

// lowerHeaders lowers a modifier. Of entries for one name the first counts (HTTPHeaderFilter).
func lowerHeaders(m *gatewayv1.HTTPHeaderFilter) (h ir.HeaderEdits) {
	if m == nil {
		return h
	}
	pairs := func(headers []gatewayv1.HTTPHeader) (all []ir.Pair) {
		for _, header := range headers {
			name := strings.ToLower(string(header.Name))
			if !slices.ContainsFunc(all, func(p ir.Pair) bool { return p.Name == name }) {
				all = append(all, ir.Pair{Name: name, Value: header.Value})
			}
		}
		return all
	}
	h.Set, h.Add = pairs(m.Set), pairs(m.Add)
	for _, name := range m.Remove {
		if name = strings.ToLower(name); !slices.Contains(h.Remove, name) {
			h.Remove = append(h.Remove, name)
		}
	}
	return h
}

// joinEdits makes one of two changes of headers, of which the second comes later.
func joinEdits(first, second ir.HeaderEdits) ir.HeaderEdits {
	gone := func(p ir.Pair) bool {
		return slices.Contains(second.Remove, p.Name) ||
			slices.ContainsFunc(second.Set, func(s ir.Pair) bool { return s.Name == p.Name })
	}
	joined := ir.HeaderEdits{
		Set: slices.DeleteFunc(slices.Clone(first.Set), gone), Add: slices.DeleteFunc(slices.Clone(first.Add), gone),
		Remove: slices.Clone(first.Remove),
	}
	for _, name := range second.Remove {
		if !slices.Contains(joined.Remove, name) {
			joined.Remove = append(joined.Remove, name)
		}
	}
	joined.Set, joined.Add = append(joined.Set, second.Set...), append(joined.Add, second.Add...)
	return joined
}

func equalEdits(a, b ir.HeaderEdits) bool {
	return slices.Equal(a.Remove, b.Remove) && slices.Equal(a.Set, b.Set) && slices.Equal(a.Add, b.Add)
}

// refuseSplitFilters refuses a rule whose backends change headers in ways of their own, and whose sessions make one
// cluster of them: whose turn it is shows too late.
func (l *lowerer) refuseSplitFilters(route *gateway.Route, path *field.Path, choices []choice) bool {
	for _, c := range choices {
		if c.equals(&choices[0].edits) {
			continue
		}
		l.rep.WarnForAt(report.SplitNotSupported, route, string(gatewayv1.RouteReasonUnsupportedValue),
			path.Child("backendRefs").String(), fmt.Sprintf(
				"filters of single backends are not supported where one session is for all of the rule's: every request of the "+
					"rule gets %s",
				strconv.Itoa(gateway.UnresolvedStatusCode(route)),
			))
		return true
	}
	return false
}
