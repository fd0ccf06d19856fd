package lower

import (
	"cmp"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Placed is a rule of a route on one listener that it is attached to.
type Placed struct {
	Listener *gateway.Listener
	Route    *gateway.Route
	Index    int
	Rule     *policy.Rule
}

// Place lists what a control plane's proxies serve, each rule once on each listener: by listener, then the older route
// first. It is for targets that make no routes themselves.
func Place(ports []gateway.Port, decisions *policy.Decisions) []Placed {
	type key struct {
		listener *gateway.Listener
		route    *gateway.Route
		rule     int
	}
	seen := map[key]bool{}
	var placed []Placed
	for _, p := range ports {
		for _, h := range p.Hosts {
			for _, m := range h.Matches {
				k := key{h.Listener, m.Route, m.Rule}
				if !seen[k] {
					seen[k] = true
					placed = append(placed, Placed{k.listener, k.route, k.rule, decisions.Rule(k.listener, k.route, k.rule)})
				}
			}
		}
	}
	slices.SortFunc(placed, func(a, b Placed) int {
		return cmp.Or(cmp.Compare(a.Listener.Key(), b.Listener.Key()), resource.ByAge(a.Route, b.Route), cmp.Compare(a.Index, b.Index))
	})
	return placed
}
