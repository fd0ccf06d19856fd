package envoygateway

import (
	"github.com/limpet-proxy/limpet/internal/compiler/capability"
)

var (
	yes     = capability.Answer{Support: capability.Yes}
	balance = capability.Answer{Support: capability.No, Note: "Envoy Gateway has BackendTrafficPolicy for it"}
)

// Capabilities says what Envoy Gateway carries.
var Capabilities = capability.Declaration{
	"across split, one session (up to 1.6)":                                            yes,
	"across split, a session for each backend":                                         yes,
	"across XBackend":                                                                  {Support: capability.No, Note: "Envoy Gateway 1.9 does not know the kind"},
	"HTTPRoute timeouts.request":                                                       yes,
	"HTTPRoute timeouts.backendRequest":                                                yes,
	"HTTPRoute retry.codes[]":                                                          yes,
	"HTTPRoute retry.attempts":                                                         yes,
	"HTTPRoute retry.backoff":                                                          {Support: capability.Differs, Note: "not the least wait: Envoy Gateway 1.9 has Envoy wait a random time of up to that, doubled for each further retry"},
	"across HTTPProxy":                                                                 {Support: capability.No, Note: "Envoy Gateway does not know the kind"},
	"XBackendTrafficPolicy retryConstraint":                                            balance,
	"LoadBalancerPolicy strategy":                                                      balance,
	"LoadBalancerPolicy targetRefs[].group":                                            balance,
	"LoadBalancerPolicy targetRefs[].kind":                                             balance,
	"LoadBalancerPolicy targetRefs[].name":                                             balance,
	"LoadBalancerPolicy targetRefs[].sectionName":                                      balance,
	"LoadBalancerPolicy requestHashPolicies[].terminal":                                balance,
	"LoadBalancerPolicy requestHashPolicies[].headerHashOptions.headerName":            balance,
	"LoadBalancerPolicy requestHashPolicies[].cookieHashOptions.cookieName":            balance,
	"LoadBalancerPolicy requestHashPolicies[].cookieHashOptions.ttl":                   balance,
	"LoadBalancerPolicy requestHashPolicies[].cookieHashOptions.path":                  balance,
	"LoadBalancerPolicy requestHashPolicies[].queryParameterHashOptions.parameterName": balance,
	"LoadBalancerPolicy requestHashPolicies[].hashSourceIP":                            balance,
}
