package status

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
)

// policyEffect is a policy's part in what holds on some ways.
type policyEffect struct {
	paths     int
	conflicts []string // of those that it loses
	notes     []string // what else of it does not hold
	// effective: a field that it writes has an effect; wrote: it writes one at all.
	effective, wrote bool
	// merges: an override, or another block, has a part in the result together with others' blocks.
	overrides, defaults bool
	strategy            *v1alpha1.MergeStrategy // the one that the policy names; nil for none
	others              []string                // whose fields are effective with its own
	stronger            []string                // whose fields hold instead of its own
}

// computePolicyEffect looks at a policy's part on each of the ways.
func (b *builder) computePolicyEffect(ref object.Ref, paths []*policy.Decision) *policyEffect {
	s := &policyEffect{paths: len(paths)}
	for _, d := range paths {
		e := b.crowded.narrow(ref, &d.Effective)
		for _, f := range e.Fields {
			s.addField(ref, e, f)
		}
		if off := len(e.Fields) > 0 && !e.On; off && e.Fields[0].Origin.Ref != ref {
			s.stronger = appendOnce(s.stronger, e.Fields[0].Origin.String())
		}
		s.addIgnored(ref, e)
		s.addConflicts(ref, e)
		if b.Withheld != nil {
			if why := b.Withheld(d); why != "" {
				s.notes = appendOnce(s.notes, fmt.Sprintf("%s rule %d: %s", d.Route, d.Rule, why))
			}
		}
		for _, r := range d.Refusals {
			s.notes = appendOnce(s.notes, fmt.Sprintf("%s is refused: %s", d.Route, prefixPath(r.Path, r.Message)))
		}
	}
	for _, r := range b.index.renames[ref] {
		if slices.ContainsFunc(paths, func(d *policy.Decision) bool { return d.Route == r.Route && d.Rule == r.Rule }) {
			s.notes = appendOnce(
				s.notes,
				fmt.Sprintf("the name %s is %s at %s rule %d (%s)", r.From, r.To, r.Route, r.Rule, r.SemanticsRule),
			)
		}
	}
	return s
}

// addIgnored notes what has no effect though no stronger object writes the field, and whole blocks that others
// displace.
func (s *policyEffect) addIgnored(ref object.Ref, e *precedence.Effective) {
	for _, drop := range e.Ignored {
		if drop.Origin.Ref != ref {
			continue
		}
		s.wrote = true
		switch drop.Rule {
		case "S13":
			s.conflicts = appendOnce(s.conflicts, drop.Message())
			continue
		case "S7":
			s.stronger = appendOnce(s.stronger, drop.By.Origin.String())
		}
		s.notes = appendOnce(s.notes, drop.Message())
	}
}

// addConflicts notes where the policy loses to another on its level.
func (s *policyEffect) addConflicts(ref object.Ref, e *precedence.Effective) {
	for _, c := range e.Conflicts {
		switch {
		case c.Loser.Ref != ref:
		case c.OtherTarget:
			s.notes = appendOnce(s.notes, c.Message())
		default:
			s.conflicts = appendOnce(s.conflicts, c.Message())
		}
	}
}

// addField looks at one field. Where there are no sessions, only what says so has an effect.
func (s *policyEffect) addField(ref object.Ref, e *precedence.Effective, f *precedence.Field) {
	mine := func(w precedence.FieldValue) bool { return w.Level != precedence.BuiltIn && w.Origin.Ref == ref }
	switch {
	case mine(f.FieldValue):
		s.wrote = true
		s.effective = s.effective || e.On || f.Value == true
		s.overrides, s.defaults = s.overrides || f.Level.IsOverride(), s.defaults || !f.Level.IsOverride()
	case f.Level != precedence.BuiltIn:
		s.others = appendOnce(s.others, f.Origin.String())
	}
	for _, w := range f.Overrides {
		switch {
		case !mine(w):
		case w.Implied: // by being there, which is no word of its own
			s.wrote = true
		case w.Text == f.Text:
			s.wrote, s.effective = true, s.effective || e.On // the same as what holds
		default:
			s.wrote, s.stronger = true, appendOnce(s.stronger, f.Origin.String())
		}
	}
}

// newProgrammed says whether what the policy asks for holds.
func (s *policyEffect) newProgrammed(ref object.TargetRef) metav1.Condition {
	kind := v1alpha1.ConditionProgrammed
	switch {
	case s.paths == 0:
		return newPending(ref)
	case s.wrote && !s.effective && len(s.stronger) > 0:
		return newCondition(kind, false, v1alpha1.ReasonOverridden, "overridden by "+joinLimited(s.stronger))
	case len(s.notes) > 0:
		return newCondition(kind, true, v1alpha1.ReasonPartiallyProgrammed, joinLimited(s.notes))
	default:
		return newCondition(kind, true, v1alpha1.ReasonProgrammed, s.describeMerge())
	}
}

var strategyNames = map[v1alpha1.MergeStrategy]string{
	v1alpha1.AtomicDefaults: "atomic defaults", v1alpha1.PatchDefaults: "patch defaults",
	v1alpha1.AtomicOverrides: "atomic overrides", v1alpha1.PatchOverrides: "patch overrides",
}

// describeMerge names the merge by GEP-713's strategies (S7, S61); empty if the policy is alone.
func (s *policyEffect) describeMerge() string {
	var as []string
	switch {
	case s.strategy != nil:
		as = append(as, strategyNames[*s.strategy])
	case s.overrides:
		as = append(as, "patch overrides")
	}
	if s.strategy == nil && s.defaults {
		as = append(as, "patch defaults")
	}
	if len(s.others) == 0 || len(as) == 0 {
		return ""
	}
	return "merged, as " + strings.Join(as, " and ") + ", with " + joinLimited(s.others)
}
