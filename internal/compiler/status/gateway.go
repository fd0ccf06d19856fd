package status

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// writeClasses accepts the GatewayClasses that are limpet's.
func (b *builder) writeClasses() {
	for _, c := range wanted(b, b.Objects.Classes) {
		if c.Value.Spec.ControllerName != b.Objects.ControllerName() {
			continue
		}
		s := parseStatus[gatewayv1.GatewayClassStatus](b, c)
		accepted := newCondition(gatewayv1.GatewayClassConditionStatusAccepted, true, gatewayv1.GatewayClassReasonAccepted,
			"limpet compiles Gateways of this class")
		if faults := filterByReason(b.problems[c.Ref()], gatewayv1.GatewayClassReasonInvalidParameters); len(faults) > 0 {
			accepted = newCondition(gatewayv1.GatewayClassConditionStatusAccepted, false,
				gatewayv1.GatewayClassReasonInvalidParameters, joinProblems(faults))
		}
		s.SupportedFeatures = listFeatures()
		s.Conditions = b.newWriter(c.Value.ObjectMeta).merge(s.Conditions, ownedByAffected,
			append([]metav1.Condition{accepted}, b.affectedTarget(object.TargetRef{Ref: c.Ref()})...)...)
		b.addObject(c.Value.TypeMeta, c.Value.ObjectMeta, s)
	}
}

// writeGateway writes a Gateway's status: its listeners', and what they come to.
func (b *builder) writeGateway(g *gateway.Status) {
	o, was := g.Gateway.Value, parseStatus[gatewayv1.GatewayStatus](b, g.Gateway)
	w := b.newWriter(o.ObjectMeta)
	problems := b.problems[g.Gateway.Ref()]
	s := gatewayv1.GatewayStatus{}
	if attached := b.countSets(g); len(g.Sets) > 0 || was.AttachedListenerSets != nil {
		s.AttachedListenerSets = &attached
	}
	for _, a := range g.Addresses {
		kind := gatewayv1.IPAddressType
		s.Addresses = append(s.Addresses, gatewayv1.GatewayStatusAddress{Type: &kind, Value: a.String()})
	}
	var states []listenerState
	for _, l := range g.Listeners() {
		state := newListenerState(l, problems, problems)
		states = append(states, state)
		affected := b.affectedTarget(object.TargetRef{Ref: g.Gateway.Ref(), Section: string(l.Name)})
		s.Listeners = append(
			s.Listeners,
			b.newListenerStatus(g, l, append(state.listConditions(), affected...), w, was.Listeners),
		)
	}
	conditions := b.noteUnacknowledged(g, was.Conditions, b.noteProxies(g, &s, gatewayConditions(g, states, problems)))
	s.Conditions = w.merge(was.Conditions, ownedByGateway, append(conditions,
		b.affectedGateway(g.Gateway.Ref(), string(o.Spec.GatewayClassName))...)...)
	b.addObject(o.TypeMeta, o.ObjectMeta, s)
	for _, set := range g.Sets {
		b.writeListenerSet(g, set)
	}
}

// gatewayConditions sums up the listeners. A Gateway is accepted as long as one of them is.
func gatewayConditions(g *gateway.Status, states []listenerState, problems []report.Problem) []metav1.Condition {
	var invalid, unresolved []string
	for _, l := range states {
		if !l.accepted && g.Refused == "" || !l.resolved {
			invalid = append(invalid, string(l.name))
		}
		if !l.resolved {
			unresolved = append(unresolved, string(l.name))
		}
	}
	usable := slices.ContainsFunc(states, func(l listenerState) bool { return l.accepted })
	accepted := newCondition(gatewayv1.GatewayConditionAccepted, usable, gatewayv1.GatewayReasonAccepted, "")
	if len(invalid) > 0 {
		accepted.Reason = string(gatewayv1.GatewayReasonListenersNotValid)
		accepted.Message = "listeners that are not valid: " + strings.Join(invalid, ", ")
	}
	if g.Refused != "" {
		accepted = newCondition(
			gatewayv1.GatewayConditionAccepted,
			false,
			g.Refused,
			joinProblems(filterByReason(problems, g.Refused)),
		)
	}
	resolved := newCondition(gatewayv1.GatewayConditionResolvedRefs, true, gatewayv1.GatewayReasonResolvedRefs, "")
	own := filterByPlace(problems, func(p report.Place) bool { return p.Section == report.GatewayBackend })
	if len(own) > 0 {
		resolved = newCondition(gatewayv1.GatewayConditionResolvedRefs, false, own[0].Reason, joinProblems(own))
	} else if len(unresolved) > 0 {
		resolved = newCondition(gatewayv1.GatewayConditionResolvedRefs, false, gatewayv1.GatewayReasonListenersNotResolved,
			"listeners with references that are not resolved: "+strings.Join(unresolved, ", "))
	}
	all := []metav1.Condition{accepted, gatewayProgrammed(usable && g.Refused == "", problems), resolved}
	if g.AllowsInvalidClients {
		all = append(all, newCondition(
			gatewayv1.GatewayConditionInsecureFrontendValidationMode,
			true,
			gatewayv1.GatewayReasonConfigurationChanged,
			"clients get in without a certificate that is valid (AllowInsecureFallback)",
		))
	}
	return all
}

// ownedByGateway are the conditions that go from a Gateway when they do not hold any more.
var ownedByGateway = append(
	[]string{string(gatewayv1.GatewayConditionInsecureFrontendValidationMode)},
	ownedByAffected...)

// ReasonRejected is the reason of problems of Gateways some of whose configuration an Envoy has not taken.
const ReasonRejected = "Rejected"

func gatewayProgrammed(usable bool, problems []report.Problem) metav1.Condition {
	const taken = gatewayv1.GatewayConditionReason(gatewayv1.ListenerReasonPortUnavailable)
	rejected := filterByReason(problems, gatewayv1.GatewayConditionReason(ReasonRejected))
	unbound := filterByReason(problems, gatewayv1.GatewayReasonAddressNotUsable, taken)
	switch {
	case len(unbound) > 0:
		return newCondition(
			gatewayv1.GatewayConditionProgrammed,
			false,
			gatewayv1.GatewayReasonAddressNotUsable,
			joinProblems(unbound),
		)
	case len(rejected) > 0:
		return newCondition(
			gatewayv1.GatewayConditionProgrammed,
			false,
			gatewayv1.GatewayReasonInvalid,
			joinProblems(rejected),
		)
	case !usable:
		return newCondition(gatewayv1.GatewayConditionProgrammed, false, gatewayv1.GatewayReasonInvalid,
			"it is not accepted, or none of its listeners")
	default:
		return newCondition(gatewayv1.GatewayConditionProgrammed, true, gatewayv1.GatewayReasonProgrammed, "")
	}
}

// listenerState is what a listener's conditions are about.
type listenerState struct {
	name gatewayv1.SectionName
	// accepted: it listens on one address at least, or would if the Gateway had one that can be bound.
	accepted, programmed, resolved bool
	// empty: it speaks TLS and has no certificate; kindless: it takes no kind of route that limpet knows.
	empty, kindless bool
	// refused: it is not accepted for what it is, not for another listener.
	refused bool
	// ofSet says that it is a ListenerSet's.
	ofSet bool
	// conflicts, unavailable and unresolved are the problems behind it.
	conflicts, unavailable, unresolved []report.Problem
	// overlaps names the listeners with TLS that have hosts in common with it.
	overlaps []string
}

// newListenerState sees how a listener does, by the problems of the object that it is written in and those of its
// Gateway.
func newListenerState(l gateway.ListenerStatus, problems, ofGateway []report.Problem) listenerState {
	empty, kindless := l.TLS && l.Certificates == 0, len(l.Kinds) == 0
	own := filterByPlace(problems, func(p report.Place) bool { return p.IsIn(report.Listeners, l.Key.Index) })
	if by := l.ValidatedBy; by.Section != report.NoSection {
		own = append(own, filterByPlace(ofGateway, func(p report.Place) bool { return p.IsIn(by.Section, by.Index) })...)
	}
	unresolved := filterByReason(
		own,
		gatewayv1.ListenerReasonInvalidRouteKinds,
		gatewayv1.ListenerReasonInvalidCertificateRef,
		gatewayv1.ListenerReasonRefNotPermitted,
		gatewayv1.ListenerReasonInvalidCACertificateRef,
		gatewayv1.ListenerReasonInvalidCACertificateKind,
	)
	conflicts := filterByReason(own, gatewayv1.ListenerReasonProtocolConflict, gatewayv1.ListenerReasonHostnameConflict)
	unavailable := filterByReason(own, gatewayv1.ListenerReasonPortUnavailable)
	if l.Refused != "" {
		conflicts = filterByReason(own, l.Refused)
	}
	return listenerState{
		name:       l.Name,
		accepted:   l.Bound > 0 || l.Refused == "" && len(conflicts)+len(unavailable) == 0,
		refused:    l.Refused != "",
		programmed: l.Bound > 0 && !kindless && !empty,
		resolved:   len(unresolved) == 0,
		empty:      empty,
		kindless:   kindless,
		conflicts:  conflicts,
		unresolved: unresolved,
		overlaps:   l.Overlaps,

		unavailable: unavailable,
	}
}

func (b *builder) newListenerStatus(
	g *gateway.Status,
	l gateway.ListenerStatus,
	conditions []metav1.Condition,
	w conditionWriter,
	was []gatewayv1.ListenerStatus,
) gatewayv1.ListenerStatus {
	s := gatewayv1.ListenerStatus{Name: l.Name, SupportedKinds: l.Kinds}
	if s.SupportedKinds == nil {
		s.SupportedKinds = []gatewayv1.RouteGroupKind{} // none at all, as opposed to not known
	}
	s.AttachedRoutes = b.countAttached(l)
	var there []metav1.Condition
	if at := slices.IndexFunc(was, func(o gatewayv1.ListenerStatus) bool { return o.Name == l.Name }); at >= 0 {
		there = was[at].Conditions
	}
	s.Conditions = w.merge(there, ownedByListener, b.noteUnacknowledged(g, there, conditions)...)
	return s
}

// countAttached counts the routes that attach to a listener, without those that are refused as a whole.
func (b *builder) countAttached(l gateway.ListenerStatus) (count int32) {
	if b.Some != nil {
		return int32(b.Some.Attached[l.Key])
	}
	for _, route := range l.Routes {
		if !b.refusedRules[route].whole {
			count++
		}
	}
	return count
}

func (l listenerState) listConditions() []metav1.Condition {
	accepted := newCondition(gatewayv1.ListenerConditionAccepted, true, gatewayv1.ListenerReasonAccepted, "")
	if why := slices.Concat(l.unavailable, l.conflicts); !l.accepted {
		accepted = newCondition(gatewayv1.ListenerConditionAccepted, false, why[0].Reason, joinProblems(why))
	}
	programmed := newCondition(gatewayv1.ListenerConditionProgrammed, true, gatewayv1.ListenerReasonProgrammed, "")
	if !l.programmed {
		reason := gatewayv1.ListenerReasonInvalid
		if l.ofSet && !l.accepted {
			reason = gatewayv1.ListenerConditionReason(accepted.Reason)
		}
		programmed = newCondition(gatewayv1.ListenerConditionProgrammed, false, reason, l.explainUnprogrammed())
	}
	resolved := newCondition(gatewayv1.ListenerConditionResolvedRefs, true, gatewayv1.ListenerReasonResolvedRefs, "")
	if !l.resolved {
		resolved = newCondition(
			gatewayv1.ListenerConditionResolvedRefs,
			false,
			l.unresolved[0].Reason,
			joinProblems(l.unresolved),
		)
	}
	conflicted := newCondition(gatewayv1.ListenerConditionConflicted, false, gatewayv1.ListenerReasonNoConflicts, "")
	if len(l.conflicts) > 0 && !l.refused {
		conflicted = newCondition(
			gatewayv1.ListenerConditionConflicted,
			true,
			l.conflicts[0].Reason,
			joinProblems(l.conflicts),
		)
	}
	all := []metav1.Condition{accepted, programmed, resolved, conflicted}
	if len(l.overlaps) > 0 {
		all = append(
			all,
			newCondition(
				gatewayv1.ListenerConditionOverlappingTLSConfig,
				true,
				gatewayv1.ListenerReasonOverlappingHostnames,
				"has hosts in common with "+strings.Join(
					l.overlaps,
					", ",
				)+": requests on a connection that was made for another listener's host get 421",
			),
		)
	}
	return all
}

// explainUnprogrammed says why nothing listens, or nothing that routes could attach to.
func (l listenerState) explainUnprogrammed() string {
	switch {
	case l.refused:
		return "it is not accepted"
	case !l.accepted && len(l.unavailable) > 0:
		return joinProblems(l.unavailable)
	case !l.accepted:
		return "another listener has its port"
	case l.empty:
		return "it has no certificate that can be used"
	case l.kindless:
		return "it allows no kind of route that limpet knows"
	default:
		return "the Gateway has no address that can be bound"
	}
}

// ownedByListener are the conditions that go from a listener when they do not hold any more.
var ownedByListener = append([]string{string(gatewayv1.ListenerConditionOverlappingTLSConfig)}, ownedByAffected...)
