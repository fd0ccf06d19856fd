package status

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// ownedByRoute are the conditions that a route's entry loses when they no longer hold.
var ownedByRoute = append(
	[]string{string(gatewayv1.RouteConditionPartiallyInvalid), v1alpha1.ConditionSessionsEnded},
	ownedByAffected...)

func (b *builder) writeRoutes() {
	for _, r := range wanted(b, b.Objects.Routes) {
		was := parseStatus[gatewayv1.HTTPRouteStatus](b, r)
		s := gatewayv1.HTTPRouteStatus{RouteStatus: gatewayv1.RouteStatus{Parents: b.newRouteParents(r, was.Parents)}}
		b.addObject(r.Value.TypeMeta, r.Value.ObjectMeta, s)
	}
}

// newRouteParents writes the entry of each parentRef that is limpet's, after those of other controllers.
func (b *builder) newRouteParents(
	route *gateway.Route,
	was []gatewayv1.RouteParentStatus,
) []gatewayv1.RouteParentStatus {
	parents := slices.DeleteFunc(
		slices.Clone(was),
		func(p gatewayv1.RouteParentStatus) bool { return p.ControllerName == b.Objects.ControllerName() },
	)
	if parents == nil {
		parents = []gatewayv1.RouteParentStatus{}
	}
	for _, p := range b.Attachments.Parents[route.Ref()] {
		if p.Foreign {
			continue
		}
		var there []metav1.Condition
		at := slices.IndexFunc(was, func(o gatewayv1.RouteParentStatus) bool {
			return o.ControllerName == b.Objects.ControllerName() && sameParent(o.ParentRef, p.Ref, route.Namespace)
		})
		if at >= 0 {
			there = was[at].Conditions
		}
		parents = append(parents, gatewayv1.RouteParentStatus{
			ParentRef: p.Ref, ControllerName: b.Objects.ControllerName(),
			Conditions: b.newWriter(route.Value.ObjectMeta).merge(there, ownedByRoute,
				append(b.routeConditions(route, p), b.sessionsEnded(route, there)...)...),
		})
	}
	return parents
}

// sameParent compares references from a namespace, with their defaults filled in.
func sameParent(a, b gatewayv1.ParentReference, namespace string) bool {
	return stringOr(a.Group, gatewayv1.GroupName) == stringOr(b.Group, gatewayv1.GroupName) &&
		stringOr(a.Kind, "Gateway") == stringOr(b.Kind, "Gateway") &&
		stringOr(a.Namespace, namespace) == stringOr(b.Namespace, namespace) && a.Name == b.Name &&
		stringOr(a.SectionName, "") == stringOr(b.SectionName, "") &&
		portOr(a.Port) == portOr(b.Port)
}

func stringOr[S ~string](s *S, otherwise string) string {
	if s == nil {
		return otherwise
	}
	return string(*s)
}

func portOr(port *gatewayv1.PortNumber) gatewayv1.PortNumber {
	if port == nil {
		return 0
	}
	return *port
}

func (b *builder) routeConditions(route *gateway.Route, p gateway.ParentStatus) []metav1.Condition {
	problems := b.problems[route.Ref()]
	conditions := []metav1.Condition{b.newAccepted(route.Ref(), p), newResolvedRefs(problems)}
	if parts := b.refusedRules[route.Ref()].explain(problems); conditions[0].Status == metav1.ConditionTrue &&
		parts != "" {
		conditions = append(conditions,
			newCondition(gatewayv1.RouteConditionPartiallyInvalid, true, gatewayv1.RouteReasonUnsupportedValue, parts))
	}
	conditions = append(conditions, b.newLoadBalancerAffected(route, p.Gateway)...)
	return append(conditions, b.affectedRoute(route.Ref(), p.Gateway)...)
}

// explain says which rules of a route are dropped, which go without the session that they ask for, and which hostnames
// the route is not laid out to; empty if none.
func (v refusedRules) explain(problems []report.Problem) string {
	var parts []string
	if len(v.problems) > 0 {
		parts = append(parts, fmt.Sprintf("Dropped Rule %s: %s", strings.Join(v.rules, ", "), joinProblems(v.problems)))
	}
	if without := filterByReason(problems, report.ReasonSessionWithheld, report.ReasonHostsWithheld); len(without) > 0 {
		parts = append(parts, joinProblems(without))
	}
	return strings.Join(parts, "; ")
}

func (b *builder) newAccepted(route object.Ref, p gateway.ParentStatus) metav1.Condition {
	v := b.refusedRules[route]
	switch {
	case p.Refused != nil:
		return newCondition(
			gatewayv1.RouteConditionAccepted,
			false,
			p.Reason,
			prefixPath(p.Refused.Field, p.Refused.ErrorBody()),
		)
	case v.whole:
		return newCondition(
			gatewayv1.RouteConditionAccepted,
			false,
			gatewayv1.RouteReasonUnsupportedValue,
			joinProblems(v.problems),
		)
	default:
		reported := filterByReason(b.problems[route],
			report.ReasonNameQualified, report.ReasonEqualMatch, report.ReasonFallbackWithheld)
		return newCondition(gatewayv1.RouteConditionAccepted, true, gatewayv1.RouteReasonAccepted, joinProblems(reported))
	}
}

// unresolvedRouteReasons are the reasons of ResolvedRefs for references that lead nowhere.
var unresolvedRouteReasons = []gatewayv1.RouteConditionReason{
	gatewayv1.RouteReasonBackendNotFound, gatewayv1.RouteReasonInvalidKind,
	gatewayv1.RouteReasonRefNotPermitted, gatewayv1.RouteReasonUnsupportedProtocol,
}

// newResolvedRefs takes its reason from the first reference that is at fault; the message has them all.
func newResolvedRefs(problems []report.Problem) metav1.Condition {
	faults := filterByReason(problems, unresolvedRouteReasons...)
	if len(faults) == 0 {
		return newCondition(gatewayv1.RouteConditionResolvedRefs, true, gatewayv1.RouteReasonResolvedRefs, "")
	}
	return newCondition(gatewayv1.RouteConditionResolvedRefs, false, faults[0].Reason, joinProblems(faults))
}

// refusedRules are a route's refused rules, and why they are refused (S50).
type refusedRules struct {
	problems []report.Problem
	rules    []string // their indices, in order
	// whole says that no rule is left.
	whole bool
}

// countRefusedRules finds each route's refused rules.
func (b *builder) countRefusedRules() {
	for _, r := range wanted(b, b.Objects.Routes) {
		isRejected := func(d *policy.Decision) bool { return d.Rejected }
		rejected := slices.ContainsFunc(b.index.paths[object.TargetRef{Ref: r.Ref()}], isRejected)
		b.refusedRules[r.Ref()] = newRefusedRules(r, b.problems[r.Ref()], rejected)
	}
}

// newRefusedRules finds a route's refused rules in its problems. A problem about no rule refuses the whole route (S48),
// and so does rejected.
func newRefusedRules(route *gateway.Route, problems []report.Problem, rejected bool) refusedRules {
	v, rules := refusedRules{problems: filterByReason(problems, gatewayv1.RouteReasonUnsupportedValue)}, map[int]bool{}
	v.whole = rejected
	for _, p := range v.problems {
		v.whole = v.whole || p.Place.Section != report.Rules
		rules[p.Place.Index] = true
	}
	v.whole = v.whole || len(v.problems) > 0 && len(rules) == len(route.Value.Spec.Rules)
	for _, index := range slices.Sorted(maps.Keys(rules)) {
		v.rules = append(v.rules, strconv.Itoa(index))
	}
	return v
}

// IsRefused tells whether a route with some problems is refused as a whole, where a decision may have rejected it.
func IsRefused(route *gateway.Route, problems []report.Problem, rejected bool) bool {
	return newRefusedRules(route, problems, rejected).whole
}
