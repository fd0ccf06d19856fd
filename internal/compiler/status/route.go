package status

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// ownedByRoute are the conditions that go from a route's entry when they hold no more.
var ownedByRoute = append([]string{string(gatewayv1.RouteConditionPartiallyInvalid)}, ownedByAffected...)

func (b *builder) routes() {
	for _, r := range b.Objects.Routes {
		was := written[gatewayv1.HTTPRouteStatus](r.Status)
		s := gatewayv1.HTTPRouteStatus{RouteStatus: gatewayv1.RouteStatus{Parents: b.parents(r, was.Parents)}}
		b.add(r.Value.TypeMeta, r.Value.ObjectMeta, s)
	}
}

// parents writes the entry of each parentRef that is limpet's, after those of other controllers.
func (b *builder) parents(route *gateway.Route, was []gatewayv1.RouteParentStatus) []gatewayv1.RouteParentStatus {
	parents := slices.DeleteFunc(slices.Clone(was), func(p gatewayv1.RouteParentStatus) bool { return p.ControllerName == ControllerName })
	if parents == nil {
		parents = []gatewayv1.RouteParentStatus{}
	}
	for _, p := range b.Facts.Parents[route.String()] {
		if p.Foreign {
			continue
		}
		var there []metav1.Condition
		at := slices.IndexFunc(was, func(o gatewayv1.RouteParentStatus) bool {
			return o.ControllerName == ControllerName && sameParent(o.ParentRef, p.Ref, route.Namespace)
		})
		if at >= 0 {
			there = was[at].Conditions
		}
		parents = append(parents, gatewayv1.RouteParentStatus{
			ParentRef: p.Ref, ControllerName: ControllerName,
			Conditions: b.writer(route.Value.ObjectMeta).merge(there, ownedByRoute, b.routeConditions(route, p)...),
		})
	}
	return parents
}

// sameParent compares references from a namespace, with their defaults filled in.
func sameParent(a, b gatewayv1.ParentReference, namespace string) bool {
	return text(a.Group, gatewayv1.GroupName) == text(b.Group, gatewayv1.GroupName) && text(a.Kind, "Gateway") == text(b.Kind, "Gateway") &&
		text(a.Namespace, namespace) == text(b.Namespace, namespace) && a.Name == b.Name &&
		text(a.SectionName, "") == text(b.SectionName, "") && number(a.Port) == number(b.Port)
}

func text[S ~string](s *S, otherwise string) string {
	if s == nil {
		return otherwise
	}
	return string(*s)
}

func number(port *gatewayv1.PortNumber) gatewayv1.PortNumber {
	if port == nil {
		return 0
	}
	return *port
}

func (b *builder) routeConditions(route *gateway.Route, p gateway.Parent) []metav1.Condition {
	problems := b.about(route)
	conditions := []metav1.Condition{b.accepted(route.String(), p), resolvedRefs(problems)}
	if v := b.verdict(route.String()); conditions[0].Status == metav1.ConditionTrue && len(v.problems) > 0 {
		conditions = append(conditions, condition(gatewayv1.RouteConditionPartiallyInvalid, true, gatewayv1.RouteReasonUnsupportedValue, says(v.problems)))
	}
	on := parentObject(route, p.Ref)
	conditions = append(conditions, b.balancersOf(route, on)...)
	return append(conditions, b.affectedRoute(route.Source().Object, on)...)
}

// parentObject is the Gateway that a parentRef names.
func parentObject(route *gateway.Route, ref gatewayv1.ParentReference) ladder.Object {
	return ladder.Object{Kind: ladder.KindGateway, Namespace: text(ref.Namespace, route.Namespace), Name: string(ref.Name)}
}

func (b *builder) accepted(route string, p gateway.Parent) metav1.Condition {
	v := b.verdict(route)
	switch {
	case p.Refused != nil:
		return condition(gatewayv1.RouteConditionAccepted, false, p.Reason, placed(p.Refused.Field, p.Refused.ErrorBody()))
	case v.whole:
		return condition(gatewayv1.RouteConditionAccepted, false, gatewayv1.RouteReasonUnsupportedValue, says(v.problems))
	default:
		return condition(gatewayv1.RouteConditionAccepted, true, gatewayv1.RouteReasonAccepted, "")
	}
}

// unresolved are the reasons of ResolvedRefs for references that lead nowhere.
var unresolved = []gatewayv1.RouteConditionReason{
	gatewayv1.RouteReasonBackendNotFound, gatewayv1.RouteReasonInvalidKind,
	gatewayv1.RouteReasonRefNotPermitted, gatewayv1.RouteReasonUnsupportedProtocol,
}

// resolvedRefs takes its reason from the first reference that is at fault; the message has them all.
func resolvedRefs(problems []report.Problem) metav1.Condition {
	faults := having(problems, unresolved...)
	if len(faults) == 0 {
		return condition(gatewayv1.RouteConditionResolvedRefs, true, gatewayv1.RouteReasonResolvedRefs, "")
	}
	return condition(gatewayv1.RouteConditionResolvedRefs, false, faults[0].Reason, says(faults))
}

// verdict is what a route's refused rules come to (S50).
type verdict struct {
	problems []report.Problem
	// whole says that no rule is left.
	whole bool
}

func (b *builder) verdict(route string) verdict {
	return b.verdicts[report.Shown(route)]
}

// refused reports whether nothing of a route serves.
func (b *builder) refused(route string) bool { return b.verdict(route).whole }

// judgeRoutes counts each route's refused rules. A problem that is about no rule refuses the route (S48).
func (b *builder) judgeRoutes() {
	for _, r := range b.Objects.Routes {
		v := verdict{problems: having(b.about(r), gatewayv1.RouteReasonUnsupportedValue)}
		rules := map[string]bool{}
		for _, p := range v.problems {
			rule, found := ruleOf(p.Path)
			v.whole = v.whole || !found
			rules[rule] = true
		}
		for _, d := range b.decided.ways[ladder.Target{Object: r.Source().Object}] {
			v.whole = v.whole || d.Rejected
		}
		v.whole = v.whole || len(v.problems) > 0 && len(rules) == len(r.Value.Spec.Rules)
		b.verdicts[report.Shown(r.String())] = v
	}
}

// ruleOf gives the index of the rule that a path leads to.
func ruleOf(path string) (string, bool) {
	rest, found := strings.CutPrefix(path, "spec.rules[")
	index, _, closed := strings.Cut(rest, "]")
	_, err := strconv.Atoi(index)
	return index, found && closed && err == nil
}
