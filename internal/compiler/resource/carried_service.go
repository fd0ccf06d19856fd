package resource

const pastService = "concerns the ways through the Service's own addresses; Envoy goes to the endpoints"

func serviceFields() fields {
	return fields{
		"spec.type":                          only("ClusterIP", "NodePort", "LoadBalancer"),
		"spec.sessionAffinity":               carried,
		"spec.sessionAffinityConfig":         ignored(pastService),
		"spec.internalTrafficPolicy":         only("Cluster"),
		"spec.ports[].name":                  carried,
		"spec.ports[].port":                  carried,
		"spec.ports[].protocol":              carried,
		"spec.ports[].appProtocol":           carried,
		"spec.ports[].targetPort":            ignored("the EndpointSlices' ports are the ones that it leads to"),
		"spec.ports[].nodePort":              ignored(pastService),
		"spec.selector":                      ignored("the EndpointSlices hold what it selects"),
		"spec.publishNotReadyAddresses":      ignored("the EndpointSlices' conditions follow it"),
		"spec.clusterIP":                     ignored(pastService),
		"spec.clusterIPs":                    ignored(pastService),
		"spec.externalIPs":                   ignored(pastService),
		"spec.externalTrafficPolicy":         ignored(pastService),
		"spec.healthCheckNodePort":           ignored(pastService),
		"spec.allocateLoadBalancerNodePorts": ignored(pastService),
		"spec.loadBalancerClass":             ignored(pastService),
		"spec.loadBalancerIP":                ignored(pastService),
		"spec.loadBalancerSourceRanges":      ignored(pastService),
		"spec.ipFamilies":                    carried,
		"spec.ipFamilyPolicy":                ignored("the EndpointSlices hold the families that it leads to"),

		"spec.trafficDistribution": only("PreferClose", "PreferSameZone", "PreferSameNode"),
	}
}

func sliceFields() fields {
	return fields{
		"addressType":                        only("IPv4", "IPv6"),
		"ports[].name":                       carried,
		"ports[].port":                       carried,
		"ports[].protocol":                   carried,
		"ports[].appProtocol":                ignored("repeats the Service's, which is the one that is read"),
		"endpoints[].addresses[]":            carried,
		"endpoints[].conditions.ready":       carried,
		"endpoints[].conditions.serving":     carried,
		"endpoints[].conditions.terminating": carried,
		"endpoints[].deprecatedTopology":     ignored("is a copy of what other fields say"),
		"endpoints[].hints":                  ignored("is advice to kube-proxy; zones are not preferred"),
		"endpoints[].hostname":               ignored("is for DNS"),
		"endpoints[].nodeName":               ignored("says where the endpoint runs, which changes nothing"),
		"endpoints[].targetRef":              ignored("says what the endpoint is, which changes nothing"),
		"endpoints[].zone":                   ignored("says where the endpoint runs; zones are not preferred"),
	}
}
