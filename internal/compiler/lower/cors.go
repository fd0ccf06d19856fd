package lower

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// adviseOfCORS says that pages are not told what they may send where a rule redirects: Envoy does that first.
func (l *lowerer) adviseOfCORS(route *gateway.Route, path *field.Path, rule int) {
	redirects := func(f gatewayv1.HTTPRouteFilter) bool { return f.RequestRedirect != nil }
	if slices.ContainsFunc(route.Value.Spec.Rules[rule].Filters, redirects) {
		l.rep.Advise(report.FilterWithoutEffect, route, path.Child("cors"),
			"has no effect: Envoy redirects requests of the rule without a look at it")
	}
}

// defaultMaxAge is how many seconds a browser remembers what it may send, where nothing is written; its schema has the
// same.
const defaultMaxAge = 5

func lowerCORS(f *gatewayv1.HTTPCORSFilter) *ir.CORS {
	if f == nil {
		return nil
	}
	c := &ir.CORS{MaxAge: int(f.MaxAge), Credentials: f.AllowCredentials != nil && *f.AllowCredentials}
	if c.MaxAge == 0 {
		c.MaxAge = defaultMaxAge
	}
	for _, o := range f.AllowOrigins {
		c.Origins = append(c.Origins, lowerOrigin(string(o)))
	}
	for _, m := range f.AllowMethods {
		c.Methods = append(c.Methods, string(m))
	}
	for _, h := range f.AllowHeaders {
		c.Headers = append(c.Headers, string(h))
	}
	for _, h := range f.ExposeHeaders {
		c.Expose = append(c.Expose, string(h))
	}
	return c
}

// lowerOrigin lowers an origin: "*" is every site, and "*." at the beginning of a host any names before the rest.
func lowerOrigin(o string) ir.Origin {
	if o == "*" {
		return ir.Origin{Regex: ".*"}
	}
	scheme, host, _ := strings.Cut(o, "://")
	rest, wild := strings.CutPrefix(host, "*.")
	if !wild {
		return ir.Origin{Exact: o}
	}
	return ir.Origin{Regex: regexp.QuoteMeta(scheme+"://") + `[^/:]+\.` + regexp.QuoteMeta(rest)}
}

// allowSessions lets pages of the sites that may send requests keep a session in a header: they read it, and send it
// back (S44).
func allowSessions(cors *ir.CORS, decided *policy.Rule) {
	if cors == nil {
		return
	}
	for _, s := range decided.Sessions {
		if p := &s.Policies[0]; p.Type == policyconfig.TypeHeader {
			cors.Allow(p.SessionName)
		}
	}
}
