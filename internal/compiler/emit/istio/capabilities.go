package istio

import (
	"github.com/limpet-proxy/limpet/internal/compiler/capability"
)

var (
	noBalancing = capability.Answer{
		Support: capability.No,
		Note:    "a DestinationRule says how requests without sessions are spread",
	}
	noHosts = capability.Answer{
		Support: capability.No,
		Note:    "a DestinationRule has limits, outlier detection and warm-up; Istio asks no host for its health",
	}
	theirs    = capability.Answer{Support: capability.Theirs, Note: "Istio reads the rule itself"}
	answerYes = capability.Answer{Support: capability.Yes}
)

// Capabilities says what Istio's proxies carry.
var Capabilities = capability.WithoutLoadBalancing(noBalancing, noHosts, capability.Declaration{
	"plugin accessLogFields": {
		Support: capability.Differs,
		Note:    "the filter publishes the values as filter state; the log is Istio's, whose format can name them",
	},
	"across split, one session (up to 1.6)":                     answerYes,
	"across split, a session for each backend":                  answerYes,
	"across scope Route of a rule with one backend and a split": answerYes,
	"plugin policies[].leads[]":                                 answerYes,
	"plugin policies[].revocation.backends[]":                   answerYes,
	"across a session header on a rule with CORS": {
		Support: capability.No,
		Note:    "Istio reads the rule itself: add the header to its `allowHeaders` and `exposeHeaders` (reported)",
	},
	"across a cookie path for each match of a rule": {
		Support: capability.Differs,
		Note:    "the matches of a Gateway API rule share a name, so the path is what they have in common (reported)",
	},
	"across onHostLost RebalanceWithin in a split": answerYes,
	"across XBackend": {
		Support: capability.No,
		Note:    "Istio knows no XBackend",
	},
	"HTTPRoute retry.codes[]": {
		Support: capability.No,
		Note:    "Istio reads the rule itself and tries requests of sessions again too, which move then",
	},
	"HTTPRoute timeouts.request":        theirs,
	"HTTPRoute timeouts.backendRequest": theirs,
	"HTTPRoute retry.attempts":          theirs,
	"HTTPRoute retry.backoff":           theirs,
	"across HTTPProxy": {
		Support: capability.No,
		Note:    "Istio does not know the kind",
	},
	"XBackendTrafficPolicy retryConstraint": {
		Support: capability.No,
		Note:    "a DestinationRule caps retries",
	},
})
