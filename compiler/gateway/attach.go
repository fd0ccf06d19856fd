package gateway

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// attach joins a route to every listener that its parentRefs name and that admits it.
func (b *builder) attach(route *Route) {
	path := field.NewPath("spec", "parentRefs")
	if len(route.Value.Spec.ParentRefs) == 0 {
		b.rep.Warn(route, field.Required(path, "without one the route attaches to nothing"))
	}
	for i, ref := range route.Value.Spec.ParentRefs {
		refused := b.attachTo(route, path.Index(i), ref)
		b.facts.parent(route, ref, refused)
		if refused != nil {
			refused.Detail += ": the route does not attach"
			b.rep.WarnFor(route, string(attachReason(refused)), refused)
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

// attachTo joins a route to one parent. The reasons why it can't are those of Gateway API's Accepted condition:
// NoMatchingParent, NotAllowedByListeners, NoMatchingListenerHostname.
func (b *builder) attachTo(route *Route, path *field.Path, ref gatewayv1.ParentReference) *field.Error {
	namespace := route.Namespace
	if ref.Namespace != nil {
		namespace = string(*ref.Namespace)
	}
	key := namespace + "/" + string(ref.Name)
	all, known := b.listeners[key]
	switch {
	case !known:
		return notFound(path.Child("name"), ref.Name, "there is no Gateway "+key+" in the input")
	case len(all) == 0:
		return nil // the Gateway's own warning says why it is left out
	}
	named := slices.DeleteFunc(slices.Clone(all), func(l *listener) bool { return !named(l, ref) })
	if len(named) == 0 {
		return noListener(path, key, ref)
	}
	admitting := slices.DeleteFunc(named, func(l *listener) bool { return !l.allows(route) })
	if len(admitting) == 0 {
		return field.Forbidden(path, fmt.Sprintf("no listener of Gateway %s that it names allows HTTPRoutes from namespace %s", key, route.Namespace))
	}
	matched := false
	for _, l := range admitting {
		matched = l.join(route) || matched
	}
	if !matched {
		return field.Invalid(field.NewPath("spec", "hostnames"), route.Value.Spec.Hostnames,
			"has no host in common with the listeners of Gateway "+key+" that "+path.String()+" names")
	}
	return nil
}

// named reports whether a reference to a Gateway means a listener of it.
func named(l *listener, ref gatewayv1.ParentReference) bool {
	return (ref.SectionName == nil || *ref.SectionName == l.spec.Name) && (ref.Port == nil || *ref.Port == l.spec.Port)
}

func noListener(path *field.Path, gateway string, ref gatewayv1.ParentReference) *field.Error {
	switch {
	case ref.SectionName != nil && ref.Port != nil:
		return notFound(path.Child("sectionName"), *ref.SectionName, fmt.Sprintf("Gateway %s has no listener of this name on port %d", gateway, *ref.Port))
	case ref.SectionName != nil:
		return notFound(path.Child("sectionName"), *ref.SectionName, "Gateway "+gateway+" has no listener of this name")
	default:
		return notFound(path.Child("port"), *ref.Port, "Gateway "+gateway+" has no listener on this port")
	}
}

func notFound(path *field.Path, value any, why string) *field.Error {
	e := field.NotFound(path, value)
	e.Detail = why
	return e
}

// join attaches a route, once, for the hostnames that it and the listener have in common; false if there are none.
func (l *listener) join(route *Route) bool {
	if l.last == route {
		return true
	}
	wanted := route.Value.Spec.Hostnames
	if len(wanted) == 0 {
		wanted = []gatewayv1.Hostname{everything}
	}
	common := map[string]bool{}
	for _, w := range wanted {
		if both, ok := intersect(l.hostname, string(w)); ok {
			common[both] = true
		}
	}
	for hostname := range common {
		l.attached[hostname] = append(l.attached[hostname], route)
	}
	if len(common) > 0 {
		l.last = route
	}
	return len(common) > 0
}
