package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
)

// countSets counts the ListenerSets that are attached to a Gateway: those that are accepted.
func (b *builder) countSets(g *gateway.Status) (attached int32) {
	for _, set := range g.Sets {
		if set.Refused == "" && slices.ContainsFunc(b.setStates(g, set), listenerState.isValid) {
			attached++
		}
	}
	return attached
}

// isValid reports whether a ListenerSet may be accepted for the listener.
func (l listenerState) isValid() bool { return l.accepted && (l.resolved || l.programmed) }

// setStates sees how a ListenerSet's listeners do.
func (b *builder) setStates(g *gateway.Status, s *gateway.SetStatus) (states []listenerState) {
	problems, ofGateway := b.problems[s.Set.Ref()], b.problems[g.Gateway.Ref()]
	for _, l := range s.Listeners() {
		state := newListenerState(l, problems, ofGateway)
		state.ofSet = true
		states = append(states, state)
	}
	return states
}

// writeListenerSet writes a ListenerSet's status. It is accepted as long as one of its listeners is.
func (b *builder) writeListenerSet(g *gateway.Status, s *gateway.SetStatus) {
	o, was := s.Set.Value, parseStatus[gatewayv1.ListenerSetStatus](b, s.Set)
	w, states := b.newWriter(o.ObjectMeta), b.setStates(g, s)
	var there []gatewayv1.ListenerStatus
	for _, l := range was.Listeners {
		there = append(there, gatewayv1.ListenerStatus(l))
	}
	status := gatewayv1.ListenerSetStatus{Conditions: w.merge(was.Conditions, nil,
		b.noteUnacknowledged(g, was.Conditions, b.setConditions(s, states))...)}
	for i, l := range s.Listeners() {
		one := b.newListenerStatus(g, l, states[i].listConditions(), w, there)
		status.Listeners = append(status.Listeners, gatewayv1.ListenerEntryStatus(one))
	}
	b.addObject(o.TypeMeta, o.ObjectMeta, status)
}

func (b *builder) setConditions(s *gateway.SetStatus, states []listenerState) []metav1.Condition {
	const invalid = gatewayv1.ListenerSetReasonListenersNotValid
	has := func(is func(listenerState) bool) bool { return slices.ContainsFunc(states, is) }
	accepted := newCondition(gatewayv1.ListenerSetConditionAccepted, true, gatewayv1.ListenerSetReasonAccepted, "")
	programmed := newCondition(gatewayv1.ListenerSetConditionProgrammed, true, gatewayv1.ListenerSetReasonProgrammed, "")
	switch {
	case s.Refused != "":
		why := joinProblems(filterByReason(b.problems[s.Set.Ref()], s.Refused))
		accepted = newCondition(gatewayv1.ListenerSetConditionAccepted, false, s.Refused, why)
		programmed = newCondition(gatewayv1.ListenerSetConditionProgrammed, false, s.Refused, "it is not accepted")
	case !has(listenerState.isValid):
		accepted = newCondition(gatewayv1.ListenerSetConditionAccepted, false, invalid, "none of its listeners is valid")
		programmed = newCondition(gatewayv1.ListenerSetConditionProgrammed, false, invalid, "none of its listeners is valid")
	case has(func(l listenerState) bool { return !l.accepted || !l.resolved }):
		accepted = newCondition(gatewayv1.ListenerSetConditionAccepted, true, invalid, "some of its listeners are not valid")
	}
	if accepted.Status == metav1.ConditionTrue && !has(func(l listenerState) bool { return l.programmed }) {
		programmed = newCondition(
			gatewayv1.ListenerSetConditionProgrammed,
			false,
			invalid,
			"none of its listeners is programmed",
		)
	}
	return []metav1.Condition{accepted, programmed}
}
