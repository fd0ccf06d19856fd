package contourapi

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/duration"
	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// ExtensionServiceFields are those that limpet carries.
func ExtensionServiceFields() support.Fields {
	return support.Join(support.Under("spec", support.All("services[].name", "services[].port", "timeoutPolicy.response")),
		support.Fields{
			"spec.protocol":          support.Only("h2c"),
			"spec.protocolVersion":   support.Only("v3"),
			"spec.services[].weight": support.Ignored("is about several services, and limpet takes one"),
		},
		support.Under("spec", unhashedFields()))
}

// ExtensionService is what limpet reads of projectcontour.io/v1alpha1 ExtensionService.
type ExtensionService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec ExtensionServiceSpec `json:"spec"`
}

// ExtensionServiceSpec is a service that speaks gRPC, without TLS.
type ExtensionServiceSpec struct {
	// Services has one entry.
	Services           []HTTPProxyService           `json:"services"`
	Protocol           string                       `json:"protocol"`
	ProtocolVersion    string                       `json:"protocolVersion"`
	LoadBalancerPolicy *HTTPProxyLoadBalancerPolicy `json:"loadBalancerPolicy"`
	TimeoutPolicy      *HTTPProxyTimeoutPolicy      `json:"timeoutPolicy"`
}

// Timeout is how long an answer may take; 0 where nothing is said.
func (s *ExtensionService) Timeout() time.Duration {
	if s.Spec.TimeoutPolicy == nil {
		return 0
	}
	limit, _ := duration.Parse(s.Spec.TimeoutPolicy.Response) // checked
	return limit
}

// Backend is the port of the Service that it stands for, in its namespace.
func (s *ExtensionService) Backend() gatewayv1.BackendObjectReference {
	return s.Spec.Services[0].toReference()
}

// Balancing spreads what is asked over the Service's hosts; nil leaves that to others.
func (s *ExtensionService) Balancing() *foreign.Balancing {
	return s.Spec.LoadBalancerPolicy.convert(field.NewPath("spec"))
}

// Authorization asks an ExtensionService of the HTTPProxy's namespace, by Envoy's protocol.
type Authorization struct {
	ExtensionRef ExtensionRef         `json:"extensionRef"`
	AuthPolicy   *AuthorizationPolicy `json:"authPolicy"`
}

// ExtensionRef names an ExtensionService.
type ExtensionRef struct {
	Name string `json:"name"`
}

// AuthorizationPolicy says of requests whether they are asked about.
type AuthorizationPolicy struct {
	Disabled bool `json:"disabled"`
}

// Validate applies the rules of Contour's CRD.
func (s *ExtensionService) Validate() field.ErrorList {
	errs := validateServices(field.NewPath("spec", "services"), s.Spec.Services)
	if len(s.Spec.Services) > 1 {
		errs = append(errs, field.TooMany(field.NewPath("spec", "services"), len(s.Spec.Services), 1))
	}
	if t := s.Spec.TimeoutPolicy; t != nil && s.Timeout() == 0 {
		errs = append(
			errs,
			field.Invalid(field.NewPath("spec", "timeoutPolicy", "response"), t.Response, "must be a duration such as 100ms"),
		)
	}
	if s.Spec.Protocol == "" {
		const why = "without it TLS is spoken that verifies nothing, which is not supported"
		errs = append(errs, support.Lacking(field.Required(field.NewPath("spec", "protocol"), why)))
	}
	return errs
}

// toFilters gives the filter for a route that asks the host's service about its requests, if it does.
func (h *VirtualHost) toFilters(r *HTTPProxyRoute) []gatewayv1.HTTPRouteFilter {
	if h.Authorization == nil {
		return nil
	}
	policy := h.Authorization.AuthPolicy
	if r.AuthPolicy != nil {
		policy = r.AuthPolicy
	}
	if policy != nil && policy.Disabled {
		return nil
	}
	group, kind := gatewayv1.Group(Group), gatewayv1.Kind(KindExtensionService)
	return []gatewayv1.HTTPRouteFilter{{
		Type: gatewayv1.HTTPRouteFilterExternalAuth,
		ExternalAuth: &gatewayv1.HTTPExternalAuthFilter{
			ExternalAuthProtocol: gatewayv1.HTTPRouteExternalAuthGRPCProtocol,
			BackendRef: gatewayv1.BackendObjectReference{
				Group: &group, Kind: &kind, Name: gatewayv1.ObjectName(h.Authorization.ExtensionRef.Name),
			},
		},
	}}
}
