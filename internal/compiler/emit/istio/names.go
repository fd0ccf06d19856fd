package istio

import (
	"fmt"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// routeNames are the names of Istio's routes for each match of a rule. A VirtualService's have the HTTP route's name,
// with the match's behind a dot, or none; one of Gateway API has a name for the whole rule, its own or a made one
// (Istio, pilot/pkg/networking/core/route and pilot/pkg/config/kube/gateway).
func (e *emitter) routeNames(route *gateway.Route, rule int) []string {
	spec := route.Value.Spec.Rules[rule]
	name := ""
	if spec.Name != nil {
		name = string(*spec.Name)
	}
	if route.Kind != object.KindVirtualService { // so there is one below
		if name == "" {
			name = fmt.Sprintf("%s.%s.%d", route.Namespace, route.Name, rule)
		}
		return slices.Repeat([]string{name}, max(1, len(spec.Matches)))
	}
	var names []string
	for _, m := range e.virtualService(route).Spec.HTTP[rule].Match {
		if m.Name == "" {
			names = append(names, name)
		} else {
			names = append(names, name+"."+m.Name)
		}
	}
	if names == nil {
		return []string{name}
	}
	return names
}

// virtualService is what a route was before it got the shape of an HTTPRoute; nil if it had that.
func (e *emitter) virtualService(route *gateway.Route) *resource.VirtualService {
	if route.Kind != object.KindVirtualService {
		return nil
	}
	return e.virtuals[route.Key()]
}

// registryHost is the backend's name in Istio's registry.
func registryHost(b *backend.Backend) string {
	if b.Object.Kind == object.KindService {
		return serviceHost(b.Object.Namespace, b.Object.Name)
	}
	return b.Object.Name
}

// clusterName is the name of Istio's cluster for a backend (Istio, pkg/model.BuildSubsetKey).
func clusterName(b *backend.Backend) string {
	return fmt.Sprintf("outbound|%d|%s|%s", b.Port, b.Subset, registryHost(b))
}

// isAddressable reports whether a rule's routes can be told from all others of its proxies, and says what is in the way.
func (e *emitter) isAddressable(p *proxySet, rule lower.AttachedRule, names []string) bool {
	path := rulePath(rule)
	if slices.Contains(names, "") {
		e.Report.NotSupportedBy(rule.Route, Target, path, "Istio gives its routes no name, by which sessions find them: the HTTP route, or each of its matches, needs a name")
		return false
	}
	for _, name := range names {
		for _, other := range p.rulesByRouteName[name] {
			if other.Rule == rule.Rule && other.Route == rule.Route && other.Index == rule.Index {
				continue
			}
			why := fmt.Sprintf("Istio gives its route the name %q, which it gives to rule %d of %s too, on the same proxies, and sessions find routes by their names: give it another name", name, other.Index, other.Route)
			if other.Route == rule.Route && other.Index == rule.Index {
				why = fmt.Sprintf("it has different sessions on the listeners %s and %s, and Istio's routes have the same name there", rule.Listener.Name(), other.Listener.Name())
			}
			e.Report.NotSupportedBy(rule.Route, Target, path, why)
			return false
		}
	}
	return true
}

func rulePath(rule lower.AttachedRule) string { return fmt.Sprintf("spec.rules[%d]", rule.Index) }
