package status

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// reasonPending is the reason of Programmed=False for a policy that no request reaches.
const reasonPending = gatewayv1.PolicyConditionReason(gatewayv1.GatewayReasonPending)

// ancestor is one entry of a policy: a Gateway that it has an effect on, or a target that is missing or that no
// Gateway leads to (S59).
type ancestor struct {
	ref ladder.Target
	// refused is why the policy has no effect on the target, nil if it has.
	refused *policy.Attachment
	// ways are those through the Gateway that the policy has a say on.
	ways []*policy.Decision
}

// entry is an ancestor and what is said there.
type entry struct {
	ref        ladder.Target
	conditions []metav1.Condition
}

func (b *builder) policies() {
	for _, p := range b.Objects.SessionPolicies {
		was := written[gatewayv1.PolicyStatus](p.Status)
		b.add(p.Value.TypeMeta, p.Value.ObjectMeta, b.entries(p.Value.ObjectMeta, was, b.policy(p, p.Source().Object)))
	}
	for _, p := range b.Objects.TrafficPolicies {
		was := written[gatewayv1.PolicyStatus](p.Status)
		b.add(p.Value.TypeMeta, p.Value.ObjectMeta, b.entries(p.Value.ObjectMeta, was, b.policy(p, p.Source().Object)))
	}
}

// policy gives the entries of a policy with sessions.
func (b *builder) policy(about report.Subject, object ladder.Object) []entry {
	limits := slices.DeleteFunc(slices.Clone(b.about(about)), func(p report.Problem) bool { return slices.Contains(refusing, p.Reason) })
	var all []entry
	for _, a := range b.ancestors(object) {
		all = append(all, entry{a.ref, b.policyConditions(object, a, limits)})
	}
	return all
}

// entries writes a policy's entries after those of other controllers, as far as there is room (S63).
func (b *builder) entries(meta metav1.ObjectMeta, was gatewayv1.PolicyStatus, all []entry) gatewayv1.PolicyStatus {
	s := gatewayv1.PolicyStatus{Ancestors: []gatewayv1.PolicyAncestorStatus{}}
	for _, a := range was.Ancestors {
		if a.ControllerName != ControllerName {
			s.Ancestors = append(s.Ancestors, a)
		}
	}
	for _, e := range all {
		if len(s.Ancestors) >= v1alpha1.MaxAncestors {
			break
		}
		ref := reference(e.ref)
		var there []metav1.Condition
		at := slices.IndexFunc(was.Ancestors, func(o gatewayv1.PolicyAncestorStatus) bool {
			return o.ControllerName == ControllerName && sameParent(o.AncestorRef, ref, meta.Namespace)
		})
		if at >= 0 {
			there = was.Ancestors[at].Conditions
		}
		s.Ancestors = append(s.Ancestors, gatewayv1.PolicyAncestorStatus{
			AncestorRef: ref, ControllerName: ControllerName,
			Conditions: b.writer(meta).merge(there, []string{string(v1alpha1.ConditionProgrammed)}, e.conditions...),
		})
	}
	return s
}

// ancestors finds a policy's entries, in the order of its targets and of what they lead to.
func (b *builder) ancestors(object ladder.Object) []*ancestor {
	var all []*ancestor
	at := func(ref ladder.Target) *ancestor {
		i := slices.IndexFunc(all, func(a *ancestor) bool { return a.ref == ref })
		if i < 0 {
			i, all = len(all), append(all, &ancestor{ref: ref})
		}
		return all[i]
	}
	for _, a := range b.decided.attachments[object] {
		ways := b.decided.ways[a.Target]
		switch {
		case a.Reason != "":
			at(a.Target).refused = a
			continue
		case len(ways) == 0:
			at(a.Target)
		}
		for _, w := range ways {
			if b.Decisions.Crowded.At(object, w.Way.Gateway) {
				continue
			}
			gateway := at(ladder.Target{Object: w.Way.Gateway})
			if !slices.Contains(gateway.ways, w) {
				gateway.ways = append(gateway.ways, w)
			}
		}
	}
	return all
}

// reference names an ancestor in the API's way.
func reference(t ladder.Target) gatewayv1.ParentReference {
	group, kind := gatewayv1.Group(gatewayv1.GroupName), gatewayv1.Kind(t.Kind)
	switch t.Kind {
	case ladder.KindService:
		group = ""
	case ladder.KindXBackend:
		group = gatewayxv1alpha1.GroupName
	case ladder.KindVirtualService:
		group = resource.IstioGroup
	case resource.KindIstioGateway:
		group, kind = resource.IstioGroup, "Gateway"
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
// Limits are what else there is to say of the policy: what is not honoured in full, or can't be carried.
func (b *builder) policyConditions(object ladder.Object, a *ancestor, limits []report.Problem) []metav1.Condition {
	if a.refused != nil {
		return []metav1.Condition{condition(gatewayv1.PolicyConditionAccepted, false,
			gatewayv1.PolicyConditionReason(a.refused.Reason), placed(a.refused.Path, a.refused.Message))}
	}
	share := b.share(object, a.ways)
	if len(share.conflicts) > 0 {
		return []metav1.Condition{condition(gatewayv1.PolicyConditionAccepted, false, gatewayv1.PolicyReasonConflicted, listed(share.conflicts))}
	}
	for _, p := range limits {
		share.notes = once(share.notes, placed(p.Path, p.Message))
	}
	return []metav1.Condition{
		condition(gatewayv1.PolicyConditionAccepted, true, gatewayv1.PolicyReasonAccepted, ""),
		share.programmed(a.ref),
	}
}

// share is a policy's part in what holds on some ways.
type share struct {
	ways      int
	conflicts []string // of those that it loses
	notes     []string // what else of it does not hold
	// holds: a field that it writes has an effect; wrote: it writes one at all.
	holds, wrote bool
	// merges: an override, or another block, has a part in the result together with others' blocks.
	overrides, defaults bool
	others              []string // whose fields hold beside its own
	stronger            []string // whose fields hold instead of its own
}

// share looks at a policy's part on each of the ways.
func (b *builder) share(object ladder.Object, ways []*policy.Decision) *share {
	s := &share{ways: len(ways)}
	for _, d := range ways {
		e := &d.Effective
		for i := range e.Fields {
			s.field(object, e, &e.Fields[i])
		}
		if off := len(e.Fields) > 0 && !e.On; off && e.Fields[0].Source.Object != object {
			s.stronger = once(s.stronger, e.Fields[0].Source.String())
		}
		for _, drop := range e.Dropped {
			if drop.Source.Object == object {
				s.wrote = true
				s.notes = once(s.notes, drop.Message())
			}
		}
		s.lost(object, e)
		for _, r := range d.Refusals {
			s.notes = once(s.notes, fmt.Sprintf("%s is refused: %s", d.Route, placed(r.Path, r.Message)))
		}
	}
	for _, r := range b.decided.renames[object] {
		if slices.ContainsFunc(ways, func(d *policy.Decision) bool { return d.Route == r.Route && d.Rule == r.Rule }) {
			s.notes = once(s.notes, fmt.Sprintf("the name %s is %s at %s rule %d (%s)", r.From, r.To, r.Route, r.Rule, r.Law))
		}
	}
	return s
}

// lost notes where the policy loses to another on its rung.
func (s *share) lost(object ladder.Object, e *ladder.Effective) {
	for _, c := range e.Conflicts {
		switch {
		case c.Loser.Object != object:
		case c.Elsewhere:
			s.notes = once(s.notes, c.Message())
		default:
			s.conflicts = once(s.conflicts, c.Message())
		}
	}
}

// field looks at one field. Where there are no sessions, only what says so has an effect.
func (s *share) field(object ladder.Object, e *ladder.Effective, f *ladder.Field) {
	mine := func(w ladder.Written) bool { return w.Rung != ladder.BuiltIn && w.Source.Object == object }
	switch {
	case mine(f.Written):
		s.wrote = true
		s.holds = s.holds || e.On || f.Value == true
		s.overrides, s.defaults = s.overrides || f.Rung.IsOverride(), s.defaults || !f.Rung.IsOverride()
	case f.Rung != ladder.BuiltIn:
		s.others = once(s.others, f.Source.String())
	}
	for _, w := range f.Beats {
		switch {
		case !mine(w):
		case w.Implied: // by being there, which is no word of its own
			s.wrote = true
		case w.Text == f.Text:
			s.wrote, s.holds = true, s.holds || e.On // the same as what holds
		default:
			s.wrote, s.stronger = true, once(s.stronger, f.Source.String())
		}
	}
}

// programmed says whether what the policy asks for holds.
func (s *share) programmed(ref ladder.Target) metav1.Condition {
	kind := v1alpha1.ConditionProgrammed
	switch {
	case s.ways == 0:
		return pending(ref)
	case s.wrote && !s.holds && len(s.stronger) > 0:
		return condition(kind, false, v1alpha1.ReasonOverridden, "overridden by "+listed(s.stronger))
	case len(s.notes) > 0:
		return condition(kind, true, v1alpha1.ReasonPartiallyProgrammed, listed(s.notes))
	default:
		return condition(kind, true, v1alpha1.ReasonProgrammed, s.merged())
	}
}

// merged names the merge by GEP-713's strategies (S7, S61); empty if the policy is alone.
func (s *share) merged() string {
	var as []string
	if s.overrides {
		as = append(as, "patch overrides")
	}
	if s.defaults {
		as = append(as, "patch defaults")
	}
	if len(s.others) == 0 || len(as) == 0 {
		return ""
	}
	return "merged, as " + strings.Join(as, " and ") + ", with " + listed(s.others)
}

func once(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// listed joins what a message has room for.
func listed(parts []string) string {
	if len(parts) > maxProblems {
		parts = append(slices.Clone(parts[:maxProblems]), fmt.Sprintf("and %d more", len(parts)-maxProblems))
	}
	return strings.Join(parts, "; ")
}
