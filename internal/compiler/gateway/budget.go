package gateway

import (
	"fmt"
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Budget is how many bytes of routes are laid out at most, in all, and of these for each Gateway and for each namespace
// of routes. Zero is no limit, where a control plane lays routes out. Envoys take about five times as much memory, and
// limpet less.
type Budget struct{ All int }

// DefaultBudget is what fits into a gigabyte of memory. 10,000 usual routes are half of what a Gateway gets.
const DefaultBudget = 40 << 20

// Each is the share of a Gateway, or a namespace.
func (b Budget) Each() int { return b.All / 5 * 2 }

// Usage is how much is laid out: for each Gateway by its key, for each namespace of routes, and in all. Hosts with
// equal routes are laid out once.
type Usage struct {
	Gateways, Namespaces map[string]Spent
	All                  Spent
}

// Taken is how much of a budget is laid out.
type Taken struct {
	Of    string `json:"of"`
	Bytes int    `json:"bytes"`
	Most  int    `json:"most"`
}

// IsNear tells whether half of the budget is used, or more.
func (t Taken) IsNear() bool { return 2*t.Bytes >= t.Most }

// Explain says how much it is.
func (t Taken) Explain() string {
	return fmt.Sprintf("routes take %s of the %s of %s", InMiB(t.Bytes), InMiB(t.Most), t.Of)
}

// List lists the budgets of Gateways and namespaces with routes, and that of all together.
func (u Usage) List(budget Budget) (all []Taken) {
	for _, gateway := range slices.Sorted(maps.Keys(u.Gateways)) {
		all = append(all, Taken{ofGateway(gateway), u.Gateways[gateway].Bytes, budget.Each()})
	}
	for _, namespace := range slices.Sorted(maps.Keys(u.Namespaces)) {
		all = append(all, Taken{ofNamespace(namespace), u.Namespaces[namespace].Bytes, budget.Each()})
	}
	if len(all) > 0 {
		all = append(all, Taken{ofAll, u.All.Bytes, budget.All})
	}
	return all
}

// The names of budgets.
const ofAll = "all Gateways together"

func ofGateway(key string) string    { return "Gateway " + key }
func ofNamespace(name string) string { return "namespace " + name }

// ListFor lists the budgets that a route's laying out takes from, on some Gateways, among all.
func ListFor(namespace string, gateways []string, all []Taken) (some []Taken) {
	for _, t := range all {
		isOf := func(key string) bool { return t.Of == ofGateway(key) }
		if t.Of == ofAll || t.Of == ofNamespace(namespace) || slices.ContainsFunc(gateways, isOf) {
			some = append(some, t)
		}
	}
	return some
}

// Spent is bytes of routes, and those of them that are copies.
type Spent struct{ Bytes, Copies int }

// fits reports whether more fits into the budget. Copies leave half of a budget to what routes have at their own
// hostnames.
func (s Spent) fits(more Spent, most int) bool {
	return s.Bytes+more.Bytes <= most && (more.Copies == 0 || s.Copies+more.Copies <= most/2)
}

func (s Spent) plus(more Spent) Spent { return Spent{s.Bytes + more.Bytes, s.Copies + more.Copies} }

// atMost is what of it fits into a budget.
func (s Spent) atMost(most int) Spent { return Spent{min(s.Bytes, most), min(s.Copies, most/2)} }

// Shortage is why a route is not laid out: it needs more than is left of a budget.
type Shortage struct {
	Budget string
	Most   int
	Needed int
}

// explain says so of a route on a Gateway.
func (s Shortage) explain(gateway string) string {
	return fmt.Sprintf(
		"its matches come to %s on all hostnames and listeners of Gateway %s, more than what goes first leaves of "+
			"the %s of %s",
		InMiB(s.Needed),
		gateway,
		InMiB(s.Most),
		s.Budget,
	)
}

// InMiB writes a number of bytes.
func InMiB(bytes int) string { return fmt.Sprintf("%.4g MiB", float64(bytes)/(1<<20)) }

// Layout is what is not laid out because a budget is used up.
type Layout struct {
	// routes are those that are not attached to a Gateway.
	routes map[routeAt]Shortage
	// copies are those of wide hostnames that exceed the budget.
	copies map[hostKey]*copies
}

// routeAt is a route on the listeners of the Gateway with a key, and hostKey a hostname of the listener with a key, on
// a port.
type (
	routeAt struct {
		route   object.Ref
		gateway string
	}
	hostKey struct {
		port               portKey
		listener, hostname string
	}
)

// Equal reports whether the same is left out.
func (l *Layout) Equal(other *Layout) bool {
	return l == other || l != nil && other != nil && maps.Equal(l.routes, other.routes) &&
		maps.EqualFunc(l.copies, other.copies, (*copies).equal)
}

// ListOther lists routes with which something else is left out than with another layout: one at least of those that
// meet at a hostname.
func (l *Layout) ListOther(other *Layout) map[object.Ref]bool {
	routes := map[object.Ref]bool{}
	if l == other {
		return routes
	}
	for _, pair := range [2][2]*Layout{{l, other}, {other, l}} {
		for at, short := range pair[0].routes {
			if pair[1].routes[at] != short {
				routes[at.route] = true
			}
		}
		for at, c := range pair[0].copies {
			if was := pair[1].copies[at]; was == nil || !was.equal(c) {
				routes[c.about] = true
			}
		}
	}
	return routes
}

// findShortage reports whether a budget allows what a namespace's routes need on a Gateway, and why not if there is
// none.
func (u *Usage) findShortage(budget Budget, namespace, gateway string, more Spent) (Shortage, bool) {
	each := budget.Each()
	switch {
	case !u.Namespaces[namespace].fits(more, each):
		return Shortage{ofNamespace(namespace), each, more.Bytes}, false
	case !u.Gateways[gateway].fits(more, each):
		return Shortage{ofGateway(gateway), each, more.Bytes}, false
	case !u.All.fits(more, budget.All):
		return Shortage{ofAll, budget.All, more.Bytes}, false
	}
	return Shortage{}, true
}

// charge takes from the budget what is free.
func (u *Usage) charge(budget Budget, namespace, gateway string, more Spent) (Shortage, bool) {
	short, fits := u.findShortage(budget, namespace, gateway, more)
	if fits {
		u.Namespaces[namespace] = u.Namespaces[namespace].plus(more)
		u.Gateways[gateway] = u.Gateways[gateway].plus(more)
		u.All = u.All.plus(more)
	}
	return short, fits
}
