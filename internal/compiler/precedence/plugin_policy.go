package precedence

import (
	"slices"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// PolicyIdentity is what a session policy of the plugin needs besides an [Effective]: what depends on the rule's
// identity and its matches. All of it goes into the policy as it stands.
type PolicyIdentity struct {
	// Name, Scope, Routes and Clusters are as in [policyconfig.Policy].
	Name, Scope      string
	Routes, Clusters []string
	// SessionName is [Effective.SessionName] or a generated one, with a suffix where one is needed (S25 to S27).
	SessionName string
	// CookiePath is [Effective.CookiePath] or a computed one (S23), empty for no Path. Without meaning for headers.
	CookiePath string
	// Mirrored says that requests are mirrored, all of whose sessions are of this policy.
	Mirrored bool
}

// BuildPolicy gives the plugin's policy. Fields that no block writes have the plugin's own defaults. drainTimeout is
// not among them: see [Effective.DrainTimeout]. Every call gives a value of its own.
func (e *Effective) BuildPolicy(identity PolicyIdentity) policyconfig.Policy {
	p := newDefaultPolicy()
	if e.Type() == policyconfig.TypeHeader {
		p.Cookie = nil
	}
	for _, f := range e.Fields {
		if row := &fieldTable[fieldIndex[f.Name]]; row.apply != nil && !row.computedLater && f.Level != BuiltIn && !f.Unset {
			row.apply(p, f.Value)
		}
	}
	p.Name, p.Scope, p.Routes, p.Clusters = identity.Name, identity.Scope, identity.Routes, identity.Clusters
	p.SessionName = identity.SessionName
	p.Mirrored = identity.Mirrored && p.Type == policyconfig.TypeCookie && p.Forward && !p.Envelope
	if p.Cookie != nil {
		p.Cookie.Path = identity.CookiePath
		p.Cookie.Attributes = slices.Clone(p.Cookie.Attributes)
	}
	p.Revocation.Sessions, p.Revocation.Hosts = slices.Clone(p.Revocation.Sessions), slices.Clone(p.Revocation.Hosts)
	return *p
}

// newDefaultPolicy has every default in place, the cookie's too.
func newDefaultPolicy() *pluginPolicy {
	p, c := policyconfig.DefaultPolicy(), policyconfig.DefaultCookie()
	p.Cookie = &c
	return &p
}
