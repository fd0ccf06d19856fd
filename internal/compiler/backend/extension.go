package backend

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// isExtension reports whether a reference is an HTTPProxy's to an ExtensionService.
func isExtension(route *resource.Object[gatewayv1.HTTPRoute], ref gatewayv1.BackendRef) bool {
	return route.Kind == object.KindHTTPProxy && ref.Kind != nil && *ref.Kind == object.KindExtensionService
}

// resolveExtension finds the port of the Service that an ExtensionService leads to.
func (x *Index) resolveExtension(namespace string, path *field.Path, ref gatewayv1.BackendRef) (*Backend, *field.Error) {
	e := x.FindExtension(namespace, ref)
	if e == nil {
		absent := object.Ref{Kind: object.KindExtensionService, Namespace: namespace, Name: string(ref.Name)}
		return nil, newNotFound(path.Child("name"), ref.Name, x.objects.Absence(absent))
	}
	to := e.Value.Spec.Services[0]
	number := gatewayv1.PortNumber(to.Port) // checked
	ref.Name, ref.Port = gatewayv1.ObjectName(to.Name), &number
	return x.resolveService(object.KindExtensionService, namespace+"/"+to.Name, path, ref)
}

// FindExtension gives the ExtensionService that a reference leads to, nil if it leads to none.
func (x *Index) FindExtension(namespace string, ref gatewayv1.BackendRef) *resource.Object[resource.ExtensionService] {
	if ref.Kind == nil || *ref.Kind != object.KindExtensionService {
		return nil
	}
	for _, e := range x.objects.Extensions {
		if e.Namespace == namespace && e.Name == string(ref.Name) {
			return e
		}
	}
	return nil
}
