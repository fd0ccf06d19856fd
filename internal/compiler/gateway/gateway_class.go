package gateway

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// listClasses gives who serves each class.
func (b *builder) listClasses() map[string]gatewayv1.GatewayController {
	classes := map[string]gatewayv1.GatewayController{}
	for _, c := range b.objects.Classes {
		classes[c.Name] = c.Value.Spec.ControllerName
		if c.Value.Spec.ControllerName == b.controller && !b.isolated && b.refuseClass(c) {
			classes[c.Name] = refusedClass
		}
	}
	return classes
}

// servesClass reports whether a Gateway is the controller's.
func (b *builder) servesClass(
	g *resource.Object[gatewayv1.Gateway],
	classes map[string]gatewayv1.GatewayController,
) bool {
	class := string(g.Value.Spec.GatewayClassName)
	path, controller := field.NewPath("spec", "gatewayClassName"), classes[class]
	switch {
	case controller == b.controller && b.isTooNew(g):
		e := field.Invalid(path, class, "its GatewayClass is being deleted, and serves those alone that were there before: "+
			"the Gateway is left out")
		b.rep.WarnFor(report.NoClass, g, string(gatewayv1.GatewayReasonPending), e)
		return false
	case controller == b.controller:
		return true
	case controller == refusedClass:
		e := field.Invalid(path, class, "its GatewayClass is not accepted: the Gateway is left out")
		b.rep.WarnFor(report.NoClass, g, string(gatewayv1.GatewayReasonPending), e)
		return false
	case controller == b.own && b.isolated:
		e := field.Invalid(path, class, fmt.Sprintf("its class is served by %s, not by %s: the Gateway is left out; "+
			"compile it with -t envoy, or name a class of this control plane", controller, b.controller))
		b.rep.Warn(report.UnservedClass, g, e)
		return false
	case controller != "":
		b.rep.Advise(report.OtherClass, g, path, fmt.Sprintf("its class is served by %s, not by %s: the Gateway is left out",
			controller, b.controller))
		return false
	case b.isolated:
		return true
	}
	e := field.NotFound(path, class)
	e.Detail = b.objects.Absence(object.Ref{Kind: object.KindGatewayClass, Name: class})
	if b.assumeClass {
		e.Detail += fmt.Sprintf(": it is taken for one of %s", b.controller)
		b.rep.Warn(report.AssumedClass, g, e)
		return true
	}
	e.Detail += ": the Gateway is left out"
	b.rep.WarnFor(report.NoClass, g, string(gatewayv1.GatewayReasonPending), e)
	return false
}

// isTooNew tells whether a Gateway was made after its class was deleted. The class is gone once no older Gateway names
// it.
func (b *builder) isTooNew(g *resource.Object[gatewayv1.Gateway]) bool {
	at := slices.IndexFunc(b.objects.Classes, func(c *resource.Object[gatewayv1.GatewayClass]) bool {
		return c.Name == string(g.Value.Spec.GatewayClassName)
	})
	if at < 0 {
		return false
	}
	deleted := b.objects.Classes[at].Value.DeletionTimestamp
	return deleted != nil && g.Value.CreationTimestamp.After(deleted.Time)
}
