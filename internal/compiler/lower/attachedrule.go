package lower

import (
	"cmp"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// AttachedRule is a rule of a route on one listener that it is attached to.
type AttachedRule struct {
	Listener *gateway.Listener
	Route    *gateway.Route
	Index    int
	Rule     *policy.Rule
}

// AttachedRules lists what a control plane's proxies serve, each rule once on each listener: by listener, then the older route
// first. It is for targets that make no routes themselves.
func AttachedRules(ports []gateway.Port, decisions *policy.Decisions) []AttachedRule {
	type key struct {
		listener *gateway.Listener
		route    *gateway.Route
		rule     int
	}
	seen := map[key]bool{}
	var rules []AttachedRule
	for _, p := range ports {
		for _, h := range p.Hosts {
			for _, m := range h.Matches {
				k := key{h.Listener, m.Route, m.Rule}
				if !seen[k] {
					seen[k] = true
					rules = append(rules, AttachedRule{k.listener, k.route, k.rule, decisions.Rule(k.listener, k.route, k.rule)})
				}
			}
		}
	}
	slices.SortFunc(rules, func(a, b AttachedRule) int {
		return cmp.Or(cmp.Compare(a.Listener.Key(), b.Listener.Key()), resource.ByAge(a.Route, b.Route), cmp.Compare(a.Index, b.Index))
	})
	return rules
}
