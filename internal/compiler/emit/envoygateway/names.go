package envoygateway

import (
	"fmt"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// The names that Envoy Gateway gives to Envoy's resources (its internal/gatewayapi/helpers.go).

// clusterName is a rule's cluster, which all its backends share.
func clusterName(r *ir.Rule) string {
	return fmt.Sprintf("%s/%s/rule/%d", strings.ToLower(r.Route.Kind), r.Route.Key(), r.Index)
}

// backendName is the name of a backendRef's cluster or, where the rule's backends share a cluster, of its locality.
func backendName(r *ir.Rule, ref int) string {
	return fmt.Sprintf("%s/backend/%d", clusterName(r), ref)
}

// routeName is Envoy's route for one match and one hostname. Dots are underscores in there, for they mean something in
// the names of counters. A rule of a GRPCRoute may have no match, which Envoy Gateway counts as -1.
func routeName(r *ir.Rule, match int, host string) string {
	if isGRPC(r) && len(r.MatchNames) == 0 {
		match = -1
	}
	return fmt.Sprintf("%s/match/%d/%s", clusterName(r), match, strings.ReplaceAll(host, ".", "_"))
}

// listenerName is the name of Envoy's listener for a Gateway's listener: all of a port are one, named after the first.
func listenerName(l *ir.GatewayListener) string { return firstOnPort(l, isServed) }

// routeConfigurationName is that of the table that has a listener's routes: one for each TLS listener, and one for all
// others of a port.
func routeConfigurationName(l *ir.GatewayListener) string {
	if l.Protocol == gatewayv1.HTTPSProtocolType {
		return l.Key()
	}
	return firstOnPort(l, func(p gatewayv1.ProtocolType) bool { return p == gatewayv1.HTTPProtocolType })
}

func isServed(p gatewayv1.ProtocolType) bool {
	return p == gatewayv1.HTTPProtocolType || p == gatewayv1.HTTPSProtocolType
}

// firstOnPort names the first listener on a listener's port whose protocol will do.
func firstOnPort(l *ir.GatewayListener, will func(gatewayv1.ProtocolType) bool) string {
	for _, other := range l.Gateway.Listeners {
		if other.Port == l.Port && will(other.Protocol) {
			return other.Key()
		}
	}
	return l.Key()
}
