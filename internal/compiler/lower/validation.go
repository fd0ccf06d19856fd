package lower

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// mirrorPlace stands for the mirror among a rule's backendRefs.
const mirrorPlace = -1

// secureBackend has a choice spoken to as its rule says of the backendRef. Nothing is sent where nothing can be
// verified.
func (l *lowerer) secureBackend(c *choice, route *gateway.Route, rule, place int) {
	extra := route.ExtraOf(rule)
	b := extra.Mirror
	path := field.NewPath("spec", "rules").Index(rule).Child("filters").Index(0).Child("requestMirror", "backendRef")
	if place != mirrorPlace {
		b = extra.Backend(place)
		path = field.NewPath("spec", "rules").Index(rule).Child("backendRefs").Index(place)
	}
	if b.HTTP2 != nil {
		c.http2 = *b.HTTP2
	}
	v := b.Validation
	if v == nil {
		return
	}
	authorities, why := l.BackendTLS.FindAuthorities(route.Namespace, v.CASecret)
	if why != "" {
		l.rep.Warn(
			report.BackendTLS,
			route,
			field.Invalid(path.Child("validation", "caSecret"), v.CASecret, why+": nothing is sent there"),
		)
		c.backend = nil
		return
	}
	c.tls = &ir.UpstreamTLS{Authorities: authorities, ServerName: serverName(route, rule, place)}
	for _, name := range v.Names {
		c.tls.Names = append(c.tls.Names, ir.SubjectName{Value: name})
	}
	c.validation = "/" + v.CASecret + "/" + strings.Join(v.Names, ",") + "/" + c.tls.ServerName
	c.showClient(l.client)
}

// serverName is what is asked for: the host that requests get, the backendRef's own before the rule's; empty for
// nothing.
func serverName(route *gateway.Route, index, place int) string {
	rule := &route.Value.Spec.Rules[index]
	var own []gatewayv1.HTTPRouteFilter
	if place != mirrorPlace {
		own = rule.BackendRefs[place].Filters
	}
	for _, filters := range [][]gatewayv1.HTTPRouteFilter{own, rule.Filters} {
		if e := lowerBackendFilters(filters); e.host != "" {
			return e.host
		}
	}
	return ""
}
