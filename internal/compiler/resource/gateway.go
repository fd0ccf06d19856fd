package resource

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

var gatewayClassKind = newKind(definition[gatewayv1.GatewayClass]{
	Traits: Traits{ClusterScoped: true, HasStatus: true, Describable: true, Attachable: true},
	group:  gatewayv1.GroupName, kind: object.KindGatewayClass, versions: []string{"v1", "v1beta1"}, localFaults: true,
	fields: func() fieldSupport {
		return fieldSupport{
			"spec.controllerName": supported,
			"spec.description":    ignoredFor("is for people"),
		}
	},
	list: func(o *Objects) *[]*Object[gatewayv1.GatewayClass] { return &o.Classes },
})

var gatewayKind = newKind(definition[gatewayv1.Gateway]{
	Traits: Traits{HasStatus: true, Describable: true, Attachable: true},
	group:  gatewayv1.GroupName, kind: object.KindGateway, versions: []string{"v1", "v1beta1"},
	fields: gatewayFields, localFaults: true, checkUnverified: checkGateway,
	list: func(o *Objects) *[]*Object[gatewayv1.Gateway] { return &o.Gateways },
	sections: func(g *gatewayv1.Gateway) (names []string) {
		for _, l := range g.Spec.Listeners {
			names = append(names, string(l.Name))
		}
		return names
	},
})

func gatewayFields() fieldSupport {
	return joinRows(fieldSupport{
		"spec.gatewayClassName":                     supported,
		"spec.addresses[].type":                     onlyValues("IPAddress"),
		"spec.addresses[].value":                    supported,
		"spec.allowedListeners.namespaces.from":     supported, // of ListenerSets, and of other Gateways' listeners
		"spec.allowedListeners.namespaces.selector": supported,
		"spec.infrastructure.labels":                ignoredFor("limpet makes no objects for a Gateway that could have them"),
		"spec.infrastructure.annotations":           ignoredFor("limpet makes no objects for a Gateway that could have them"),
	}, nestUnder("spec.listeners[]", listenerFields()))
}

// listenerFields are those of a listener, of a Gateway or a ListenerSet.
func listenerFields() fieldSupport {
	return joinRows(
		supportAll("name", "hostname", "port"),
		fieldSupport{
			"protocol": onlyValues("HTTP", "HTTPS", "TLS", "TCP", "UDP"),
			"tls.mode": onlyValues("Terminate", "Passthrough"),
		},
		nestUnder("tls.certificateRefs[]", supportAll("group", "kind", "namespace", "name")),
		nestUnder("allowedRoutes", supportAll(
			"namespaces.from", "namespaces.selector.matchLabels", "namespaces.selector.matchExpressions", "kinds[].group", "kinds[].kind")),
	)
}

// checkGateway checks what the compiler relies on in a Gateway that is said to be admitted.
func checkGateway(g *gatewayv1.Gateway) (errs field.ErrorList) {
	for i, l := range g.Spec.Listeners {
		errs = append(errs, checkRange(field.NewPath("spec", "listeners").Index(i).Child("port"), l.Port, 1, 65535)...)
	}
	return errs
}
