package istio

import (
	"fmt"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// routeNames are the names of Istio's routes for each match of a rule. A VirtualService's have the HTTP route's name,
// with the match's behind a dot, or none; one of Gateway API has a name for the whole rule, its own or a made one
// (Istio, pilot/pkg/networking/core/route and pilot/pkg/config/kube/gateway).
func routeNames(rule *ir.Rule) []string {
	name := rule.Name
	if rule.Route.Kind != object.KindVirtualService && name == "" {
		name = fmt.Sprintf("%s.%s.%d", rule.Route.Namespace, rule.Route.Name, rule.Index)
	}
	names := slices.Repeat([]string{name}, rule.CountMatches())
	for m, match := range rule.MatchNames {
		if match != "" {
			names[m] = name + "." + match
		}
	}
	return names
}

// clusterName is the name of Istio's cluster for a backend (Istio, pkg/model.BuildSubsetKey).
func clusterName(b *ir.Backend) string {
	return fmt.Sprintf("outbound|%d|%s|%s", b.Port, b.Subset, registryHost(b))
}

// isAddressable reports whether a rule's routes can be told from all others of its proxies, and says what is in the way.
func (e *emitter) isAddressable(p *proxySet, rule *ir.AttachedRule, names []string) bool {
	path := rulePath(rule)
	if slices.Contains(names, "") {
		e.rep.NotSupportedBy(rule.Route.Subject, Target, path,
			"Istio gives its routes no name, by which sessions find them: the HTTP route, or each of its matches, needs a name")
		return false
	}
	for _, name := range names {
		for _, other := range p.rulesByRouteName[name] {
			if other.Rule == rule.Rule && other.Sessions == rule.Sessions {
				continue
			}
			why := fmt.Sprintf("Istio gives its route the name %q, which it gives to rule %d of %s too, on the same proxies, "+
				"and sessions find routes by their names: give it another name", name, other.Index, other.Route.Subject)
			if other.Rule == rule.Rule {
				why = fmt.Sprintf("it has different sessions on the listeners %s and %s, and Istio's routes have the same name there",
					rule.Listener.Name, other.Listener.Name)
			}
			e.rep.NotSupportedBy(rule.Route.Subject, Target, path, why)
			return false
		}
	}
	return true
}

// rulePath leads to the rule in its route.
func rulePath(rule *ir.AttachedRule) string { return fmt.Sprintf("spec.rules[%d]", rule.Index) }
