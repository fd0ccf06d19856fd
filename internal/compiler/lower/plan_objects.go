package lower

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// newObjects are the objects that are neither routes nor Gateways, of the kinds that some target asks for.
func newObjects(objects *resource.Objects) map[string][]*ir.Object {
	all := map[string][]*ir.Object{}
	addObjects(all, objects.Services)
	addObjects(all, objects.Backends)
	addObjects(all, objects.LoadBalancers)
	addObjects(all, objects.TrafficPolicies)
	addObjects(all, objects.Platform)
	return all
}

func newWritten(objects []resource.Written) map[object.Ref]*ir.WrittenObject {
	all := make(map[object.Ref]*ir.WrittenObject, len(objects))
	for _, o := range objects {
		all[o.Ref] = &ir.WrittenObject{Subject: o.Subject, Ours: o.Ours, Owner: o.Owner}
	}
	return all
}

func addObjects[T any](all map[string][]*ir.Object, objects []*resource.Object[T]) {
	for _, o := range objects {
		one := newObject(o)
		all[o.Kind] = append(all[o.Kind], &one)
	}
}

func listObjects[T any](objects []*resource.Object[T]) (all []*ir.Object) {
	for _, o := range objects {
		one := newObject(o)
		all = append(all, &one)
	}
	return all
}

func newObject[T any](o *resource.Object[T]) ir.Object {
	return ir.Object{Ref: o.Ref(), Subject: o, Origin: o.Origin(), Labels: o.Labels, JSON: o.JSON}
}

// indexClasses are the parameters of GatewayClasses, by name, of those that have some.
func indexClasses(objects *resource.Objects) map[string]*gatewayv1.ParametersReference {
	all := map[string]*gatewayv1.ParametersReference{}
	for _, c := range objects.Classes {
		if ref := c.Value.Spec.ParametersRef; ref != nil && ref.Namespace != nil {
			all[c.Name] = ref
		}
	}
	return all
}
