package envoygateway

import (
	"github.com/limpet-proxy/limpet/internal/compiler/capability"
)

var (
	answerYes = capability.Answer{Support: capability.Yes}
	noHosts   = capability.Answer{
		Support: capability.No,
		Note:    "Envoy Gateway has BackendTrafficPolicy for it: limpet writes none",
	}
	noBalancing = capability.Answer{Support: capability.No, Note: "Envoy Gateway has BackendTrafficPolicy for it"}
)

// Capabilities says what Envoy Gateway carries.
var Capabilities = capability.WithoutLoadBalancing(noBalancing, noHosts, capability.Declaration{
	"plugin accessLogFields": {
		Support: capability.Differs,
		Note:    "the filter publishes the values as filter state; the log is the EnvoyProxy's, whose format can name them",
	},
	"across a session header on a rule with CORS": {
		Support: capability.Differs,
		Note:    "not where `*` is allowed with credentials: Gateway API has no other header beside a `*` (reported)",
	},
	"across split, one session (up to 1.6)":                     answerYes,
	"plugin policies[].leads[]":                                 answerYes,
	"plugin policies[].revocation.backends[]":                   answerYes,
	"across onHostLost RebalanceWithin in a split":              answerYes,
	"across split, a session for each backend":                  answerYes,
	"across scope Route of a rule with one backend and a split": answerYes,
	"across XBackend": {
		Support: capability.No,
		Note:    "Envoy Gateway 1.9 does not know the kind",
	},
	"HTTPRoute timeouts.request":        answerYes,
	"HTTPRoute timeouts.backendRequest": answerYes,
	"HTTPRoute retry.codes[]": {
		Support: capability.Differs,
		Note:    "for requests of sessions too, which move then (reported)",
	},
	"HTTPRoute retry.attempts": answerYes,
	"HTTPRoute retry.backoff": {
		Support: capability.Differs,
		Note: "not the least wait: Envoy Gateway 1.9 has Envoy wait a random time of up to that, doubled for each " +
			"further retry",
	},
	"across HTTPProxy": {
		Support: capability.No,
		Note:    "Envoy Gateway does not know the kind",
	},
	"XBackendTrafficPolicy retryConstraint": noBalancing,
})
