// Package contourapi reads Contour's kinds: an HTTPProxy becomes a route of Gateway API, and an ExtensionService stands
// for the Service that it leads to. What Gateway API has no fields for stands beside the route.
package contourapi

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// Group is the API group of the kinds.
const Group = "projectcontour.io"

// The kinds.
const (
	KindHTTPProxy        = "HTTPProxy"
	KindExtensionService = "ExtensionService"
)

// HTTPProxyFields are those that limpet carries; balancing are a LoadBalancerPolicy's.
func HTTPProxyFields(balancing support.Fields) support.Fields {
	connections := support.All("services[].name", "services[].port", "services[].weight")
	return support.Join(
		support.Under("spec.virtualhost", support.All("fqdn", "tls.passthrough", "tls.secretName",
			"authorization.extensionRef.name", "authorization.authPolicy.disabled")),
		support.Under("spec.virtualhost", corsFields()),
		support.Under(
			"spec.routes[]",
			support.Join(
				proxyServiceFields(),
				headersPolicyFields(),
				healthCheckFields(),
				retryFields(),
				pathFields(),
				support.All(
					"conditions[].prefix",
					"conditions[].exact",
					"conditions[].regex",
					"authPolicy.disabled",
					"permitInsecure",
					"timeoutPolicy.response",
				),
				support.Under("conditions[].header", valueConditionFields()),
				support.Under("conditions[].queryParameter", support.Join(valueConditionFields(), support.All("prefix", "suffix"))),
				support.Fields{"enableWebsockets": support.Ignored("is so for all routes")},
				support.Under("loadBalancerPolicy", balancing),
			),
		),
		support.Under("spec.tcpproxy", support.Join(connections, unhashedFields())),
	)
}

// HTTPProxy is what limpet reads of projectcontour.io/v1 HTTPProxy (S55).
// Every other field of it is refused as not supported.
type HTTPProxy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec HTTPProxySpec `json:"spec"`
}

// HTTPProxySpec is a virtual host and its routes.
type HTTPProxySpec struct {
	VirtualHost VirtualHost      `json:"virtualhost"`
	Routes      []HTTPProxyRoute `json:"routes"`
	// TCPProxy is for the host's connections, which are not looked into.
	TCPProxy *TCPProxy `json:"tcpproxy"`
}

// VirtualHost names the host.
type VirtualHost struct {
	// FQDN is a host name, or one with a first label "*".
	FQDN string `json:"fqdn"`
	// TLS is nil where clients may come without it.
	TLS *VirtualHostTLS `json:"tls"`
	// Authorization asks a service about all requests of the host; nil for none.
	Authorization *Authorization `json:"authorization"`
	// CORS is for all routes of the host; nil leaves it to their services.
	CORS *CORSPolicy `json:"corsPolicy"`
}

// HTTPProxyRoute sends requests that meet its conditions to services.
type HTTPProxyRoute struct {
	// Conditions have at most one on the path.
	Conditions         []HTTPProxyCondition         `json:"conditions"`
	Services           []HTTPProxyService           `json:"services"`
	LoadBalancerPolicy *HTTPProxyLoadBalancerPolicy `json:"loadBalancerPolicy"`
	// AuthPolicy says otherwise than the host's for the route.
	AuthPolicy    *AuthorizationPolicy    `json:"authPolicy"`
	TimeoutPolicy *HTTPProxyTimeoutPolicy `json:"timeoutPolicy"`
	// EnableWebsockets is so for every route.
	EnableWebsockets bool `json:"enableWebsockets"`
	// PermitInsecure answers requests without TLS too, where the host has a certificate; others are sent to https.
	PermitInsecure bool                  `json:"permitInsecure"`
	RetryPolicy    *HTTPProxyRetryPolicy `json:"retryPolicy"`
	// RequestRedirectPolicy is for a route without services.
	RequestRedirectPolicy *HTTPProxyRedirect `json:"requestRedirectPolicy"`
	PathRewritePolicy     *PathRewritePolicy `json:"pathRewritePolicy"`
	// HealthCheckPolicy is for the hosts of all of its services.
	HealthCheckPolicy *HTTPHealthCheckPolicy `json:"healthCheckPolicy"`

	HeadersPolicies `json:",inline"`
}

// HTTPProxyTimeoutPolicy limits requests: Response is a duration, or "infinity".
type HTTPProxyTimeoutPolicy struct {
	Response string `json:"response"`
}

// HTTPProxyCondition is on the path, the whole of it or how its text begins, in the middle of a segment too, or on a
// header or a parameter of the query.
type HTTPProxyCondition struct {
	Prefix         string                   `json:"prefix"`
	Exact          string                   `json:"exact"`
	Regex          string                   `json:"regex"`
	Header         *HTTPProxyValueCondition `json:"header"`
	QueryParameter *HTTPProxyValueCondition `json:"queryParameter"`
}

func (c *HTTPProxyCondition) isOnPath() bool { return c.Header == nil && c.QueryParameter == nil }

// HTTPProxyLoadBalancerPolicy has the fields of LoadBalancerPolicy but its targets.
type HTTPProxyLoadBalancerPolicy struct {
	Strategy            *v1alpha1.Strategy           `json:"strategy"`
	RequestHashPolicies []v1alpha1.RequestHashPolicy `json:"requestHashPolicies"`
}

// Validate applies the rules of Contour's CRD.
func (p *HTTPProxy) Validate() field.ErrorList {
	var errs field.ErrorList
	fqdn := field.NewPath("spec", "virtualhost", "fqdn")
	if p.Spec.VirtualHost.FQDN == "" {
		errs = append(errs, support.Lacking(field.Required(fqdn, "an HTTPProxy that others include is not supported yet")))
	} else if faults := validation.IsDNS1123Subdomain(strings.TrimPrefix(p.Spec.VirtualHost.FQDN, "*.")); len(faults) > 0 {
		errs = append(errs, field.Invalid(fqdn, p.Spec.VirtualHost.FQDN, strings.Join(faults, "; ")))
	}
	errs = append(errs, p.Spec.validateTLS()...)
	errs = append(errs, p.Spec.validateCORS(field.NewPath("spec", "virtualhost", "corsPolicy"))...)
	for i, r := range p.Spec.Routes {
		errs = append(errs, r.validate(field.NewPath("spec", "routes").Index(i))...)
	}
	return errs
}

func (r *HTTPProxyRoute) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	paths := 0
	for i := range r.Conditions {
		c := &r.Conditions[i]
		errs = append(errs, c.validate(path.Child("conditions").Index(i))...)
		if c.isOnPath() {
			paths++
		}
	}
	if paths > 1 {
		errs = append(errs, field.Invalid(path.Child("conditions"), paths, "must have at most one condition on the path"))
	}
	errs = append(errs, r.validateTimes(path)...)
	errs = append(errs, r.validatePaths(path)...)
	errs = append(errs, r.HeadersPolicies.validate(path)...)
	errs = append(errs, r.HealthCheckPolicy.validate(path.Child("healthCheckPolicy"))...)
	if r.RequestRedirectPolicy != nil {
		return errs
	}
	return append(errs, validateServices(path.Child("services"), r.Services)...)
}

// httpProxyNames are the names of an HTTPRoute's fields in an HTTPProxy, for what is reported about it.
var httpProxyNames = strings.NewReplacer(
	"spec.rules",
	"spec.routes",
	".backendRefs",
	".services",
	".matches",
	".conditions",
	"spec.hostnames",
	"spec.virtualhost.fqdn",
)

// rename gives a field of an HTTPRoute as that of an HTTPProxy which it was made of.
func (s *HTTPProxySpec) rename(path string) string {
	if _, rest, found := strings.Cut(path, ".externalAuth.backendRef"); found {
		return "spec.virtualhost.authorization.extensionRef" + rest
	}
	return httpProxyNames.Replace(renameFilter(s.renameServices(path)))
}

// Route is the HTTPRoute that does the same, or the TLSRoute in an HTTPRoute's shape. It names no parents, for Contour
// has none.
type Route struct {
	gatewayv1.HTTPRoute
	Host foreign.Host
	// Rules have, for each rule, what Gateway API has no fields for.
	Rules []foreign.Rule
	// Path writes a path of the HTTPRoute as one of the HTTPProxy.
	Path func(string) string
}

// Convert gives the route in its place.
func (p *HTTPProxy) Convert() *Route {
	spec := &p.Spec
	route := &Route{HTTPRoute: gatewayv1.HTTPRoute{TypeMeta: p.TypeMeta, ObjectMeta: p.ObjectMeta}, Path: spec.rename}
	route.Host = foreign.Host{Name: spec.VirtualHost.FQDN, TLS: spec.VirtualHost.TLS.convert(p.Namespace)}
	route.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(spec.VirtualHost.FQDN)}
	for i := range spec.Routes {
		route.Spec.Rules = append(route.Spec.Rules, spec.toRule(&spec.Routes[i]))
		route.Rules = append(route.Rules, spec.toExtra(i))
	}
	if tcp := spec.TCPProxy; tcp != nil {
		route.Kind, route.Path = object.KindTLSRoute, tcpProxyNames.Replace
		route.Spec.Rules = []gatewayv1.HTTPRouteRule{{BackendRefs: toBackendRefs(tcp.Services)}}
		route.Rules = []foreign.Rule{{Balancing: tcp.LoadBalancerPolicy.convert(field.NewPath("spec", "tcpproxy"))}}
	}
	return route
}

func (s *HTTPProxySpec) toRule(r *HTTPProxyRoute) gatewayv1.HTTPRouteRule {
	rule := gatewayv1.HTTPRouteRule{
		Matches: s.toMatches(r), BackendRefs: toBackendRefs(r.Services), Timeouts: r.toTimeouts(),
		Retry: r.RetryPolicy.toRetry(),
	}
	for _, some := range [][]gatewayv1.HTTPRouteFilter{
		s.VirtualHost.CORS.toFilters(r), s.VirtualHost.toFilters(r), r.ToFilters(), s.toPathFilters(r), toMirrors(r.Services),
	} {
		rule.Filters = append(rule.Filters, some...)
	}
	return rule
}

// toExtra gives what Gateway API has no fields for.
func (s *HTTPProxySpec) toExtra(index int) foreign.Rule {
	r, tls, at := &s.Routes[index], s.VirtualHost.TLS, field.NewPath("spec", "routes").Index(index)
	rule := foreign.Rule{
		OnlyTLS:        tls != nil && tls.SecretName != "" && s.TCPProxy == nil && !r.PermitInsecure,
		EveryCondition: true,
	}
	if r.RetryPolicy != nil {
		rule.RetryOn = r.RetryPolicy.conditions()
	}
	served, mirror := listServed(r.Services)
	for _, i := range served {
		rule.Backends = append(rule.Backends, r.Services[i].toExtra())
	}
	if mirror >= 0 {
		rule.Mirror = r.Services[mirror].toExtra()
	}
	slow, service := r.slowStart()
	if r.LoadBalancerPolicy == nil && r.HealthCheckPolicy == nil && slow == nil {
		return rule
	}
	if rule.Balancing = r.LoadBalancerPolicy.convert(at); rule.Balancing == nil {
		rule.Balancing = &foreign.Balancing{At: at.Child("loadBalancerPolicy")}
	}
	rule.Balancing.HealthCheck, rule.Balancing.SlowStart = r.HealthCheckPolicy.convert(), slow
	rule.Balancing.HealthCheckAt = at.Child("healthCheckPolicy")
	rule.Balancing.SlowStartAt = at.Child("services").Index(service).Child("slowStartPolicy")
	return rule
}

// convert gives the policy of what stands at a path; nil for none.
func (p *HTTPProxyLoadBalancerPolicy) convert(at *field.Path) *foreign.Balancing {
	if p == nil {
		return nil
	}
	spec := v1alpha1.LoadBalancerPolicySpec{Strategy: p.Strategy, RequestHashPolicies: p.RequestHashPolicies}
	return &foreign.Balancing{LoadBalancerPolicySpec: spec, At: at.Child("loadBalancerPolicy")}
}
