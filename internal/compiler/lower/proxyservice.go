package lower

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// mirrorPlace stands for the mirror among a rule's backendRefs.
const mirrorPlace = -1

// secureService has a choice spoken to as the service of an HTTPProxy says that it was made of. Nothing is sent where nothing can be
// verified.
func (l *lowerer) secureService(c *choice, route *gateway.Route, rule, place int) {
	s := resource.FindService(route, rule, place)
	if s == nil {
		return
	}
	if s.Protocol != "" {
		c.http2 = s.HTTP2()
	}
	v := s.Validation
	if v == nil {
		return
	}
	authorities, why := l.BackendTLS.FindAuthorities(route.Namespace, v.CASecret)
	if why != "" {
		path := field.NewPath("spec", "rules").Index(rule)
		if place == mirrorPlace {
			path = path.Child("filters").Index(0).Child("requestMirror", "backendRef")
		} else {
			path = path.Child("backendRefs").Index(place)
		}
		l.rep.Warn(route, field.Invalid(path.Child("validation", "caSecret"), v.CASecret, why+": nothing is sent there"))
		c.backend = nil
		return
	}
	c.tls = &ir.UpstreamTLS{Authorities: authorities, ServerName: serverName(route, rule, s)}
	for _, name := range v.Names() {
		c.tls.Names = append(c.tls.Names, ir.SubjectName{Value: name})
	}
	c.validation = "/" + v.CASecret + "/" + strings.Join(v.Names(), ",") + "/" + c.tls.ServerName
	c.showClient(l.client)
}

// serverName is what is asked for: the host that requests get, the service's own before the route's; empty for nothing, as in Contour.
func serverName(route *gateway.Route, rule int, s *resource.HTTPProxyService) string {
	for _, filters := range [][]gatewayv1.HTTPRouteFilter{s.ToFilters(), route.Value.Spec.Rules[rule].Filters} {
		if e := lowerBackendFilters(filters); e.host != "" {
			return e.host
		}
	}
	return ""
}
