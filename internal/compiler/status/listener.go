package status

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

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
