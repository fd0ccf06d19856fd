package follow

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// newViews gives what says where requests arrive by way of each Gateway, by its key, and under the empty key of all
// Gateways.
func (o *inventory) newViews() map[string]*resource.Objects {
	context, views := o.context, map[string]*resource.Objects{}
	v := &viewer{o, byKey(context.Secrets), byKey(context.ConfigMaps)}
	classes, sets := byKey(context.Classes), context.SetsByGateway()
	for i, g := range context.Gateways {
		one := v.view(context.Gateways[i:i+1], sets[g.Key()])
		if class := classes[string(g.Value.Spec.GatewayClassName)]; class != nil {
			one.Classes = append(one.Classes, class)
		}
		views[g.Key()] = one
	}
	all := v.view(context.Gateways, context.ListenerSets)
	all.Classes, all.Refused = context.Classes, context.Refused
	views[""] = all
	return views
}

// viewer has objects by their names.
type viewer struct {
	*inventory
	secrets    map[string]*resource.Object[resource.Secret]
	configMaps map[string]*resource.Object[resource.ConfigMap]
}

// view gives some Gateways and their ListenerSets with what these refer to, but for classes.
func (v *viewer) view(gateways []*resource.Object[gatewayv1.Gateway], sets []*resource.ListenerSet) *resource.Objects {
	some, granting := &resource.Objects{Gateways: gateways, ListenerSets: sets}, map[string]bool{}
	for ref := range listTLSObjects(some) {
		if o := v.secrets[ref.Key()]; o != nil && ref.Kind == object.KindSecret {
			some.Secrets = append(some.Secrets, o)
		}
		if o := v.configMaps[ref.Key()]; o != nil && ref.Kind == object.KindConfigMap {
			some.ConfigMaps = append(some.ConfigMaps, o)
		}
		granting[ref.Namespace] = true
	}
	for namespace := range granting {
		some.Grants = append(some.Grants, v.grantsIn[namespace]...)
	}
	for _, set := range sets {
		if n := v.namespaces[set.Namespace]; n != nil {
			some.Namespaces = append(some.Namespaces, n)
		}
	}
	return some
}

// byKey gives objects by namespace/name, or by their names if they are in no namespace.
func byKey[T any](list []*resource.Object[T]) map[string]*resource.Object[T] {
	all := make(map[string]*resource.Object[T], len(list))
	for _, o := range list {
		all[o.Ref().Key()] = o
	}
	return all
}

func byNamespace[T any](list []*resource.Object[T]) map[string][]*resource.Object[T] {
	all := map[string][]*resource.Object[T]{}
	for _, o := range list {
		all[o.Namespace] = append(all[o.Namespace], o)
	}
	return all
}
