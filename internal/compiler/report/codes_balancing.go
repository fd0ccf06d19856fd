package report

// explainedBalancing are those of balancing, retries and filters.
var explainedBalancing = []Explanation{
	{
		Code: BalancingNotHonoured, Title: "balancing is not as a policy asks",
		Broad:   true,
		Meaning: "Some field of a LoadBalancerPolicy, or of what asks for balancing elsewhere, has no effect there.",
		Example: "LoadBalancerPolicy shop/p: spec.requestHashPolicies: ignored: the strategy is not " +
			"RequestHash",
		Do: "Correct the field that is named.",
	},
	{
		Code: ForeignCookie, Title: "requests are spread by a cookie that is not limpet's",
		Meaning: "Contour's own cookie is not signed: anyone can make one and choose a host.",
		Example: "HTTPProxy shop/p: spec.routes[0].loadBalancerPolicy.strategy: requests are spread by Contour's own cookie",
		Do:      "Write a session policy for limpet's tokens.",
	},
	{
		Code: OutlierWaits, Title: "outlier detection waits",
		Meaning: "It would take out the errors that stand for a backend without hosts.",
		Example: "HTTPRoute shop/cart: spec.rules[0].backendRefs: outlierDetection of LoadBalancerPolicy " +
			"shop/p waits until every backend has a host",
		Do: "Give each backend a host.",
	},
	{
		Code: RetryNotHonoured, Title: "retries are not as asked",
		Broad:   true,
		Meaning: "Envoy, or a session that may not move, does something else with retries.",
		Example: "HTTPRoute shop/cart: spec.rules[0].retry",
		Do:      "Correct the field that is named.",
	},
	{
		Code: RetryAdvice, Title: "retries come to less than it may seem",
		Broad:   true,
		Meaning: "The setting holds, and something follows from it that is easily missed.",
		Example: "XBackendTrafficPolicy shop/p: spec.retryConstraint",
		Do:      "See what holds with 'limpet describe', and change the field if that is not meant.",
	},
	{
		Code: PolicyConflict, Title: "another policy has the target",
		Meaning: "Of two policies of one kind on one target the older one holds.",
		Example: "XBackendTrafficPolicy shop/b: spec.targetRefs[0]",
		Do:      "Delete one of the two, or give it another target.",
	},
	{
		Code: FilterWithoutEffect, Title: "a filter has no effect",
		Meaning: "Another filter of the rule answers first.",
		Example: "HTTPRoute shop/cart: spec.rules[0].filters[1].cors: has no effect",
		Do:      "Take one of the two out.",
	},
}
