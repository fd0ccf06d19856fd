package ladder

import (
	"slices"

	"github.com/limpet-proxy/limpet/policy-config"
)

// Rest is what a session policy of the plugin needs beside an [Effective]: what hangs on the rule's identity and its
// matches. All of it goes into the policy as it stands.
type Rest struct {
	// Name, Scope, Routes and Clusters are as in [policyconfig.Policy].
	Name, Scope      string
	Routes, Clusters []string
	// SessionName is [Effective.SessionName] or a generated one, with a suffix where one is needed (S25 to S27).
	SessionName string
	// CookiePath is [Effective.CookiePath] or a computed one (S23), empty for no Path. Without meaning for headers.
	CookiePath string
}

// Policy gives the plugin's policy. Fields that nobody writes have the plugin's own defaults. drainTimeout is not
// among them: see [Effective.DrainTimeout]. Every call gives a value of its own.
func (e *Effective) Policy(rest Rest) policyconfig.Policy {
	p := defaultPolicy()
	if e.Type() == policyconfig.TypeHeader {
		p.Cookie = nil
	}
	for i := range e.Fields {
		f := &e.Fields[i]
		if apply := table[indexOf[f.Name]].apply; apply != nil && f.Rung != BuiltIn {
			apply(p, f.Value)
		}
	}
	p.Name, p.Scope, p.Routes, p.Clusters = rest.Name, rest.Scope, rest.Routes, rest.Clusters
	p.SessionName = rest.SessionName
	if p.Cookie != nil {
		p.Cookie.Path = rest.CookiePath
		p.Cookie.Attributes = slices.Clone(p.Cookie.Attributes)
	}
	return *p
}

// defaultPolicy has every default in place, the cookie's too.
func defaultPolicy() *policy {
	p, c := policyconfig.DefaultPolicy(), policyconfig.DefaultCookie()
	p.Cookie = &c
	return &p
}
