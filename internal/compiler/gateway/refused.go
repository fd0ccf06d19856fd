package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// refusedClass stands for the controller of a class that is limpet's and not accepted. No controllerName is without a
// slash.
const refusedClass gatewayv1.GatewayController = "refused"

// refuseClass reports what of a GatewayClass is not supported, and whether there is anything.
func (b *builder) refuseClass(c *resource.Object[gatewayv1.GatewayClass]) bool {
	for _, f := range c.Faults {
		b.rep.ErrorForAt(report.GatewayRefused, c, string(gatewayv1.GatewayClassReasonInvalidParameters), f.Path,
			f.Message+": the class is not accepted")
	}
	return len(c.Faults) > 0
}

// refuseGateway reports what of a Gateway is not supported, outside its listeners, and gives the reason why it is not
// accepted; empty if it is.
func (b *builder) refuseGateway(g *resource.Object[gatewayv1.Gateway]) (why gatewayv1.GatewayConditionReason) {
	for _, f := range g.FaultsOutside(report.Listeners) {
		reason := gatewayv1.GatewayReasonInvalid
		switch {
		case strings.HasPrefix(f.Path, "spec.addresses"):
			reason = gatewayv1.GatewayReasonUnsupportedAddress
		case strings.HasPrefix(f.Path, "spec.infrastructure"):
			reason = gatewayv1.GatewayReasonInvalidParameters
		}
		why = cmp.Or(why, reason)
		b.rep.ErrorForAt(report.GatewayRefused, g, string(reason), f.Path, f.Message+": the Gateway is left out")
	}
	return why
}

// refuseListener reports what of a listener is not supported, and gives the reason why it is not accepted; empty if it
// is. Where clients' certificates should be verified and can't be, no client gets in.
func (b *builder) refuseListener(l *listener) (why gatewayv1.ListenerConditionReason) {
	faults := l.gateway.FaultsOf(report.Listeners, l.index)
	if l.set != nil {
		faults = l.set.FaultsOf(report.Listeners, l.index)
	}
	for _, f := range faults {
		reason := gatewayv1.ListenerReasonUnsupportedValue
		if strings.HasSuffix(f.Path, "].protocol") {
			reason = gatewayv1.ListenerReasonUnsupportedProtocol
		}
		why = cmp.Or(why, reason)
		b.rep.ErrorForAt(report.GatewayRefused, l.Subject(), string(reason), f.Path, f.Message+": the listener is left out")
	}
	if v := l.validations.findFor(l); v != nil {
		l.validatedBy, l.validation = v.place, v.by
		if v.by == nil {
			why = cmp.Or(why, gatewayv1.ListenerReasonNoValidCACertificate)
		}
	}
	return why
}

// refuseRoute reports what of a route is not supported. Faults in a rule drop the rule; others refuse the route, and
// the first of those is given.
func (b *builder) refuseRoute(route *Route) *resource.Fault {
	for _, f := range route.Faults {
		outcome := "the rule is dropped"
		if isFilterFault(f) {
			outcome = fmt.Sprintf("what it is for gets %d", UnresolvedStatusCode(route))
		}
		// the filter's type is reported for these
		if f.Place().IsInItem(report.Rules) && !strings.HasSuffix(f.Path, "].extensionRef") {
			b.rep.ErrorForAt(
				report.RouteRefused,
				route,
				string(gatewayv1.RouteReasonUnsupportedValue),
				f.Path,
				f.Message+": "+outcome,
			)
		}
	}
	rest := route.FaultsOutside(report.Rules, report.ParentRefs)
	for _, f := range rest {
		b.rep.ErrorForAt(
			report.RouteRefused,
			route,
			string(gatewayv1.RouteReasonUnsupportedValue),
			f.Path,
			f.Message+": the route is left out",
		)
	}
	if len(rest) == 0 {
		return nil
	}
	return &rest[0]
}

// isDropped reports whether a rule of a route is left out, for something in it is not supported that is no filter.
func isDropped(route *Route, rule int) bool {
	return len(route.Faults) > 0 &&
		slices.ContainsFunc(route.FaultsOf(report.Rules, rule), func(f resource.Fault) bool { return !isFilterFault(f) })
}

// isFilterFault reports whether a fault is in a filter of a rule or of a backendRef. What a filter is to do must not be
// left undone (HTTPRoute, rules.filters), so the rule or backend answers an error.
func isFilterFault(f resource.Fault) bool { return strings.Contains(f.Path, "].filters") }

// FilterFault gives the first fault in the filters of a rule, or of a backendRef, to which a path leads; nil if there
// is none.
func FilterFault(route *Route, at *field.Path) *resource.Fault {
	if len(route.Faults) == 0 {
		return nil
	}
	i := slices.IndexFunc(route.Faults, func(f resource.Fault) bool {
		return strings.HasPrefix(f.Path, at.String()+".filters")
	})
	if i < 0 {
		return nil
	}
	return &route.Faults[i]
}
