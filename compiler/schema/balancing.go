package schema

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/compiler/read"
)

// balancingKinds are the kinds that say how requests are spread and retried.
var balancingKinds = map[schema.GroupKind]kind{
	{Group: v1alpha1.Group, Kind: "LoadBalancerPolicy"}: {
		versions: []string{v1alpha1.Version},
		store: func(a *admitter, d *read.Document) {
			keep(a, d, &a.objects.LoadBalancers, func(o *v1alpha1.LoadBalancerPolicy) *metav1.ObjectMeta { return &o.ObjectMeta }, nil)
		},
	},
	{Group: gatewayxv1alpha1.GroupName, Kind: "XBackendTrafficPolicy"}: {
		versions: []string{"v1alpha1"},
		store: func(a *admitter, d *read.Document) {
			keep(a, d, &a.objects.TrafficPolicies, func(o *gatewayxv1alpha1.XBackendTrafficPolicy) *metav1.ObjectMeta { return &o.ObjectMeta }, nil)
		},
	},
}

// carriedBalancing are those of their fields that may be set.
var carriedBalancing = map[string]map[string]Treatment{
	"LoadBalancerPolicy": {
		"spec.targetRefs[].group":                                            carried,
		"spec.targetRefs[].kind":                                             carried,
		"spec.targetRefs[].name":                                             carried,
		"spec.targetRefs[].sectionName":                                      carried,
		"spec.strategy":                                                      carried,
		"spec.requestHashPolicies[].terminal":                                carried,
		"spec.requestHashPolicies[].headerHashOptions.headerName":            carried,
		"spec.requestHashPolicies[].cookieHashOptions.cookieName":            carried,
		"spec.requestHashPolicies[].cookieHashOptions.ttl":                   carried,
		"spec.requestHashPolicies[].cookieHashOptions.path":                  carried,
		"spec.requestHashPolicies[].queryParameterHashOptions.parameterName": carried,
		"spec.requestHashPolicies[].hashSourceIP":                            carried,
	},
	KindHTTPProxy: {
		"spec.virtualhost.fqdn":                                                                          carried,
		"spec.routes[].conditions[].prefix":                                                              carried,
		"spec.routes[].conditions[].exact":                                                               carried,
		"spec.routes[].services[].name":                                                                  carried,
		"spec.routes[].services[].port":                                                                  carried,
		"spec.routes[].services[].weight":                                                                carried,
		"spec.routes[].loadBalancerPolicy.strategy":                                                      carried,
		"spec.routes[].loadBalancerPolicy.requestHashPolicies[].terminal":                                carried,
		"spec.routes[].loadBalancerPolicy.requestHashPolicies[].headerHashOptions.headerName":            carried,
		"spec.routes[].loadBalancerPolicy.requestHashPolicies[].cookieHashOptions.cookieName":            carried,
		"spec.routes[].loadBalancerPolicy.requestHashPolicies[].cookieHashOptions.ttl":                   carried,
		"spec.routes[].loadBalancerPolicy.requestHashPolicies[].cookieHashOptions.path":                  carried,
		"spec.routes[].loadBalancerPolicy.requestHashPolicies[].queryParameterHashOptions.parameterName": carried,
		"spec.routes[].loadBalancerPolicy.requestHashPolicies[].hashSourceIP":                            carried,
	},
	"Service": {
		"spec.trafficDistribution": only("PreferClose", "PreferSameZone", "PreferSameNode"),
	},
	"XBackendTrafficPolicy": {
		"spec.targetRefs[].group":                    carried,
		"spec.targetRefs[].kind":                     carried,
		"spec.targetRefs[].name":                     carried,
		"spec.retryConstraint.budget.percent":        carried,
		"spec.retryConstraint.budget.interval":       carried,
		"spec.retryConstraint.minRetryRate.count":    carried,
		"spec.retryConstraint.minRetryRate.interval": carried,
	},
}

func init() {
	for gk, k := range balancingKinds {
		kinds[gk] = k
	}
	for kind, fields := range carriedBalancing {
		if Carried[kind] == nil {
			Carried[kind] = map[string]Treatment{}
		}
		for path, t := range fields {
			Carried[kind][path] = t
		}
	}
}
