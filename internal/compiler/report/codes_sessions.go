package report

// explainedSessions are those of session policies.
var explainedSessions = []Explanation{
	{
		Code: PolicyInvalid, Title: "a policy is not valid",
		Broad:   true,
		Meaning: "A policy's spec contradicts itself, or has what its target can't have: it has no effect.",
		Example: "XBackendTrafficPolicy shop/p: spec.sessionPersistence.sessionName: Invalid value: \"a " +
			"b\": must be an RFC 9110 token: letters, digits and !#$%&'*+-.^_`|~: the policy has no " +
			"effect on sessions",
		Do: "Correct the field that is named.",
	},
	{
		Code: TargetNotFound, Title: "a policy's target is not there",
		Meaning: "The targetRef names no object of the input, or a section that the object has not.",
		Example: "SessionPersistencePolicy shop/p: spec.targetRefs[0]: there is no Service shop/cart in the " +
			"input: the policy has no effect there",
		Do: "Correct the reference: kind, name and sectionName; a target is in the policy's own namespace.",
	},
	{
		Code: PolicyOverridden, Title: "a policy's value does not hold as it is written",
		Broad:   true,
		Meaning: "A stronger or older object has the field, or the field means nothing there.",
		Example: "SessionPersistencePolicy shop/p: spec.idleTimeout: conflicts with " +
			"SessionPersistencePolicy shop/a, which is older and writes 20m",
		Do: "See 'limpet describe' for what holds and why; take the value out where it does not.",
	},
	{
		Code: PolicyAdvice, Title: "what a policy comes to may not be what its reader expects",
		Broad:   true,
		Meaning: "The value holds, and something follows from it that is easily missed.",
		Example: "SessionPersistencePolicy shop/p: spec.cookie.sameSite: does not apply: the type is Header " +
			"by SessionPersistencePolicy shop/api (spec.type)",
		Do: "See what holds with 'limpet describe', and change the field if that is not meant.",
	},
	{
		Code: PolicyIdle, Title: "a policy has no effect at one of its ancestors",
		Broad:   true,
		Meaning: "Stronger objects leave nothing of it there, or no request comes there.",
		Example: "SessionPersistencePolicy shop/p: for Namespace shop: no Gateway leads requests to " +
			"Namespace shop",
		Do: "Take the policy away, or see 'limpet describe' for what is stronger.",
	},
	{
		Code: TooManyAncestors, Title: "a policy reaches more Gateways than its status can list",
		Meaning: "GEP-713 gives a policy's status room for 16 ancestors: on the others it has no effect.",
		Example: "SessionPersistencePolicy shop/p: spec.targetRefs: its status has no room for another " +
			"ancestor: the policy has no effect on Gateway shop/web",
		Do: "Write a policy for each part of the Gateways.",
	},
	{
		Code: CookieRenamed, Title: "a cookie has another name than the one that is written",
		Meaning: "Two sessions that one browser may have would overwrite each other's cookie.",
		Example: "HTTPRoute shop/b: spec.rules[0].sessionPersistence.sessionName: the cookie \"cart\" is " +
			"served as \"cart-8d7261439b72\": under its own name it would overwrite that of HTTPRoute " +
			"shop/a rule 0, which goes first",
		Do: "Give each session a name of its own.",
	},
	{
		Code: SessionWithheld, Title: "a rule goes without the session that it asks for",
		Broad: true,
		Meaning: "The proxies can't keep the session there, another namespace's would suffer, or its header is in the " +
			"access log.",
		Example: "HTTPRoute shop/cart: spec.rules[0]",
		Do: "Give the session another name, or take its header out of --access-log-fields; on a control plane lift what " +
			"stands in the way, or serve the route with -t envoy.",
	},
	{
		Code: SessionRefused, Title: "a rule's session can't be kept as it is asked for",
		Broad:   true,
		Meaning: "Two parts of it exclude each other: requests of the rule get an error, so that nobody relies on it.",
		Example: "HTTPRoute shop/cart: spec.rules[0].sessionPersistence: Invalid value",
		Do:      "Change one of the two fields; 'limpet describe' says who writes each.",
	},
	{
		Code: SharedHeader, Title: "backends of a rule share a session's header",
		Meaning: "A client sends one value of a header: only the session in the backend used last is kept.",
		Example: "HTTPRoute shop/cart: spec.rules[0]: the rule's backends share the header x-cart",
		Do:      "Use a cookie, or a policy on the route.",
	},
	{
		Code: CachedSession, Title: "answers that begin sessions may be cached",
		Meaning: "A cache that keeps an answer gives the same session to many.",
		Example: "HTTPRoute shop/cart: spec.rules[0].filters: with Cache-Control \"public, max-age=60\" a " +
			"cache in front stores responses that begin a session",
		Do: "Set Cache-Control: private or no-store on what begins sessions.",
	},
	{
		Code: PlainCookie, Title: "cookies are Secure and the listener is plain HTTP",
		Meaning: "Browsers and curl send a Secure cookie over TLS alone, but to 127.0.0.1 and localhost: sessions do not " +
			"stick there.",
		Example: "Gateway shop/web: spec.listeners[0]: cookies of sessions behind it are Secure, and it is plain HTTP",
		Do: "Use an HTTPS listener; where a proxy before it ends TLS, name that in the annotation " +
			"limpet.dev/trusted-proxies.",
	},
	{
		Code: AddressReuse, Title: "a session goes with an address, not with a pod",
		Meaning: "Who had an address before is not known here: a session whose pod is gone goes to the pod that has its " +
			"address now.",
		Example: "Gateway shop/web: sessions behind it are with addresses",
		Do:      "Serve with 'limpet serve' or 'limpet run', which follow endpoints, or set absoluteTimeout.",
	},
	{
		Code: IssueOnTLS, Title: "no session begins on a plain listener",
		Meaning: "The policy says issueOn: TLS, and the listener is plain HTTP.",
		Example: "Gateway shop/web: spec.listeners[0]: sessions behind it have issueOn: TLS, and it is plain HTTP",
		Do:      "Use an HTTPS listener, or name the proxy before it in limpet.dev/trusted-proxies.",
	},
	{
		Code: Revocation, Title: "a revocation does more or less than it says",
		Meaning: "What it names is no backend of the rule, or its hosts can't be told apart in tokens.",
		Example: "HTTPRoute shop/cart: spec.rules[0].backendRefs: the hosts of shop/cart:80 are behind " +
			"names, so no token tells whether it is of one: all sessions of the rule that began before " +
			"are void",
		Do: "Revoke by notBefore or epoch.",
	},
	{
		Code: SessionsEnd, Title: "a change ends sessions",
		Meaning: "Sessions that clients have are void under the new objects.",
		Example: "HTTPRoute shop/cart: spec.rules: the sessions of a rule end: no rule is named \"cart\" " +
			"any more",
		Do: "Keep the rule's name, matches and session name, or change them when few are there.",
	},
	{
		Code: ValueChanges, Title: "a change elsewhere changes a rule's session",
		Meaning: "Compared with --since, a value is another one in a rule whose own document has not changed.",
		Example: "HTTPRoute shop/cart: spec.rules[0]: idleTimeout is 9m by SessionPersistencePolicy " +
			"shop/default (spec.default.idleTimeout, default on the Gateway), and was nothing by the " +
			"built-in default",
		Do: "Write the former value into the rule's own session if it shall stay.",
	},
	{
		Code: OldSessionShape, Title: "a session is written as an earlier release has it",
		Meaning: "A later release of Gateway API has other fields for the same.",
		Example: "HTTPRoute shop/cart: spec.rules[0].sessionPersistence.type",
		Do:      "Write the later fields once the cluster has the later release.",
	},
	{
		Code: TooManyOwners, Title: "a rule has more endpoints than tokens can tell apart",
		Meaning: "Sessions of the rule are with addresses.",
		Example: "HTTPRoute shop/cart: spec.rules[0].backendRefs: Too many: 5000: must have at most 4096 items",
		Do:      "Split the rule.",
	},
}
