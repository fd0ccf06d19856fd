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
