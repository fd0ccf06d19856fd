package policy

import (
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
)

// Limit is a field that is written and does not hold as it is, on this target or with these options.
type Limit struct {
	Field string
	// Holds is what holds in its place; empty where that depends on who applies the result, and then the field stands.
	Holds string
	// Why says so to people.
	Why string
}

// findLimits lists what of a rule's session does not hold as it is written.
func (o *Options) findLimits(r *Rule, s *Session) (all []Limit) {
	for _, find := range []func(*Options, *Rule, *Session) Limit{
		(*Options).limitUnselected, (*Options).limitDrain, (*Options).limitIdentity,
		(*Options).limitDomain, (*Options).limitCookiePath,
	} {
		if l := find(o, r, s); l.Why != "" {
			all = append(all, l)
		}
	}
	return all
}

// limitUnselected is about input that does not tell which pods are no endpoints any more (S42).
func (o *Options) limitUnselected(_ *Rule, s *Session) Limit {
	if _, written := s.Effective.KeepUnselected(); !written || o.KnowsTermination {
		return Limit{}
	}
	return Limit{
		"keepUnselected", o.holdsHere("0s"),
		"not supported: nothing here watches pods, so sessions leave a pod when its Service does not select it any more",
	}
}

// limitDrain is about input that does not tell since when a host terminates (S41).
func (o *Options) limitDrain(_ *Rule, s *Session) Limit {
	if _, written := s.Effective.DrainTimeout(); !written || o.KnowsTermination {
		return Limit{}
	}
	return Limit{
		"drainTimeout", o.holdsHere("none"),
		"not supported: EndpointSlices don't say since when a host terminates, so sessions stay as long as it serves",
	}
}

// holdsHere is what holds where the control plane makes the endpoints; elsewhere the same input may be watched.
func (o *Options) holdsHere(value string) string {
	if o.ExternalControlPlane {
		return value
	}
	return ""
}

// limitIdentity is about what is written of pods and can't hold (S42).
func (o *Options) limitIdentity(_ *Rule, s *Session) Limit {
	identity, written := s.Effective.Identity()
	l := Limit{Field: "identity", Holds: string(v1alpha1.IdentityAddress)}
	switch {
	case !written || identity == v1alpha1.IdentityAddress:
	case o.ExternalControlPlane:
		l.Why = "not supported: this target's control plane makes the endpoints, and nobody tells the filter whose their " +
			"addresses are"
	case identity == v1alpha1.IdentityPod && !o.KnowsTermination:
		l.Why = "whose an address was is known to who follows endpoints, limpet run or limpet serve; sessions are with the " +
			"address"
		l.Holds = ""
	}
	return l
}
