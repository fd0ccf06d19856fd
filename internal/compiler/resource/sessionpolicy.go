package resource

import (
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

var sessionPolicyKind = newKind(definition[v1alpha1.SessionPersistencePolicy]{
	Traits: Traits{HasStatus: true, Describable: true},
	group:  v1alpha1.Group, kind: object.KindSessionPolicy, versions: []string{v1alpha1.Version},
	fields: sessionPolicyFields,
	list:   func(o *Objects) *[]*Object[v1alpha1.SessionPersistencePolicy] { return &o.SessionPolicies },
})

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
