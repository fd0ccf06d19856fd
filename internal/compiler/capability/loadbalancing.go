package capability

import "maps"

// balancingFields are the fields of a LoadBalancerPolicy that say how requests without sessions are spread, and
// hostFields those that say what is expected of hosts.
var (
	balancingFields = []string{
		"strategy",
		"targetRefs[].group",
		"targetRefs[].kind",
		"targetRefs[].name",
		"targetRefs[].namespace",
		"targetRefs[].sectionName",
		"requestHashPolicies[].terminal",
		"requestHashPolicies[].headerHashOptions.headerName",
		"requestHashPolicies[].cookieHashOptions.cookieName",
		"requestHashPolicies[].cookieHashOptions.ttl",
		"requestHashPolicies[].cookieHashOptions.path",
		"requestHashPolicies[].queryParameterHashOptions.parameterName",
		"requestHashPolicies[].hashSourceIP",
		"requestHashPolicies[].headerHashOptions.valueRewriteRegex",
		"requestHashPolicies[].headerHashOptions.valueRewriteReplacement",
	}
	hostFields = []string{
		"healthCheck.type",
		"healthCheck.interval",
		"healthCheck.timeout",
		"healthCheck.unhealthyThreshold",
		"healthCheck.healthyThreshold",
		"healthCheck.http.path",
		"healthCheck.http.hostname",
		"healthCheck.http.expectedStatuses[]",
		"healthCheck.grpc.service",
		"outlierDetection.consecutive5xxErrors",
		"outlierDetection.consecutiveGatewayErrors",
		"outlierDetection.interval",
		"outlierDetection.baseEjectionTime",
		"outlierDetection.maxEjectionPercent",
		"slowStart.window",
		"slowStart.minWeightPercent",
		"limits.maxConnections",
	}
)

// WithoutLoadBalancing gives the declaration of a target for which no field of a LoadBalancerPolicy is written: one
// answer for how requests are spread, and one for what is expected of hosts.
func WithoutLoadBalancing(balancing, hosts Answer, others Declaration) Declaration {
	all := maps.Clone(others)
	for _, field := range balancingFields {
		all["LoadBalancerPolicy "+field] = balancing
	}
	for _, field := range hostFields {
		all["LoadBalancerPolicy "+field] = hosts
	}
	return all
}
