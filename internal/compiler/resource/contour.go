package resource

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/contourapi"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// Contour's kinds. No CRDs of them are at hand, so their fields are checked here, to the effect of Contour's; unknown
// ones are refused as not supported.
var (
	httpProxyKind = newKind(definition[contourapi.HTTPProxy]{
		Traits: Traits{HasStatus: true, Describable: true},
		group:  contourapi.Group, kind: contourapi.KindHTTPProxy, versions: []string{"v1"},
		nameRule: apivalidation.NameIsDNSSubdomain,
		fields:   func() support.Fields { return contourapi.HTTPProxyFields(balancingFields()) }, loose: true,
		validate: (*contourapi.HTTPProxy).Validate, anotherPlane: true, convert: convertHTTPProxy,
	}).listedIn(listOf[gatewayv1.HTTPRoute]{of: func(o *Objects) *[]*Object[gatewayv1.HTTPRoute] { return &o.HostRoutes }})
	extensionServiceKind = newKind(definition[contourapi.ExtensionService]{
		Traits: Traits{HasStatus: true},
		group:  contourapi.Group, kind: contourapi.KindExtensionService, versions: []string{"v1alpha1"},
		nameRule: apivalidation.NameIsDNSSubdomain,
		fields:   contourapi.ExtensionServiceFields, loose: true, validate: (*contourapi.ExtensionService).Validate,
		ownProxy: true,
		list:     func(o *Objects) *[]*Object[AuthService] { return &o.AuthServices },
	})
)

// AuthService stands for a Service that the proxy itself asks.
type AuthService = contourapi.ExtensionService

func convertHTTPProxy(p *Object[contourapi.HTTPProxy], into *Objects) {
	route := p.Value.Convert()
	p.Rename(route.Path)
	o := withValue(p, &route.HTTPRoute)
	o.Host, o.RuleExtras = &route.Host, route.Rules
	into.HostRoutes = append(into.HostRoutes, o)
}

// IsAuthService reports whether objects of a kind stand for Services.
func IsAuthService(kind string) bool { return kind == contourapi.KindExtensionService }
