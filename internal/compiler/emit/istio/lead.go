package istio

import (
	"fmt"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// leadHeader is the header that copies match.
var leadHeader = policyconfig.BackendHeader(policyconfig.DefaultPinHeader)

// isSplit tells whether the rule's sessions are over several backends.
func isSplit(rule *ir.AttachedRule) bool {
	return !rule.Sessions.PerBackend && len(rule.DistinctBackends()) > 1
}

// newLead says to which backend of a rule its cluster leads. A split has a tag, so that no rule's requests meet
// another's copies.
func newLead(rule *ir.AttachedRule, b *ir.Backend) policyconfig.Lead {
	l := policyconfig.Lead{Cluster: clusterName(b), Backend: b.Tag}
	if isSplit(rule) {
		l.Rule = token.BackendTag(fmt.Sprintf("%s/%d/%s", rule.Route.Ref, rule.Index, rule.Name))
	}
	return l
}

func listLeads(rule *ir.AttachedRule) (leads []string) {
	for _, b := range rule.DistinctBackends() {
		leads = append(leads, newLead(rule, b).String())
	}
	return leads
}

// findSplitScopes are the scopes of splits' sessions: rules that share them tell their backends too.
func (p *proxySet) findSplitScopes() splitScopes {
	scopes := splitScopes{}
	for _, rule := range p.rules {
		for _, s := range rule.Sessions.All {
			for _, one := range s.Policies {
				scopes[one.Scope] = scopes[one.Scope] || isSplit(rule)
			}
		}
	}
	return scopes
}

// splitScopes are scopes, each with whether a split's sessions are of it.
type splitScopes map[string]bool

// have tells whether a rule has a split's sessions.
func (of splitScopes) have(rule *ir.AttachedRule) bool {
	return slices.ContainsFunc(rule.Sessions.All, func(s *ir.Session) bool {
		return slices.ContainsFunc(s.Policies, func(one ir.SessionPolicy) bool { return of[one.Scope] })
	})
}
