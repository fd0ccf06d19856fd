package lower

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// lowerMirror lowers a mirror. One that leads nowhere is left out: requests go their way without it.
func (l *lowerer) lowerMirror(
	route *gateway.Route, rule int, path *field.Path, f *gatewayv1.HTTPRequestMirrorFilter,
) (m ir.Mirror, found bool) {
	if f == nil {
		return m, false
	}
	c, invalid := l.resolveChoice(
		route,
		path.Child("backendRef"),
		gatewayv1.BackendRef{BackendObjectReference: f.BackendRef},
	)
	if c.backend != nil {
		l.secureBackend(&c, route, rule, mirrorPlace)
	}
	if invalid == nil && c.backend == nil {
		return m, false // it was told why
	}
	if invalid != nil {
		invalid.Detail += ": nothing is mirrored there"
		l.rep.WarnFor(report.BackendNotFound, route, string(backend.ReasonFor(invalid)), invalid)
		return m, false
	}
	m.Parts = ir.Million
	switch {
	case f.Percent != nil:
		m.Parts = uint32(*f.Percent) * (ir.Million / 100)
	case f.Fraction != nil:
		of := int64(100)
		if f.Fraction.Denominator != nil {
			of = int64(*f.Fraction.Denominator)
		}
		m.Parts = uint32(min(int64(f.Fraction.Numerator)*ir.Million/max(of, 1), ir.Million))
	}
	if m.Parts == 0 {
		return m, false
	}
	m.Cluster = l.addSharedCluster(l.likeService(c))
	return m, true
}

// listTokenHeaders lists the headers that tokens of the rule's own sessions are in: the session's header, or the one of
// all cookies, of which Envoy can take nothing but the whole. An envelope is opened before mirrors get their copies.
func listTokenHeaders(action *ir.Route) (names []string) {
	for i := range action.Policies {
		name := cookieHeader
		p := &action.Policies[i]
		if p.Envelope {
			continue
		}
		if p.Type == policyconfig.TypeHeader {
			name = strings.ToLower(p.SessionName)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// listBackendHeaders lists the headers that single backends get, which are for them alone: they may be credentials.
func listBackendHeaders(action *ir.Route) (names []string) {
	all := []ir.HeaderEdits{action.RequestHeaders}
	for i := range action.Split {
		all = append(all, action.Split[i].RequestHeaders)
	}
	for _, edit := range all {
		for _, p := range slices.Concat(edit.Set, edit.Add) {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

const cookieHeader = "cookie"

// editMirrors removes hidden headers from mirrored requests, except for those that the rule itself sets. Where the rule
// edits the client's cookies, mirrored requests get none.
func editMirrors(action *ir.Route, rule ir.HeaderEdits, hidden []string) {
	if len(action.Mirrors) == 0 {
		return
	}
	slices.Sort(hidden)
	edit := ir.Mirror{Remove: slices.Compact(hidden)}
	edit.KeepsCookies = slices.Contains(edit.Remove, cookieHeader) && !slices.Contains(rule.Remove, cookieHeader) &&
		!slices.ContainsFunc(rule.Set, func(p ir.Pair) bool { return p.Name == cookieHeader })
	for _, p := range slices.Concat(rule.Set, rule.Add) {
		if slices.Contains(edit.Remove, p.Name) {
			edit.Add = append(edit.Add, p)
		}
	}
	for i := range action.Mirrors {
		m := &action.Mirrors[i]
		m.Remove, m.KeepsCookies, m.Add = edit.Remove, edit.KeepsCookies, edit.Add
	}
}
