package schema

// settings are the fields of each block of a SessionPersistencePolicy.
var settings = []string{
	"disabled", "type", "sessionName", "header.name", "absoluteTimeout", "absoluteTimeoutSeconds", "idleTimeout",
	"idleTimeoutSeconds", "renewAfterPercent", "drainTimeout", "cookie.lifetimeType", "cookie.path", "cookie.domain",
	"cookie.sameSite", "cookie.secure", "cookie.httpOnly", "cookie.partitioned", "cookie.attributes[]", "onHostLost",
	"failStatus", "endSessionHeader", "issueOn", "cache.control", "cache.skipCacheable", "cache.unsafeMethodsOnly",
	"revocation.epoch", "revocation.notBefore", "revealHost", "forward",
}

// withSessions adds to the table what concerns session persistence.
func withSessions(table map[string]map[string]Treatment) map[string]map[string]Treatment {
	table["SessionPersistencePolicy"] = map[string]Treatment{}
	for _, name := range []string{"group", "kind", "name", "sectionName"} {
		table["SessionPersistencePolicy"]["spec.targetRefs[]."+name] = carried
		table["SessionPersistencePolicy"]["spec.targetRef."+name] = carried
	}
	for _, block := range []string{"spec", "spec.default", "spec.override"} {
		for _, name := range settings {
			table["SessionPersistencePolicy"][block+"."+name] = carried
		}
	}
	table["XBackendTrafficPolicy"] = map[string]Treatment{}
	table["XBackend"] = map[string]Treatment{
		"spec.type":                         only("EndpointSelector"),
		"spec.port.number":                  carried,
		"spec.endpointSelector.matchLabels": carried,
		"spec.protocol":                     only("HTTP", "HTTP11", "HTTP2", "H2C", "GRPC"),
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
