package envoy

import (
	"github.com/limpet-proxy/limpet/internal/compiler/capability"
)

var answerYes = capability.Answer{Support: capability.Yes}

// Capabilities says what a plain Envoy under the bootstrap carries.
var Capabilities = capability.Declaration{
	"plugin debugTickets":                                       answerYes,
	"SessionPersistencePolicy identity":                         answerYes,
	"SessionPersistencePolicy revocation.backends[]":            answerYes,
	"plugin policies[].owners[]":                                answerYes,
	"across split, one session (up to 1.6)":                     answerYes,
	"across split, a session for each backend":                  answerYes,
	"across scope Route of a rule with one backend and a split": answerYes,
	"across XBackend":                                           answerYes,
	"across onHostLost RebalanceWithin in a split":              answerYes,
	"HTTPRoute timeouts.request":                                answerYes,
	"HTTPRoute timeouts.backendRequest":                         answerYes,
	"HTTPRoute retry.codes[]":                                   answerYes,
	"HTTPRoute retry.attempts":                                  answerYes,
	"HTTPRoute retry.backoff": {
		Support: capability.Differs,
		Note:    "not the least wait: Envoy waits a random time of up to that, doubled for each further retry (reported)",
	},
	"across HTTPProxy":                                                                   answerYes,
	"XBackendTrafficPolicy retryConstraint":                                              answerYes,
	"LoadBalancerPolicy strategy":                                                        answerYes,
	"LoadBalancerPolicy targetRefs[].group":                                              answerYes,
	"LoadBalancerPolicy targetRefs[].kind":                                               answerYes,
	"LoadBalancerPolicy targetRefs[].name":                                               answerYes,
	"LoadBalancerPolicy targetRefs[].namespace":                                          answerYes,
	"LoadBalancerPolicy targetRefs[].sectionName":                                        answerYes,
	"LoadBalancerPolicy requestHashPolicies[].terminal":                                  answerYes,
	"LoadBalancerPolicy requestHashPolicies[].headerHashOptions.headerName":              answerYes,
	"LoadBalancerPolicy requestHashPolicies[].cookieHashOptions.cookieName":              answerYes,
	"LoadBalancerPolicy requestHashPolicies[].cookieHashOptions.ttl":                     answerYes,
	"LoadBalancerPolicy requestHashPolicies[].cookieHashOptions.path":                    answerYes,
	"LoadBalancerPolicy requestHashPolicies[].queryParameterHashOptions.parameterName":   answerYes,
	"LoadBalancerPolicy requestHashPolicies[].hashSourceIP":                              answerYes,
	"LoadBalancerPolicy healthCheck.type":                                                answerYes,
	"LoadBalancerPolicy healthCheck.interval":                                            answerYes,
	"LoadBalancerPolicy healthCheck.timeout":                                             answerYes,
	"LoadBalancerPolicy healthCheck.unhealthyThreshold":                                  answerYes,
	"LoadBalancerPolicy healthCheck.healthyThreshold":                                    answerYes,
	"LoadBalancerPolicy healthCheck.http.path":                                           answerYes,
	"LoadBalancerPolicy healthCheck.http.hostname":                                       answerYes,
	"LoadBalancerPolicy healthCheck.http.expectedStatuses[]":                             answerYes,
	"LoadBalancerPolicy healthCheck.grpc.service":                                        answerYes,
	"LoadBalancerPolicy outlierDetection.consecutive5xxErrors":                           answerYes,
	"LoadBalancerPolicy outlierDetection.consecutiveGatewayErrors":                       answerYes,
	"LoadBalancerPolicy outlierDetection.interval":                                       answerYes,
	"LoadBalancerPolicy outlierDetection.baseEjectionTime":                               answerYes,
	"LoadBalancerPolicy outlierDetection.maxEjectionPercent":                             answerYes,
	"LoadBalancerPolicy slowStart.window":                                                answerYes,
	"LoadBalancerPolicy slowStart.minWeightPercent":                                      answerYes,
	"LoadBalancerPolicy requestHashPolicies[].headerHashOptions.valueRewriteRegex":       answerYes,
	"LoadBalancerPolicy requestHashPolicies[].headerHashOptions.valueRewriteReplacement": answerYes,
	"LoadBalancerPolicy limits.maxConnections":                                           answerYes,
}
