package lower

import (
	"cmp"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// attachedRule is a rule of a route on one listener that it is attached to.
type attachedRule struct {
	listener *gateway.Listener
	route    *gateway.Route
	index    int
	decided  *policy.Rule
}

// listAttachedRules lists what a control plane's proxies serve, each rule once on each listener: by listener, then the older route
// first.
func listAttachedRules(ports []gateway.Port, decisions *policy.Decisions) []attachedRule {
	type key struct {
		listener *gateway.Listener
		route    *gateway.Route
		rule     int
	}
	seen := map[key]bool{}
	var rules []attachedRule
	for _, p := range ports {
		for _, h := range p.Hosts {
			for _, m := range h.Matches {
				k := key{h.Listener, m.Route, m.Rule}
				if !seen[k] {
					seen[k] = true
					rules = append(rules, attachedRule{k.listener, k.route, k.rule, decisions.Rule(k.listener, k.route, k.rule)})
				}
			}
		}
	}
	slices.SortFunc(rules, func(a, b attachedRule) int {
		return cmp.Or(cmp.Compare(a.listener.Key(), b.listener.Key()), resource.ByAge(a.route, b.route), cmp.Compare(a.index, b.index))
	})
	return rules
}
