package envoygateway

import (
	"fmt"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
)

// The names that Envoy Gateway gives to Envoy's resources (its internal/gatewayapi/helpers.go).

// clusterName is a rule's cluster, which all its backends share.
func clusterName(route *gateway.Route, rule int) string {
	return fmt.Sprintf("%s/%s/rule/%d", strings.ToLower(route.Kind), route.Key(), rule)
}

// backendName is the cluster of one backendRef, where they don't share one, and else its locality.
func backendName(route *gateway.Route, rule, ref int) string {
	return fmt.Sprintf("%s/backend/%d", clusterName(route, rule), ref)
}

// routeName is Envoy's route for one match and one hostname. Dots are underscores in there, for they mean something in
// the names of counters.
func routeName(route *gateway.Route, rule, match int, host string) string {
	return fmt.Sprintf("%s/match/%d/%s", clusterName(route, rule), match, strings.ReplaceAll(host, ".", "_"))
}

// listenerName is Envoy's listener for a Gateway's: all of a port are one, under the name of the first.
func listenerName(l *gateway.Listener) string { return firstOnPort(l, isServed) }

// routeConfigurationName is that of the table that has a listener's routes: one for each TLS listener, and one for all
// others of a port.
func routeConfigurationName(l *gateway.Listener) string {
	if l.Protocol() == gatewayv1.HTTPSProtocolType {
		return l.Key()
	}
	return firstOnPort(l, func(p gatewayv1.ProtocolType) bool { return p == gatewayv1.HTTPProtocolType })
}

func isServed(p gatewayv1.ProtocolType) bool {
	return p == gatewayv1.HTTPProtocolType || p == gatewayv1.HTTPSProtocolType
}

// firstOnPort names the first listener on a listener's port whose protocol will do.
func firstOnPort(l *gateway.Listener, will func(gatewayv1.ProtocolType) bool) string {
	for _, other := range l.Gateway().Value.Spec.Listeners {
		if other.Port == l.Port() && will(other.Protocol) {
			return l.Gateway().Key() + "/" + string(other.Name)
		}
	}
	return l.Key()
}
