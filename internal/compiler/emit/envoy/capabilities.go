package envoy

import (
	"github.com/limpet-proxy/limpet/internal/compiler/capability"
)

var yes = capability.Answer{Support: capability.Yes}

// Capabilities says what a plain Envoy under the bootstrap carries.
var Capabilities = capability.Declaration{
	"across split, one session (up to 1.6)":                                            yes,
	"across split, a session for each backend":                                         yes,
	"across XBackend":                                                                  yes,
	"HTTPRoute timeouts.request":                                                       yes,
	"HTTPRoute timeouts.backendRequest":                                                yes,
	"HTTPRoute retry.codes[]":                                                          yes,
	"HTTPRoute retry.attempts":                                                         yes,
	"HTTPRoute retry.backoff":                                                          {Support: capability.Differs, Note: "not the least wait: Envoy waits a random time of up to that, doubled for each further retry (reported)"},
	"across HTTPProxy":                                                                 yes,
	"XBackendTrafficPolicy retryConstraint":                                            yes,
	"LoadBalancerPolicy strategy":                                                      yes,
	"LoadBalancerPolicy targetRefs[].group":                                            yes,
	"LoadBalancerPolicy targetRefs[].kind":                                             yes,
	"LoadBalancerPolicy targetRefs[].name":                                             yes,
	"LoadBalancerPolicy targetRefs[].sectionName":                                      yes,
	"LoadBalancerPolicy requestHashPolicies[].terminal":                                yes,
	"LoadBalancerPolicy requestHashPolicies[].headerHashOptions.headerName":            yes,
	"LoadBalancerPolicy requestHashPolicies[].cookieHashOptions.cookieName":            yes,
	"LoadBalancerPolicy requestHashPolicies[].cookieHashOptions.ttl":                   yes,
	"LoadBalancerPolicy requestHashPolicies[].cookieHashOptions.path":                  yes,
	"LoadBalancerPolicy requestHashPolicies[].queryParameterHashOptions.parameterName": yes,
	"LoadBalancerPolicy requestHashPolicies[].hashSourceIP":                            yes,
}
