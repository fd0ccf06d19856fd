package schema

// withSessions adds to the table what concerns session persistence.
func withSessions(table map[string]map[string]Treatment) map[string]map[string]Treatment {
	table["SessionPersistencePolicy"] = map[string]Treatment{"spec": carried}
	table["XBackendTrafficPolicy"] = map[string]Treatment{}
	table["XBackend"] = map[string]Treatment{
		"spec.type":                         only("EndpointSelector"),
		"spec.port.number":                  carried,
		"spec.endpointSelector.matchLabels": carried,
		"spec.protocol":                     only("HTTP", "HTTP11"),
		"spec.tls.mode":                     only("None"),
	}
	for kind, at := range sessionsAt {
		if table[kind] == nil {
			continue
		}
		for _, name := range []string{"type", "absoluteTimeout", "cookie.name", "cookie.path", "cookie.lifetimeType", "header.name"} {
			table[kind][at+"."+name] = carried
		}
		if kind == "XBackend" {
			continue // began with 1.7
		}
		for _, name := range []string{"sessionName", "idleTimeout", "cookieConfig.lifetimeType"} {
			table[kind][at+"."+name] = carried
		}
	}
	return table
}
