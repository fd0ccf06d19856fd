package ir

import (
	"slices"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// RuleSessions is what session persistence comes to for a rule.
type RuleSessions struct {
	// Refused says that the rule can't have the session that it asks for.
	Refused bool
	// PerBackend says that each backend has a session of its own, and that the weights choose among them on every
	// request. WantsShared says that the rule asks for one session for all backends all the same.
	PerBackend, WantsShared bool
	// All are those that are on: at most one without PerBackend.
	All []*Session
}

// On reports whether requests of the rule have sessions.
func (s *RuleSessions) On() bool { return !s.Refused && len(s.All) > 0 }

// IsStrict reports whether some session of the rule fails with its host.
func (s *RuleSessions) IsStrict() bool {
	for _, one := range s.All {
		if one.FailStatus() != 0 {
			return true
		}
	}
	return false
}

// Session is one of a rule, or of one of the rule's backends.
type Session struct {
	// Backend is the one that the session is about; nil for all of the rule's.
	Backend *Backend
	// Policies are the filter's: several where matches have cookies of their own. Name is that of one policy in place of
	// them, for a target that can't tell the matches apart.
	Policies []SessionPolicy
	Name     string
}

// FailStatus is what requests get whose host can't serve; 0 if they go to another.
func (s *Session) FailStatus() int { return FailStatus(&s.Policies[0].Policy) }

// FailStatus is what a policy's requests get whose host can't serve; 0 if they go to another.
func FailStatus(p *policyconfig.Policy) int {
	if p.OnHostLost == policyconfig.Fail {
		return p.FailStatus
	}
	return 0
}

// StaysWithin reports whether a policy's sessions stay in their backend when their host is lost: that is in their
// tokens.
func StaysWithin(p *policyconfig.Policy) bool {
	return p.OnHostLost == policyconfig.RebalanceWithin
}

// Anywhere gives the policies for requests that have one backend only, or whose proxy can't tell backends apart: to
// stay within it is then no more than to move, and what a backend of theirs is revoked for voids all of their sessions
// that are as old.
func Anywhere(policies []policyconfig.Policy) []policyconfig.Policy {
	if !slices.ContainsFunc(policies, tellsBackends) {
		return policies
	}
	policies = slices.Clone(policies)
	for i := range policies {
		if StaysWithin(&policies[i]) {
			policies[i].OnHostLost = policyconfig.Rebalance
		}
		of := &policies[i].Revocation
		for _, text := range of.Backends {
			if b, err := policyconfig.ParseRevokedBackend(text); err == nil {
				of.NotBefore = max(of.NotBefore, b.Before)
			}
		}
		of.Backends = nil
	}
	return policies
}

// tellsBackends reports whether a policy has something to say of one of several backends.
func tellsBackends(p policyconfig.Policy) bool {
	return StaysWithin(&p) || len(p.Revocation.Backends) > 0
}

// SessionPolicy is a policy of the filter, but for the names by which that finds routes and clusters: each target has
// its own.
type SessionPolicy struct {
	// Policy has neither Routes nor Clusters.
	policyconfig.Policy
	// Matches are the rule's matches, by index, that it is for.
	Matches []int
}
