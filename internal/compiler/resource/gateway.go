package resource

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
	"github.com/limpet-proxy/limpet/internal/compiler/tlsoptions"
)

var gatewayClassKind = newKind(definition[gatewayv1.GatewayClass]{
	Traits: Traits{ClusterScoped: true, HasStatus: true, Describable: true, Attachable: true},
	group:  gatewayv1.GroupName, kind: object.KindGatewayClass, versions: []string{"v1", "v1beta1"}, localFaults: true,
	fields: func() support.Fields {
		return support.Fields{
			"spec.controllerName": {},
			"spec.description":    support.Ignored("is for people"),

			"spec.parametersRef.group":     {Only: []any{v1alpha1.Group}, Ignored: forProxies},
			"spec.parametersRef.kind":      {Only: []any{proxyConfigKind.Kind}, Ignored: forProxies},
			"spec.parametersRef.namespace": support.Ignored(forProxies),
			"spec.parametersRef.name":      support.Ignored(forProxies),
		}
	},
	list: func(o *Objects) *[]*Object[gatewayv1.GatewayClass] { return &o.Classes },
})

// forProxies is why fields have no effect on a configuration.
const forProxies = "is for the proxies that `limpet serve --manage-proxies` runs"

var gatewayKind = newKind(definition[gatewayv1.Gateway]{
	Traits: Traits{HasStatus: true, Describable: true, Attachable: true},
	group:  gatewayv1.GroupName, kind: object.KindGateway, versions: []string{"v1", "v1beta1"},
	fields: gatewayFields, localFaults: true, checkUnverified: checkGateway,
	findFaults: func(g *Object[gatewayv1.Gateway]) (faults []Fault) {
		for i := range g.Value.Spec.Listeners {
			faults = append(faults, findOptionFaults(i, &g.Value.Spec.Listeners[i])...)
		}
		return faults
	},
	list: func(o *Objects) *[]*Object[gatewayv1.Gateway] { return &o.Gateways },
	sections: func(g *gatewayv1.Gateway) (names []string) {
		for _, l := range g.Spec.Listeners {
			names = append(names, string(l.Name))
		}
		return names
	},
})

func gatewayFields() support.Fields {
	return support.Join(support.Fields{
		"spec.gatewayClassName":                     {},
		"spec.addresses[].type":                     support.Only("IPAddress"),
		"spec.addresses[].value":                    {},
		"spec.allowedListeners.namespaces.from":     {}, // of ListenerSets, and of other Gateways' listeners
		"spec.allowedListeners.namespaces.selector": {},
		"spec.infrastructure.labels":                support.Ignored(forProxies),
		"spec.infrastructure.annotations":           support.Ignored(forProxies),
		"spec.infrastructure.parametersRef.group":   {Only: []any{v1alpha1.Group}, Ignored: forProxies},
		"spec.infrastructure.parametersRef.kind":    {Only: []any{proxyConfigKind.Kind}, Ignored: forProxies},
		"spec.infrastructure.parametersRef.name":    support.Ignored(forProxies),
		"spec.tls.frontend.perPort[].port":          {},
	},
		support.Under("spec.listeners[]", listenerFields()),
		support.Under("spec.tls.frontend.default.validation", validationFields()),
		support.Under("spec.tls.frontend.perPort[].tls.validation", validationFields()),
		support.Under("spec.tls.backend.clientCertificateRef", support.All("group", "kind", "namespace", "name")),
	)
}

// validationFields are those that say how clients' certificates are verified.
func validationFields() support.Fields {
	return support.Join(
		support.Fields{"mode": support.Only("AllowValidOnly", "AllowInsecureFallback")},
		support.Under("caCertificateRefs[]", support.All("group", "kind", "namespace", "name")),
	)
}

// listenerFields are those of a listener, of a Gateway or a ListenerSet.
func listenerFields() support.Fields {
	return support.Join(
		support.All("name", "hostname", "port"),
		support.Fields{
			"protocol": support.Only("HTTP", "HTTPS", "TLS", "TCP", "UDP"),
			"tls.mode": support.Only("Terminate", "Passthrough"), "tls.options": {},
		},
		support.Under("tls.certificateRefs[]", support.All("group", "kind", "namespace", "name")),
		support.Under("allowedRoutes", support.All(
			"namespaces.from",
			"namespaces.selector.matchLabels",
			"namespaces.selector.matchExpressions",
			"kinds[].group",
			"kinds[].kind",
		)),
	)
}

// findOptionFaults finds the options of a listener's TLS that are not supported.
func findOptionFaults(index int, l *gatewayv1.Listener) (faults []Fault) {
	_, problems := tlsoptions.Parse(l.Protocol, l.TLS)
	for _, p := range problems {
		path := field.NewPath("spec", "listeners").Index(index).Child("tls", "options").Key(p.Key)
		faults = append(faults, Fault{Path: path.String(), Message: p.Message})
	}
	return faults
}

// ClientValidations gives what a Gateway says of clients' certificates: by default, and for single ports.
func ClientValidations(g *gatewayv1.Gateway) (all []*gatewayv1.FrontendTLSValidation) {
	if g.Spec.TLS == nil || g.Spec.TLS.Frontend == nil {
		return nil
	}
	if v := g.Spec.TLS.Frontend.Default.Validation; v != nil {
		all = append(all, v)
	}
	for _, p := range g.Spec.TLS.Frontend.PerPort {
		if p.TLS.Validation != nil {
			all = append(all, p.TLS.Validation)
		}
	}
	return all
}

// checkGateway checks what the compiler relies on in a Gateway that is said to be admitted.
func checkGateway(g *gatewayv1.Gateway) (errs field.ErrorList) {
	for i, l := range g.Spec.Listeners {
		errs = append(errs, checkRange(field.NewPath("spec", "listeners").Index(i).Child("port"), l.Port, 1, 65535)...)
	}
	return errs
}
