package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// LoadBalancerPolicy chooses where requests go that no session pins: at random, in turn, or by a hash of the
// request. Its fields are those of Contour's design for header hash load balancing.
//
// What that design wants ignored with a warning, and not refused, passes this schema: an unknown strategy, an entry
// with no or several options, a name that is empty or no token, an entry said twice (S52). Only wrong types,
// targets and sizes are refused.
//
// It is labelled Inherited, not Direct, though it reaches no further than the rules of its target: GEP-713 calls a
// policy Direct only when it has one kind of target and takes effect on that very object.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:categories=gateway-api,shortName=lbp
// +kubebuilder:metadata:labels="gateway.networking.k8s.io/policy=Inherited"
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.targetRefs[0].kind`
// +kubebuilder:printcolumn:name="Name",type=string,JSONPath=`.spec.targetRefs[0].name`
// +kubebuilder:printcolumn:name="Strategy",type=string,JSONPath=`.spec.strategy`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.ancestors[0].conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.ancestors[0].conditions[?(@.type=="Accepted")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type LoadBalancerPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the policy wants, and for which objects.
	// +required
	Spec LoadBalancerPolicySpec `json:"spec"`

	// Status is what became of the policy, for each Gateway that it has an effect on.
	// +optional
	Status gatewayv1.PolicyStatus `json:"status,omitempty"`
}

// LoadBalancerPolicySpec holds the targets, the strategy and what a RequestHash hashes.
type LoadBalancerPolicySpec struct {
	// TargetRefs are the objects that the policy attaches to, in its own namespace: Services, HTTPRoutes and
	// GRPCRoutes (with sectionName: the rule of that name). A Service's sectionName is the name of a port.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:XValidation:rule="self.kind in ['Service', 'HTTPRoute', 'GRPCRoute']",message="must be a Service, an HTTPRoute or a GRPCRoute"
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.kind == b.kind && a.name == b.name && (has(a.sectionName) ? a.sectionName : '') == (has(b.sectionName) ? b.sectionName : '')))",message="must not name a target twice"
	// +listType=atomic
	// +required
	TargetRefs []PolicyTargetReference `json:"targetRefs"`

	// Strategy is RoundRobin (also where nothing or anything else is written), WeightedLeastRequest, Random,
	// RequestHash or Cookie.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Strategy *Strategy `json:"strategy,omitempty"`

	// RequestHashPolicies say what of a request RequestHash hashes, in order.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	RequestHashPolicies []RequestHashPolicy `json:"requestHashPolicies,omitempty"`

	// HealthCheck asks hosts whether they can serve. One that can't gets no requests: its sessions move or fail, as their
	// onHostLost says. Left out: nothing is asked.
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`

	// OutlierDetection takes hosts out for a while that answer with errors again and again. Their sessions move or fail, as
	// their onHostLost says. Left out: none is taken out.
	// +optional
	OutlierDetection *OutlierDetection `json:"outlierDetection,omitempty"`

	// SlowStart gives a host that is new, or well again, few requests without a session at first. It takes the strategy
	// RoundRobin or WeightedLeastRequest. Left out: its whole share at once.
	// +optional
	SlowStart *SlowStart `json:"slowStart,omitempty"`

	// Limits are what each host is given at once. Left out: there are none.
	// +optional
	Limits *HostLimits `json:"limits,omitempty"`
}

// Strategy is how requests that no session pins are spread over a backend's endpoints.
type Strategy string

// The strategies. Cookie is RequestHash over a cookie that Envoy makes up for clients that have none.
const (
	RoundRobin           Strategy = "RoundRobin"
	WeightedLeastRequest Strategy = "WeightedLeastRequest"
	Random               Strategy = "Random"
	RequestHash          Strategy = "RequestHash"
	CookieStrategy       Strategy = "Cookie"
)

// RequestHashPolicy is one attribute of a request that goes into the hash: exactly one of the options.
type RequestHashPolicy struct {
	// Terminal ends the list here when the request has this attribute.
	// +optional
	Terminal bool `json:"terminal,omitempty"`

	// HeaderHashOptions hash a header's value.
	// +optional
	HeaderHashOptions *HeaderHashOptions `json:"headerHashOptions,omitempty"`

	// CookieHashOptions hash a cookie's value.
	// +optional
	CookieHashOptions *CookieHashOptions `json:"cookieHashOptions,omitempty"`

	// QueryParameterHashOptions hash the value of a parameter of the URL's query.
	// +optional
	QueryParameterHashOptions *QueryParameterHashOptions `json:"queryParameterHashOptions,omitempty"`

	// HashSourceIP hashes the client's address.
	// +optional
	HashSourceIP bool `json:"hashSourceIP,omitempty"`
}

// HeaderHashOptions name a request header, and what of its value is hashed.
type HeaderHashOptions struct {
	// HeaderName is compared without regard to case.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	HeaderName string `json:"headerName,omitempty"`

	// ValueRewriteRegex is an RE2 expression. What it matches in the value, wherever that is, is replaced before the value is
	// hashed; the request keeps its header. Left out: the value is hashed as it is.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ValueRewriteRegex string `json:"valueRewriteRegex,omitempty"`

	// ValueRewriteReplacement replaces it: \1 to \9 are the expression's groups, \0 all that it matches, \\ is a
	// backslash. Left out: nothing.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ValueRewriteReplacement string `json:"valueRewriteReplacement,omitempty"`
}

// CookieHashOptions name a cookie, and say whether Envoy makes one up for clients that have none.
type CookieHashOptions struct {
	// CookieName is compared with regard to case.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	CookieName string `json:"cookieName,omitempty"`

	// TTL is GEP-2257 text. Written, it lets Envoy make up a cookie that lives that long, 0s for as long as the
	// browser session. Left out, only a cookie that the client has is hashed.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	TTL *string `json:"ttl,omitempty"`

	// Path is that of the cookie that Envoy makes up. Left out: "/".
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Path *string `json:"path,omitempty"`
}

// QueryParameterHashOptions name a parameter of the URL's query.
type QueryParameterHashOptions struct {
	// ParameterName is compared with regard to case.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ParameterName string `json:"parameterName,omitempty"`
}

// LoadBalancerPolicyList is what an API server answers to a list.
//
// +kubebuilder:object:root=true
type LoadBalancerPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LoadBalancerPolicy `json:"items"`
}
