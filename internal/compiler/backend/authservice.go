package backend

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// isAuthService reports whether a reference leads to what stands for a Service. Routes of Gateway API have none such.
func isAuthService(route *resource.Object[gatewayv1.HTTPRoute], ref gatewayv1.BackendObjectReference) bool {
	return route.Host != nil && ref.Kind != nil && *ref.Kind != object.KindService
}

// resolveAuthService finds the port of the Service that is stood for.
func (x *Index) resolveAuthService(
	route *resource.Object[gatewayv1.HTTPRoute], path *field.Path, ref gatewayv1.BackendRef,
) (*Backend, *field.Error) {
	s := x.FindAuthService(route, ref.BackendObjectReference)
	if s == nil {
		absent := object.Ref{Kind: string(*ref.Kind), Namespace: route.Namespace, Name: string(ref.Name)}
		return nil, newNotFound(path.Child("name"), ref.Name, x.objects.Absence(absent))
	}
	ref.BackendObjectReference = s.Value.Backend()
	return x.resolveService(route.Kind, route.Namespace+"/"+string(ref.Name), path, ref)
}

// FindAuthService returns the object that stands for a Service and that a reference leads to; nil if it leads to none.
func (x *Index) FindAuthService(
	route *resource.Object[gatewayv1.HTTPRoute], ref gatewayv1.BackendObjectReference,
) *resource.Object[resource.AuthService] {
	if !isAuthService(route, ref) {
		return nil
	}
	for _, s := range x.objects.AuthServices {
		if s.Kind == string(*ref.Kind) && s.Namespace == route.Namespace && s.Name == string(ref.Name) {
			return s
		}
	}
	return nil
}
