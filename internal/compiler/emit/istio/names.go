package istio

import (
	"cmp"
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

// isAddressable reports whether requests of a rule can be told from all others of its proxies, by the names of its
// routes or, with byCluster, by those and its backends' clusters. Where they can't, the older rule keeps its sessions,
// and the younger is told.
func (e *emitter) isAddressable(p *proxySet, rule *ir.AttachedRule, names []string) (addressable, byCluster bool) {
	path := rulePath(rule)
	if slices.Contains(names, "") {
		e.withhold(rule, path,
			"Istio gives its routes no name, by which sessions find them: the HTTP route, or each of its matches, needs a name")
		return false, false
	}
	for _, name := range removeDuplicates(names) {
		for _, other := range p.rulesByRouteName[name] {
			switch {
			case other.Rule == rule.Rule && other.Sessions == rule.Sessions:
			case other.Rule == rule.Rule:
				e.withhold(rule, path, fmt.Sprintf(
					"it has different sessions on the listeners %s and %s, and Istio's routes have the same name there",
					rule.Listener.Name, other.Listener.Name))
				return false, false
			case e.sharesName(rule, other, name):
				return false, false
			default:
				byCluster = true
			}
		}
	}
	return true, byCluster
}

// sharesName tells whether a rule can't have its sessions because another rule's routes have its routes' name too.
// Patches of routes find them by name alone, so that none of the two may be strict.
func (e *emitter) sharesName(rule, other *ir.AttachedRule, name string) bool {
	const lead = "Istio gives its route the name %q, which it gives to rule %d of %s too, on the same proxies, " +
		"and sessions find routes by their names"
	path, apart := rulePath(rule), haveOtherClusters(rule.Rule, other.Rule)
	older := cmp.Or(e.plan.Compare(rule.Route.Origin, other.Route.Origin), cmp.Compare(rule.Index, other.Index)) < 0
	switch {
	case rule.Sessions.IsStrict():
		e.withhold(
			rule,
			path,
			fmt.Sprintf(lead+": with onHostLost: Fail it needs a name of its own", name, other.Index, other.Route.Subject),
		)
		return true
	case apart:
		return false
	case older && !other.Sessions.On():
		e.reportRule(other, "", fmt.Sprintf(lead+" and backends: requests of this rule, the younger, get that rule's: "+
			"give it another name", name, rule.Index, rule.Route.Subject))
		return false
	case older:
		return false
	default:
		e.withhold(rule, path, fmt.Sprintf(lead+" and backends; that rule is older and keeps its own: "+
			"give this one another name", name, other.Index, other.Route.Subject))
		return true
	}
}

// haveOtherClusters reports whether no cluster of one rule is one of the other's, as far as is known.
func haveOtherClusters(a, b *ir.Rule) bool {
	own := clusterNames(a)
	for _, c := range clusterNames(b) {
		if slices.Contains(own, c) {
			return false
		}
	}
	unknown := func(backend *ir.Backend) bool { return backend.Port == 0 }
	return !slices.ContainsFunc(append(a.DistinctBackends(), b.DistinctBackends()...), unknown)
}

// clusterNames are the names of a rule's clusters.
func clusterNames(rule *ir.Rule) []string {
	var names []string
	for _, b := range rule.DistinctBackends() {
		names = append(names, clusterName(b))
	}
	return names
}

// rulePath leads to the rule in its route.
func rulePath(rule *ir.AttachedRule) string { return fmt.Sprintf("spec.rules[%d]", rule.Index) }
