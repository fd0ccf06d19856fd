package resource

// policySettings are the fields of each block of a SessionPersistencePolicy.
var policySettings = []string{
	"disabled", "type", "sessionName", "header.name", "absoluteTimeout", "absoluteTimeoutSeconds", "idleTimeout",
	"idleTimeoutSeconds", "renewAfterPercent", "drainTimeout", "cookie.lifetimeType", "cookie.path", "cookie.domain",
	"cookie.sameSite", "cookie.secure", "cookie.httpOnly", "cookie.partitioned", "cookie.attributes[]", "onHostLost",
	"failStatus", "endSessionHeader", "issueOn", "cache.control", "cache.skipCacheable", "cache.unsafeMethodsOnly",
	"revocation.epoch", "revocation.notBefore", "revealHost", "forward",
}

// sessionPolicyFields are those of a SessionPersistencePolicy: its targets, and its settings in each of its blocks.
func sessionPolicyFields() fieldSupport {
	ref := supportAll("group", "kind", "name", "sectionName")
	return joinRows(
		nestUnder("spec.targetRefs[]", ref), nestUnder("spec.targetRef", ref),
		nestUnder("spec", supportAll(policySettings...)), nestUnder("spec.default", supportAll(policySettings...)), nestUnder("spec.override", supportAll(policySettings...)),
	)
}

// The fields of sessionPersistence that began with 1.7 or are in both shapes, and those of the shape up to 1.6.
func sessionFields17() fieldSupport {
	return supportAll("type", "absoluteTimeout", "cookie.name", "cookie.path", "cookie.lifetimeType", "header.name")
}

func sessionFields16() fieldSupport {
	return supportAll("sessionName", "idleTimeout", "cookieConfig.lifetimeType")
}

func xbackendFields() fieldSupport {
	return joinRows(
		fieldSupport{
			"spec.type":                         onlyValues("EndpointSelector"),
			"spec.port.number":                  supported,
			"spec.endpointSelector.matchLabels": supported,
			"spec.protocol":                     onlyValues("HTTP", "HTTP11", "HTTP2", "H2C", "GRPC"),
			"spec.tls.mode":                     onlyValues("None"),
		},
		nestUnder("spec."+sessionKey, sessionFields17()),
	)
}

func trafficFields() fieldSupport {
	return joinRows(
		nestUnder("spec.targetRefs[]", supportAll("group", "kind", "name")),
		nestUnder("spec.retryConstraint", supportAll("budget.percent", "budget.interval", "minRetryRate.count", "minRetryRate.interval")),
		nestUnder("spec."+sessionKey, joinRows(sessionFields16(), sessionFields17())),
	)
}
