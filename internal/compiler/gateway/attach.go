package gateway

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// attachRoutes joins all routes to the listeners that admit them.
func (b *builder) attachRoutes() {
	for _, route := range b.objects.Routes {
		b.attachRoute(route)
	}
	b.reserveHosts(b.objects.HostRoutes)
	for _, route := range b.objects.HostRoutes {
		b.attachToHost(route)
	}
}

// withhold detaches routes from the listeners of Gateways whose budget is used up, and reports them. They still keep
// hosts from routes of another kind.
func (b *builder) withhold() {
	if len(b.layout.routes) == 0 {
		return
	}
	for _, list := range b.ports {
		for _, l := range list {
			had := len(l.attached)
			for _, route := range slices.Collect(maps.Keys(l.common)) {
				if _, short := b.layout.routes[routeAt{route.Ref(), l.gateway.Key()}]; short {
					l.leave(route)
				}
			}
			if len(l.attached) < had {
				l.attached = maps.Collect(maps.All(l.attached)) // a map keeps the memory of what it had
			}
		}
	}
	for _, route := range b.objects.Routes {
		b.tellShortage(route)
	}
	for _, route := range b.objects.HostRoutes {
		b.tellHostShortage(route)
	}
}

// leave takes a route from a listener.
func (l *listener) leave(route *Route) {
	for _, h := range l.common[route] {
		l.attached[h] = slices.DeleteFunc(l.attached[h], func(r *Route) bool { return r == route })
		if len(l.attached[h]) == 0 {
			delete(l.attached, h)
		}
	}
	delete(l.common, route)
}

// tellShortage reports for a route the Gateways whose budget it exceeds.
func (b *builder) tellShortage(route *Route) {
	parents := b.status.Parents[route.Ref()]
	for i := range parents {
		p := &parents[i]
		short, is := b.layout.routes[routeAt{route.Ref(), p.Gateway.Key()}]
		if !is || p.Refused != nil {
			continue
		}
		p.Reason = ReasonOverBudget
		p.Refused = &field.Error{
			Type: field.ErrorTypeTooLong, Field: field.NewPath("spec", "parentRefs").Index(i).String(),
			Detail: short.explain(p.Gateway.Key()) + ": the route does not attach",
		}
		b.rep.WarnFor(report.ParentRefused, route, string(p.Reason), p.Refused)
	}
}

// tellHostShortage is tellShortage for a route that names no parents.
func (b *builder) tellHostShortage(route *Route) {
	for _, key := range slices.Sorted(maps.Keys(b.listeners)) {
		if short, is := b.layout.routes[routeAt{route.Ref(), key}]; is {
			b.rep.WarnFor(report.OverBudget, route, string(ReasonOverBudget), &field.Error{
				Type: field.ErrorTypeTooLong, Field: "spec", Detail: short.explain(key) + ": it serves nothing there",
			})
		}
	}
}

// ReasonOverBudget is the reason of Accepted for a route that exceeds a Gateway's budget.
const ReasonOverBudget gatewayv1.RouteConditionReason = "OverBudget"

// attachRoute joins a route to every listener that its parentRefs name and that admits it.
func (b *builder) attachRoute(route *Route) {
	path := field.NewPath("spec", "parentRefs")
	fault := b.refuseRoute(route)
	for _, f := range route.Unserved {
		b.rep.WarnAt(report.RouteRefused, route, f.Path, f.Message)
	}
	if len(route.Value.Spec.ParentRefs)+len(route.Unserved) == 0 {
		b.rep.Warn(report.NoParent, route, field.Required(path, "without one the route attaches to nothing"))
	}
	for i, ref := range route.Value.Spec.ParentRefs {
		if fault != nil {
			b.recordParent(route, ref, nil) // the status tells of the route as a whole
			continue
		}
		refused := b.attachTo(route, path.Index(i), ref)
		b.recordParent(route, ref, refused)
		if refused != nil {
			refused.Detail += ": the route does not attach"
			b.rep.WarnFor(report.ParentRefused, route, string(attachReason(refused)), refused)
		}
	}
}

// attachReason is the reason of the Accepted condition for an error of attachTo.
func attachReason(refused *field.Error) gatewayv1.RouteConditionReason {
	switch refused.Type {
	case field.ErrorTypeForbidden:
		return gatewayv1.RouteReasonNotAllowedByListeners
	case field.ErrorTypeInvalid:
		return gatewayv1.RouteReasonNoMatchingListenerHostname
	default:
		return gatewayv1.RouteReasonNoMatchingParent
	}
}

// joinAll joins a route to listeners. It tells whether there was one with a host in common, and of a host that is
// taken.
func joinAll(listeners []*listener, route *Route, key string) (matched bool, shut *field.Error) {
	for _, l := range listeners {
		joined, rival := l.join(route)
		matched = joined || matched
		if rival != nil {
			shut = newHostTakenError(route, rival, key, l)
		}
	}
	return matched, shut
}

// attachTo joins a route to one parent. The reasons why it can't are those of Gateway API's Accepted condition:
// NoMatchingParent, NotAllowedByListeners, NoMatchingListenerHostname.
func (b *builder) attachTo(route *Route, path *field.Path, ref gatewayv1.ParentReference) *field.Error {
	key := parentKey(route, ref)
	all, known := b.listeners[key]
	switch {
	case !b.isParent(route, ref):
		b.rep.Advise(report.OtherParent, route, path.Child("kind"), fmt.Sprintf(
			"limpet serves Gateways: what the route is to a %s is left to those who serve that", *ref.Kind))
		return nil
	case !known:
		return b.refuseUnknown(route, path, ref)
	case b.foreignSets[key]:
		return nil
	case len(all) == 0 && isListenerSet(ref):
		return newNotFoundError(path.Child("name"), ref.Name, "no Gateway takes listeners of the ListenerSet")
	case len(all) == 0:
		return nil // the Gateway's own warning says why it is left out
	}
	named := slices.DeleteFunc(slices.Clone(all), func(l *listener) bool { return !isNamedBy(l, ref) })
	if len(named) == 0 {
		return newNoListenerError(path, parentName(ref, key), ref)
	}
	admitting := slices.DeleteFunc(slices.Clone(named), func(l *listener) bool { return !b.allows(l, route) })
	switch {
	case len(admitting) == 0 && !slices.ContainsFunc(named, func(l *listener) bool { return l.refused == "" }):
		return field.Forbidden(path, "each listener of "+parentName(ref, key)+" that it names is left out itself")
	case len(admitting) == 0:
		return field.Forbidden(path, b.explainShut(named, route, parentName(ref, key)))
	}
	matched, shut := joinAll(admitting, route, key)
	if shut != nil && matched {
		shut.Detail += ": the route does not attach to that listener"
		b.rep.Warn(report.ParentRefused, route, shut)
	} else if shut != nil {
		return shut
	}
	if !matched {
		return field.Invalid(field.NewPath("spec", "hostnames"), route.Value.Spec.Hostnames,
			"has no host in common with the listeners of "+parentName(ref, key)+" that "+path.String()+" names")
	}
	return nil
}

// refuseUnknown is for a parent that is not in the input. Of another API's the control plane may know more, so that it
// is only warned of.
func (b *builder) refuseUnknown(route *Route, path *field.Path, ref gatewayv1.ParentReference) *field.Error {
	namespace, kind := parentNamespace(route, ref), object.KindGateway
	if group := parentGroup(ref); group != gatewayv1.GroupName {
		name, key := string(ref.Name), namespace+"/"+string(ref.Name)
		if ref.Namespace != nil {
			name = key
		}
		b.rep.WarnAt(report.ParentRefused, route, path.String(), fmt.Sprintf(
			"Not found: %q: there is no Gateway %s of %s in the input: nothing is written for its proxies", name, key, group))
		return nil
	}
	if isListenerSet(ref) {
		kind = object.KindListenerSet
	}
	return newNotFoundError(path.Child("name"), ref.Name,
		b.objects.Absence(object.Ref{Kind: kind, Namespace: namespace, Name: string(ref.Name)}))
}

func newHostTakenError(route, rival *Route, gateway string, l *listener) *field.Error {
	return field.Invalid(field.NewPath("spec", "hostnames"), route.Value.Spec.Hostnames, fmt.Sprintf(
		"%s, which goes first, has hosts in common with it on listener %s of Gateway %s, and routes of two kinds share none",
		rival, l.spec.Name, gateway))
}

// join attaches a route, once, for the hostnames that it and the listener have in common; false if there are none. A
// listener's hostnames belong to routes of one kind (GRPCRoute, spec.hostnames): where one of another kind was there
// first, the route stays out as a whole, and join returns that one. Istio and Envoy Gateway serve both.
func (l *listener) join(route *Route) (bool, *Route) {
	if l.last == route {
		return true, nil
	}
	common := l.intersectRoute(route)
	if rival := l.findRival(route, common); rival != nil && !l.mixed {
		return false, rival
	}
	l.common[route] = common
	for _, hostname := range common {
		l.attached[hostname] = append(l.attached[hostname], route)
	}
	if len(common) > 0 {
		l.last = route
	}
	return len(common) > 0, nil
}

// intersectRoute gives the hostnames that a route and the listener have in common, in order.
func (l *listener) intersectRoute(route *Route) (common []string) {
	wanted := route.Value.Spec.Hostnames
	if len(wanted) == 0 {
		wanted = []gatewayv1.Hostname{anyHost}
	}
	for _, w := range wanted {
		if both, ok := intersect(l.hostname, string(w)); ok {
			common = append(common, both)
		}
	}
	slices.Sort(common)
	return slices.Compact(common)
}

// findRival gives the first route of another kind that is attached and shares a host with these hostnames. All routes
// of one hostname are of one kind, so the first of each speaks for them.
func (l *listener) findRival(route *Route, hostnames []string) *Route {
	var first *Route
	consider := func(attached []*Route) {
		if len(attached) == 0 {
			return
		}
		if r := attached[0]; r.Kind != route.Kind && (first == nil || resource.ByAge(r, first) < 0) {
			first = r
		}
	}
	for _, hostname := range hostnames {
		for _, wider := range coverings(hostname) {
			consider(l.attached[wider])
		}
		if countWildcard(hostname) == 0 {
			continue // nothing is narrower
		}
		for narrower, attached := range l.attached {
			if covers(hostname, narrower) {
				consider(attached)
			}
		}
	}
	return first
}
