package resource

func gatewayFields() fields {
	return fields{
		"spec.gatewayClassName":                            carried,
		"spec.addresses[].type":                            only("IPAddress"),
		"spec.addresses[].value":                           carried,
		"spec.allowedListeners.namespaces.from":            only("None"), // ListenerSets
		"spec.listeners[].name":                            carried,
		"spec.listeners[].hostname":                        carried,
		"spec.listeners[].port":                            carried,
		"spec.listeners[].protocol":                        only("HTTP", "HTTPS"),
		"spec.listeners[].tls.mode":                        only("Terminate"),
		"spec.listeners[].tls.certificateRefs[].group":     carried,
		"spec.listeners[].tls.certificateRefs[].kind":      carried,
		"spec.listeners[].tls.certificateRefs[].namespace": carried,
		"spec.listeners[].tls.certificateRefs[].name":      carried,
		"spec.listeners[].allowedRoutes.namespaces.from":   only("All", "Same"),
		"spec.listeners[].allowedRoutes.kinds[].group":     carried,
		"spec.listeners[].allowedRoutes.kinds[].kind":      carried,
	}
}

// routeFields are those of a kind of route, whose matches differ.
func routeFields(matches fields) fields {
	return rows(
		fields{
			"spec.parentRefs[].group": only("gateway.networking.k8s.io"),
			"spec.parentRefs[].kind":  only("Gateway"),
			"spec.useDefaultGateways": only("None"),
		},
		under("spec.parentRefs[]", all("namespace", "name", "sectionName", "port")),
		all("spec.hostnames[]", "spec.rules[].name"),
		under("spec.rules[].backendRefs[]", all("group", "kind", "namespace", "name", "port", "weight")),
		under("spec.rules[].matches[]", matches),
		under("spec.rules[].matches[].headers[]", matched()),
		under("spec.rules[]."+sessionKey, rows(sessionFields16(), sessionFields17())),
	)
}

// tryFields are those that HTTPRoute alone has, of how long requests may take and which are tried again.
func tryFields() fields {
	return all("timeouts.request", "timeouts.backendRequest", "retry.codes[]", "retry.attempts", "retry.backoff")
}

// matched is how names and values are compared.
func matched() fields {
	return fields{"type": only("Exact"), "name": carried, "value": carried}
}

func httpMatches() fields {
	return rows(
		fields{
			"path.type":  only("Exact", "PathPrefix"),
			"path.value": carried,
			"method":     only("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"),
		},
		under("queryParams[]", matched()),
	)
}

func grpcMatches() fields {
	return fields{"method.type": only("Exact"), "method.service": carried, "method.method": carried}
}
