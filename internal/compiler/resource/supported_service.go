package resource

const bypassesService = "concerns the ways through the Service's own addresses; Envoy goes to the endpoints"

func serviceFields() fieldSupport {
	return fieldSupport{
		"spec.type":                          onlyValues("ClusterIP", "NodePort", "LoadBalancer"),
		"spec.sessionAffinity":               supported,
		"spec.sessionAffinityConfig":         ignoredFor(bypassesService),
		"spec.internalTrafficPolicy":         onlyValues("Cluster"),
		"spec.ports[].name":                  supported,
		"spec.ports[].port":                  supported,
		"spec.ports[].protocol":              supported,
		"spec.ports[].appProtocol":           supported,
		"spec.ports[].targetPort":            ignoredFor("the EndpointSlices' ports are the ones that it leads to"),
		"spec.ports[].nodePort":              ignoredFor(bypassesService),
		"spec.selector":                      ignoredFor("the EndpointSlices hold what it selects"),
		"spec.publishNotReadyAddresses":      ignoredFor("the EndpointSlices' conditions follow it"),
		"spec.clusterIP":                     ignoredFor(bypassesService),
		"spec.clusterIPs":                    ignoredFor(bypassesService),
		"spec.externalIPs":                   ignoredFor(bypassesService),
		"spec.externalTrafficPolicy":         ignoredFor(bypassesService),
		"spec.healthCheckNodePort":           ignoredFor(bypassesService),
		"spec.allocateLoadBalancerNodePorts": ignoredFor(bypassesService),
		"spec.loadBalancerClass":             ignoredFor(bypassesService),
		"spec.loadBalancerIP":                ignoredFor(bypassesService),
		"spec.loadBalancerSourceRanges":      ignoredFor(bypassesService),
		"spec.ipFamilies":                    supported,
		"spec.ipFamilyPolicy":                ignoredFor("the EndpointSlices hold the families that it leads to"),

		"spec.trafficDistribution": onlyValues("PreferClose", "PreferSameZone", "PreferSameNode"),
	}
}

func sliceFields() fieldSupport {
	return fieldSupport{
		"addressType":                        onlyValues("IPv4", "IPv6"),
		"ports[].name":                       supported,
		"ports[].port":                       supported,
		"ports[].protocol":                   supported,
		"ports[].appProtocol":                ignoredFor("repeats the Service's, which is the one that is read"),
		"endpoints[].addresses[]":            supported,
		"endpoints[].conditions.ready":       supported,
		"endpoints[].conditions.serving":     supported,
		"endpoints[].conditions.terminating": supported,
		"endpoints[].deprecatedTopology":     ignoredFor("is a copy of what other fields say"),
		"endpoints[].hints":                  ignoredFor("is advice to kube-proxy; zones are not preferred"),
		"endpoints[].hostname":               ignoredFor("is for DNS"),
		"endpoints[].nodeName":               ignoredFor("says where the endpoint runs, which changes nothing"),
		"endpoints[].targetRef":              ignoredFor("says what the endpoint is, which changes nothing"),
		"endpoints[].zone":                   ignoredFor("says where the endpoint runs; zones are not preferred"),
	}
}
