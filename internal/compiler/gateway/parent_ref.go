package gateway

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// parentKey names the Gateway or ListenerSet that a reference leads to.
func parentKey(route *Route, ref gatewayv1.ParentReference) string {
	key := parentNamespace(route, ref) + "/" + string(ref.Name)
	if isListenerSet(ref) {
		return setKey(key)
	}
	return gatewayKey(parentGroup(ref), key)
}

// gatewayKey names a Gateway of an API.
func gatewayKey(group, key string) string {
	if group != gatewayv1.GroupName {
		return group + " " + key
	}
	return key
}

// ParentRef names the object that a route's parentRef leads to; the zero value for a kind that has no listeners of
// limpet's.
func ParentRef(route *Route, ref gatewayv1.ParentReference) object.Ref {
	kind := object.KindGateway
	switch {
	case isListenerSet(ref):
		kind = object.KindListenerSet
	case !isGateway(route, ref):
		return object.Ref{}
	}
	return object.Ref{Kind: kind, Namespace: parentNamespace(route, ref), Name: string(ref.Name)}
}

// parentName names it for people.
func parentName(ref gatewayv1.ParentReference, key string) string {
	if isListenerSet(ref) {
		return strings.Replace(key, setKey(""), "ListenerSet ", 1)
	}
	return "Gateway " + key
}

func parentNamespace(route *Route, ref gatewayv1.ParentReference) string {
	if ref.Namespace != nil {
		return string(*ref.Namespace)
	}
	return route.Namespace
}

// isGateway reports whether a reference is to a Gateway of the route's API, and not to a Service of a mesh or another
// implementation's parent.
func isGateway(route *Route, ref gatewayv1.ParentReference) bool {
	return (ref.Kind == nil || *ref.Kind == object.KindGateway) && parentGroup(ref) == object.APIKind(route.Kind).Group
}

func parentGroup(ref gatewayv1.ParentReference) string {
	if ref.Group == nil {
		return gatewayv1.GroupName
	}
	return string(*ref.Group)
}

// isListenerSet reports whether a reference is to a ListenerSet.
func isListenerSet(ref gatewayv1.ParentReference) bool {
	return ref.Kind != nil && *ref.Kind == object.KindListenerSet &&
		(ref.Group == nil || *ref.Group == gatewayv1.GroupName)
}

// isParent reports whether a reference is to what limpet's listeners are written in.
func (b *builder) isParent(route *Route, ref gatewayv1.ParentReference) bool {
	return isGateway(route, ref) || !b.isolated && isListenerSet(ref)
}

// isNamedBy reports whether a reference to a Gateway means a listener of it.
func isNamedBy(l *listener, ref gatewayv1.ParentReference) bool {
	return (ref.SectionName == nil || *ref.SectionName == l.spec.Name) && (ref.Port == nil || *ref.Port == l.spec.Port)
}

func newNoListenerError(path *field.Path, parent string, ref gatewayv1.ParentReference) *field.Error {
	switch {
	case ref.SectionName != nil && ref.Port != nil:
		return newNotFoundError(
			path.Child("sectionName"),
			*ref.SectionName,
			fmt.Sprintf("%s has no listener of this name on port %d", parent, *ref.Port),
		)
	case ref.SectionName != nil:
		return newNotFoundError(path.Child("sectionName"), *ref.SectionName,
			fmt.Sprintf("%s has no listener named %q", parent, *ref.SectionName))
	default:
		return newNotFoundError(path.Child("port"), *ref.Port, parent+" has no listener on this port")
	}
}

func newNotFoundError(path *field.Path, value any, why string) *field.Error {
	e := field.NotFound(path, value)
	e.Detail = why
	return e
}
