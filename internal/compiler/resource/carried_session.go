package resource

// settings are the fields of each block of a SessionPersistencePolicy.
var settings = []string{
	"disabled", "type", "sessionName", "header.name", "absoluteTimeout", "absoluteTimeoutSeconds", "idleTimeout",
	"idleTimeoutSeconds", "renewAfterPercent", "drainTimeout", "cookie.lifetimeType", "cookie.path", "cookie.domain",
	"cookie.sameSite", "cookie.secure", "cookie.httpOnly", "cookie.partitioned", "cookie.attributes[]", "onHostLost",
	"failStatus", "endSessionHeader", "issueOn", "cache.control", "cache.skipCacheable", "cache.unsafeMethodsOnly",
	"revocation.epoch", "revocation.notBefore", "revealHost", "forward",
}

// sessionPolicyFields are those of a SessionPersistencePolicy: its targets, and its settings in each of its blocks.
func sessionPolicyFields() fields {
	ref := all("group", "kind", "name", "sectionName")
	return rows(
		under("spec.targetRefs[]", ref), under("spec.targetRef", ref),
		under("spec", all(settings...)), under("spec.default", all(settings...)), under("spec.override", all(settings...)),
	)
}

// The fields of sessionPersistence that began with 1.7 or are in both shapes, and those of the shape up to 1.6.
func sessionFields17() fields {
	return all("type", "absoluteTimeout", "cookie.name", "cookie.path", "cookie.lifetimeType", "header.name")
}

func sessionFields16() fields {
	return all("sessionName", "idleTimeout", "cookieConfig.lifetimeType")
}

func xbackendFields() fields {
	return rows(
		fields{
			"spec.type":                         only("EndpointSelector"),
			"spec.port.number":                  carried,
			"spec.endpointSelector.matchLabels": carried,
			"spec.protocol":                     only("HTTP", "HTTP11", "HTTP2", "H2C", "GRPC"),
			"spec.tls.mode":                     only("None"),
		},
		under("spec."+sessionKey, sessionFields17()),
	)
}

func trafficFields() fields {
	return rows(
		under("spec.targetRefs[]", all("group", "kind", "name")),
		under("spec.retryConstraint", all("budget.percent", "budget.interval", "minRetryRate.count", "minRetryRate.interval")),
		under("spec."+sessionKey, rows(sessionFields16(), sessionFields17())),
	)
}
