package status

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// reasonPending is the reason of Programmed=False for a policy that no request reaches.
const reasonPending = gatewayv1.PolicyConditionReason(gatewayv1.GatewayReasonPending)

// ancestor is one entry of a policy: a Gateway that it has an effect on, the GatewayClass that it is for, or a target that is
// missing or that no Gateway leads to (S59).
type ancestor struct {
	ref object.TargetRef
	// refused is why the policy has no effect on the target, nil if it has.
	refused *policy.Attachment
	// paths are those through the Gateway that the policy has a say on.
	paths []*policy.Decision
}

// entry is an ancestor and what is said there.
type entry struct {
	ref        object.TargetRef
	conditions []metav1.Condition
}

func (b *builder) writePolicies() {
	for _, p := range b.Objects.SessionPolicies {
		if !b.wants(p.Ref()) {
			continue
		}
		was := parseStatus[gatewayv1.PolicyStatus](b, p)
		b.addObject(
			p.Value.TypeMeta,
			p.Value.ObjectMeta,
			b.newPolicyStatus(p.Value.ObjectMeta, was, b.listPolicyEntries(p.Ref(), p.Value.Spec.Strategy)),
		)
	}
	for _, p := range b.Objects.TrafficPolicies {
		if !b.wants(p.Ref()) {
			continue
		}
		was := parseStatus[gatewayv1.PolicyStatus](b, p)
		b.addObject(
			p.Value.TypeMeta,
			p.Value.ObjectMeta,
			b.newPolicyStatus(p.Value.ObjectMeta, was, b.listPolicyEntries(p.Ref(), nil)),
		)
	}
}

// listPolicyEntries gives the entries of a policy with sessions, and with the strategy that it names.
func (b *builder) listPolicyEntries(ref object.Ref, strategy *v1alpha1.MergeStrategy) []entry {
	limits := slices.DeleteFunc(
		slices.Clone(b.problems[ref]),
		func(p report.Problem) bool { return p.Verdict() == report.Refused },
	)
	var all []entry
	for _, a := range b.findAncestors(ref) {
		all = append(all, entry{a.ref, b.policyConditions(ref, a, strategy, limits)})
	}
	return all
}

// newPolicyStatus writes a policy's entries after those of other controllers, as far as there is room (S63).
func (b *builder) newPolicyStatus(meta metav1.ObjectMeta, was gatewayv1.PolicyStatus, all []entry) gatewayv1.PolicyStatus {
	s := gatewayv1.PolicyStatus{Ancestors: []gatewayv1.PolicyAncestorStatus{}}
	for _, a := range was.Ancestors {
		if a.ControllerName != b.Objects.ControllerName() {
			s.Ancestors = append(s.Ancestors, a)
		}
	}
	for _, e := range all {
		if len(s.Ancestors) >= v1alpha1.MaxAncestors {
			break
		}
		ref := newParentReference(e.ref)
		var there []metav1.Condition
		at := slices.IndexFunc(was.Ancestors, func(o gatewayv1.PolicyAncestorStatus) bool {
			return o.ControllerName == b.Objects.ControllerName() && sameParent(o.AncestorRef, ref, meta.Namespace)
		})
		if at >= 0 {
			there = was.Ancestors[at].Conditions
		}
		s.Ancestors = append(s.Ancestors, gatewayv1.PolicyAncestorStatus{
			AncestorRef: ref, ControllerName: b.Objects.ControllerName(),
			Conditions: b.newWriter(meta).merge(there, []string{string(v1alpha1.ConditionProgrammed)}, e.conditions...),
		})
	}
	return s
}

// findAncestors finds a policy's entries, in the order of its targets and of what they lead to.
func (b *builder) findAncestors(ref object.Ref) []*ancestor {
	var all []*ancestor
	at := func(ref object.TargetRef) *ancestor {
		i := slices.IndexFunc(all, func(a *ancestor) bool { return a.ref == ref })
		if i < 0 {
			i, all = len(all), append(all, &ancestor{ref: ref})
		}
		return all[i]
	}
	for _, a := range b.index.attachments[ref] {
		paths := b.index.paths[a.Target]
		if a.Class != "" {
			paths = slices.DeleteFunc(slices.Clone(paths), func(d *policy.Decision) bool { return !d.Path.IsOfClass(a.Class) })
		}
		switch {
		case a.Reason != "":
			at(a.Target).refused = a
			continue
		case len(paths) == 0:
			at(a.Target)
		}
		if a.Target.Kind == object.KindGatewayClass && len(paths) > 0 { // one ancestor, however many Gateways
			class := at(a.Target)
			class.paths = append(class.paths, paths...)
			continue
		}
		for _, w := range paths {
			if b.Decisions.AncestorLimit.Reached(ref, w.Path.Gateway) {
				continue
			}
			gateway := at(object.TargetRef{Ref: w.Path.Gateway})
			if !slices.Contains(gateway.paths, w) {
				gateway.paths = append(gateway.paths, w)
			}
		}
	}
	isClass := func(a *ancestor) bool { return a.ref.Kind == object.KindGatewayClass }
	if i := slices.IndexFunc(all, isClass); i > 0 { // it comes first, and so always finds room
		all = slices.Concat(all[i:i+1], all[:i], all[i+1:])
	}
	return all
}

// newParentReference names an ancestor in the API's way.
func newParentReference(t object.TargetRef) gatewayv1.ParentReference {
	gk := object.APIKind(t.Kind)
	group, kind := gatewayv1.Group(gk.Group), gatewayv1.Kind(gk.Kind)
	if t.Kind == object.KindXBackend {
		group = gatewayxv1alpha1.GroupName
	}
	ref := gatewayv1.ParentReference{Group: &group, Kind: &kind, Name: gatewayv1.ObjectName(t.Name)}
	if t.Namespace != "" {
		namespace := gatewayv1.Namespace(t.Namespace)
		ref.Namespace = &namespace
	}
	if t.Section != "" {
		section := gatewayv1.SectionName(t.Section)
		ref.SectionName = &section
	}
	return ref
}

// policyConditions is what became of a policy at one ancestor (S60, S61).
// Limits are what else there is to say of the policy: what is not honoured in full, or can't be supported.
func (b *builder) policyConditions(
	ref object.Ref, a *ancestor, strategy *v1alpha1.MergeStrategy, limits []report.Problem,
) []metav1.Condition {
	if a.refused != nil {
		return []metav1.Condition{newCondition(gatewayv1.PolicyConditionAccepted, false,
			gatewayv1.PolicyConditionReason(a.refused.Reason), prefixPath(a.refused.Path, a.refused.Message))}
	}
	share := b.computePolicyEffect(ref, a.paths)
	share.strategy = strategy
	if len(share.conflicts) > 0 && !share.effective {
		return []metav1.Condition{
			newCondition(gatewayv1.PolicyConditionAccepted, false, gatewayv1.PolicyReasonConflicted, joinLimited(share.conflicts)),
		}
	}
	share.notes = append(share.conflicts, share.notes...)
	for _, p := range limits {
		share.notes = appendOnce(share.notes, prefixPath(p.Path, p.Message))
	}
	return []metav1.Condition{
		newCondition(gatewayv1.PolicyConditionAccepted, true, gatewayv1.PolicyReasonAccepted, ""),
		share.newProgrammed(a.ref),
	}
}

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

// addIgnored notes what has no effect though no stronger object writes the field, and whole blocks that others displace.
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

func appendOnce(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// joinLimited joins what a message has room for.
func joinLimited(parts []string) string {
	if len(parts) > maxProblems {
		parts = append(slices.Clone(parts[:maxProblems]), fmt.Sprintf("and %d more", len(parts)-maxProblems))
	}
	return strings.Join(parts, "; ")
}
