package resource

func gatewayFields() fieldSupport {
	return fieldSupport{
		"spec.gatewayClassName":                            supported,
		"spec.addresses[].type":                            onlyValues("IPAddress"),
		"spec.addresses[].value":                           supported,
		"spec.allowedListeners.namespaces.from":            onlyValues("None"), // ListenerSets
		"spec.listeners[].name":                            supported,
		"spec.listeners[].hostname":                        supported,
		"spec.listeners[].port":                            supported,
		"spec.listeners[].protocol":                        onlyValues("HTTP", "HTTPS"),
		"spec.listeners[].tls.mode":                        onlyValues("Terminate"),
		"spec.listeners[].tls.certificateRefs[].group":     supported,
		"spec.listeners[].tls.certificateRefs[].kind":      supported,
		"spec.listeners[].tls.certificateRefs[].namespace": supported,
		"spec.listeners[].tls.certificateRefs[].name":      supported,
		"spec.listeners[].allowedRoutes.namespaces.from":   onlyValues("All", "Same"),
		"spec.listeners[].allowedRoutes.kinds[].group":     supported,
		"spec.listeners[].allowedRoutes.kinds[].kind":      supported,
	}
}

// routeFields are those of a kind of route, whose matches differ.
func routeFields(matches fieldSupport) fieldSupport {
	return joinRows(
		fieldSupport{
			"spec.parentRefs[].group": onlyValues("gateway.networking.k8s.io"),
			"spec.parentRefs[].kind":  onlyValues("Gateway"),
			"spec.useDefaultGateways": onlyValues("None"),
		},
		nestUnder("spec.parentRefs[]", supportAll("namespace", "name", "sectionName", "port")),
		supportAll("spec.hostnames[]", "spec.rules[].name"),
		nestUnder("spec.rules[].backendRefs[]", supportAll("group", "kind", "namespace", "name", "port", "weight")),
		nestUnder("spec.rules[].matches[]", matches),
		nestUnder("spec.rules[].matches[].headers[]", matchFields()),
		nestUnder("spec.rules[]."+sessionKey, joinRows(sessionFields16(), sessionFields17())),
	)
}

// retryFields are those that HTTPRoute alone has, of how long requests may take and which are tried again.
func retryFields() fieldSupport {
	return supportAll("timeouts.request", "timeouts.backendRequest", "retry.codes[]", "retry.attempts", "retry.backoff")
}

// matchFields is how names and values are compared.
func matchFields() fieldSupport {
	return fieldSupport{"type": onlyValues("Exact"), "name": supported, "value": supported}
}

func httpMatches() fieldSupport {
	return joinRows(
		fieldSupport{
			"path.type":  onlyValues("Exact", "PathPrefix"),
			"path.value": supported,
			"method":     onlyValues("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"),
		},
		nestUnder("queryParams[]", matchFields()),
	)
}

func grpcMatches() fieldSupport {
	return fieldSupport{"method.type": onlyValues("Exact"), "method.service": supported, "method.method": supported}
}
