package resource

import (
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// httpProxyKind is Contour's kind of route. No CRD of it is at hand, so its few fields are checked here, to the effect of
// Contour's; unknown ones are refused as not supported.
var httpProxyKind = newKind(definition[HTTPProxy]{
	Traits: Traits{HasStatus: true, Describable: true},
	group:  contourGroup, kind: object.KindHTTPProxy, versions: []string{"v1"}, nameRule: apivalidation.NameIsDNSSubdomain,
	fields: httpProxyFields, loose: true, validate: (*HTTPProxy).validate, anotherPlane: true,
	convert: func(p *Object[HTTPProxy], _ *Objects) { p.Value.Route = convertHTTPProxy(p) },
	list:    func(o *Objects) *[]*Object[HTTPProxy] { return &o.Proxies },
})

func httpProxyFields() fieldSupport {
	connections := supportAll("services[].name", "services[].port", "services[].weight")
	return joinRows(
		nestUnder("spec.virtualhost", supportAll("fqdn", "tls.passthrough", "tls.secretName",
			"authorization.extensionRef.name", "authorization.authPolicy.disabled")),
		nestUnder("spec.virtualhost", corsFields()),
		nestUnder("spec.routes[]", joinRows(proxyServiceFields(), headersPolicyFields(), healthCheckFields(), retryFields(), pathFields(),
			supportAll("conditions[].prefix", "conditions[].exact", "conditions[].regex", "authPolicy.disabled", "permitInsecure",
				"timeoutPolicy.response"),
			nestUnder("conditions[].header", valueConditionFields()),
			nestUnder("conditions[].queryParameter", joinRows(valueConditionFields(), supportAll("prefix", "suffix"))),
			fieldSupport{"enableWebsockets": ignoredFor("is so for all routes")},
			nestUnder("loadBalancerPolicy", balancingFields()))),
		nestUnder("spec.tcpproxy", joinRows(connections, unhashedFields())),
	)
}

// HTTPProxy is what limpet reads of projectcontour.io/v1 HTTPProxy (S55).
// Every other field of it is refused as not supported.
type HTTPProxy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec HTTPProxySpec `json:"spec"`

	// Route is the HTTPRoute that does the same. It names no parents, for Contour has none.
	Route *Object[gatewayv1.HTTPRoute] `json:"-"`
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

// HTTPProxyCondition is on the path, the whole of it or how its text begins, in the middle of a segment too, or on a header or a
// parameter of the query.
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

func (p *HTTPProxy) validate() field.ErrorList {
	var errs field.ErrorList
	fqdn := field.NewPath("spec", "virtualhost", "fqdn")
	if p.Spec.VirtualHost.FQDN == "" {
		errs = append(errs, field.Required(fqdn, "an HTTPProxy that others include is not supported yet"))
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
	"spec.rules", "spec.routes", ".backendRefs", ".services", ".matches", ".conditions", "spec.hostnames", "spec.virtualhost.fqdn")

// rename gives a field of an HTTPRoute as that of an HTTPProxy which it was made of.
func (s *HTTPProxySpec) rename(path string) string {
	if _, rest, found := strings.Cut(path, ".externalAuth.backendRef"); found {
		return "spec.virtualhost.authorization.extensionRef" + rest
	}
	return httpProxyNames.Replace(renameFilter(s.renameServices(path)))
}

// convertHTTPProxy gives an HTTPProxy as the HTTPRoute that does the same, or as the TLSRoute in an HTTPRoute's shape.
func convertHTTPProxy(o *Object[HTTPProxy]) *Object[gatewayv1.HTTPRoute] {
	spec := &o.Value.Spec
	route := &gatewayv1.HTTPRoute{TypeMeta: o.Value.TypeMeta, ObjectMeta: o.Value.ObjectMeta}
	route.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(spec.VirtualHost.FQDN)}
	for i := range spec.Routes {
		route.Spec.Rules = append(route.Spec.Rules, spec.toRule(&spec.Routes[i]))
	}
	rename := spec.rename
	if spec.TCPProxy != nil {
		route.Kind, rename = object.KindTLSRoute, tcpProxyNames.Replace
		route.Spec.Rules = []gatewayv1.HTTPRouteRule{{BackendRefs: toBackendRefs(spec.TCPProxy.Services)}}
	}
	o.Rename(rename)
	return &Object[gatewayv1.HTTPRoute]{
		Document: o.Document, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
		Created: o.Created, Labels: o.Labels, Value: route, Proxy: o.Value,
	}
}

func (s *HTTPProxySpec) toRule(r *HTTPProxyRoute) gatewayv1.HTTPRouteRule {
	rule := gatewayv1.HTTPRouteRule{
		Matches: s.toMatches(r), BackendRefs: toBackendRefs(r.Services), Timeouts: r.toTimeouts(), Retry: r.RetryPolicy.toRetry(),
	}
	for _, some := range [][]gatewayv1.HTTPRouteFilter{
		s.VirtualHost.CORS.toFilters(r), s.VirtualHost.toFilters(r), r.ToFilters(), s.toPathFilters(r), toMirrors(r.Services),
	} {
		rule.Filters = append(rule.Filters, some...)
	}
	return rule
}

// SendsToHTTPS reports whether requests of a rule that come without TLS are sent to https.
func (p *HTTPProxy) SendsToHTTPS(rule int) bool {
	tls := p.Spec.VirtualHost.TLS
	return tls != nil && tls.SecretName != "" && p.Spec.TCPProxy == nil && !p.Spec.Routes[rule].PermitInsecure
}
