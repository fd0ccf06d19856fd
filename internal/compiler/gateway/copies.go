package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// maxCopies is the most bytes that the routes of one hostname of a listener come to on the more specific ones that it covers. Envoy
// looks at one virtual host and no other, so each has a copy of them: what two tenants write in a megabyte could be a table of
// gigabytes, for which all others of the proxy wait. A fallback of ten rules has room on 8,000 hosts, and one rule on 80,000; what
// Envoy is given is a few times as large.
const maxCopies = 16 << 20

// copyOverhead is what a copy of a match costs, in bytes, besides its text.
const copyOverhead = 128

// wideHost is a hostname of a listener that has routes, for one that covers others which have some.
type wideHost struct {
	listener *listener
	hostname string
}

// copies are those of a wide hostname's routes, where there is no room for all.
type copies struct {
	narrower []ownedHost     // that it covers
	routes   []*Route        // that are laid out to those
	without  map[string]bool // which of those get none
}

// limitedCopies are those of a port; it has no hostname whose routes are laid out to all that it covers.
type limitedCopies map[wideHost]*copies

// routesAt gives the routes of a hostname that covers a domain, as far as they are laid out to that.
func (c limitedCopies) routesAt(hostname string, d ownedHost) []*Route {
	limited := c[wideHost{d.owner, hostname}]
	switch {
	case limited == nil || hostname == d.hostname:
		return d.owner.attached[hostname]
	case limited.without[d.hostname]:
		return nil
	default:
		return limited.routes
	}
}

// limitCopies finds the hostnames of a port that have too many copies, and chooses which are made (S86).
func (b *builder) limitCopies(domains []ownedHost) limitedCopies {
	if b.maxCopies == 0 {
		return nil
	}
	limited := b.findCrowded(domains)
	if len(limited) == 0 {
		return nil
	}
	for _, d := range domains {
		for _, h := range d.covering[1:] {
			if c := limited[wideHost{d.owner, h}]; c != nil {
				c.narrower = append(c.narrower, d)
			}
		}
	}
	for _, d := range domains {
		if c := limited[wideHost{d.owner, d.hostname}]; c != nil {
			b.chooseCopies(d, c)
		}
	}
	return limited
}

// findCrowded finds the hostnames whose routes have no room on all that they cover, were none of them attached there too.
func (b *builder) findCrowded(domains []ownedHost) limitedCopies {
	covered := map[wideHost]int{}
	for _, d := range domains {
		if d.owner.StreamsOnly() {
			continue // what is more specific has it all
		}
		for _, h := range d.covering[1:] {
			if len(d.owner.attached[h]) > 0 {
				covered[wideHost{d.owner, h}]++
			}
		}
	}
	limited := limitedCopies{}
	for wide, hosts := range covered {
		size := 0
		for _, route := range wide.listener.attached[wide.hostname] {
			size += sizeOfCopy(route)
		}
		if size*hosts > b.maxCopies {
			limited[wide] = &copies{without: map[string]bool{}}
		}
	}
	return limited
}

// sizeOfCopy is what it costs to lay a route out to one more hostname: its matches, each with what its rule has for every request.
func sizeOfCopy(route *Route) (size int) {
	for r, rule := range route.Value.Spec.Rules {
		if isDropped(route, r) {
			continue
		}
		each := copyOverhead + textSize(rule.Filters) + textSize(rule.BackendRefs)
		size += each * max(1, len(rule.Matches))
		for _, m := range rule.Matches {
			size += matchSize(m)
		}
	}
	return size
}

// textSize is how many bytes a list of a rule is as JSON.
func textSize[T any](list []T) int {
	if len(list) == 0 {
		return 0
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // the type has nothing in it that JSON does not
	}
	return len(text)
}

// matchSize is how many bytes of text a match has.
func matchSize(m gatewayv1.HTTPRouteMatch) (size int) {
	if m.Path != nil && m.Path.Value != nil {
		size += len(*m.Path.Value)
	}
	if m.Method != nil {
		size += len(*m.Method)
	}
	for _, h := range m.Headers {
		size += len(h.Name) + len(h.Value)
	}
	for _, q := range m.QueryParams {
		size += len(q.Name) + len(q.Value)
	}
	return size
}

// arrival is a route of a wide hostname, or else a hostname that it covers, with the oldest route there.
type arrival struct {
	route *Route
	host  string
}

// listArrivals lists the routes of a wide hostname, and the hostnames that it covers, in the order in which they come: a hostname
// comes with its oldest route.
func (b *builder) listArrivals(wide ownedHost, narrower []ownedHost) []arrival {
	byAge := func(x, y *Route) int { return b.order.Compare(x.Origin(), y.Origin()) }
	var all []arrival
	for _, route := range wide.owner.attached[wide.hostname] {
		all = append(all, arrival{route: route})
	}
	for _, d := range narrower {
		all = append(all, arrival{slices.MinFunc(d.owner.attached[d.hostname], byAge), d.hostname})
	}
	slices.SortStableFunc(all, func(x, y arrival) int { return byAge(x.route, y.route) })
	return all
}

// chooser chooses the copies of a wide hostname's routes.
type chooser struct {
	*copies
	listener   *listener
	most, used int
	sizes      map[*Route]int  // of those that are laid out, and
	each       int             // of all these together
	with       map[string]bool // the hostnames that have them
}

// chooseCopies has all that comes keep what it has, in the order of seniority: a route for which there is no room on the hostnames
// before it is laid out to none, and a hostname without room for the routes before it gets none. So nobody takes anything from those who
// were there first, neither by a route nor by a hostname.
func (b *builder) chooseCopies(wide ownedHost, c *copies) {
	choice := chooser{copies: c, listener: wide.owner, most: b.maxCopies, sizes: map[*Route]int{}, with: map[string]bool{}}
	left := map[*Route][]string{} // hostnames without, by their oldest route
	for _, a := range b.listArrivals(wide, c.narrower) {
		switch {
		case a.host == "" && !choice.takeRoute(a.route):
			b.tellWithheld(a.route, wide)
		case a.host != "" && !choice.takeHost(a.host):
			left[a.route] = append(left[a.route], a.host)
		}
	}
	for route, without := range left {
		b.tellWithout(route, without, wide)
	}
}

// takeRoute lays a route out to the hostnames that came before it; false if there is no room. Those of its own are no copies.
func (c *chooser) takeRoute(route *Route) bool {
	hosts := len(c.with)
	for _, own := range c.listener.common[route] {
		if c.with[own] {
			hosts--
		}
	}
	size := sizeOfCopy(route)
	if c.used+size*hosts > c.most {
		return false
	}
	c.used, c.each, c.sizes[route] = c.used+size*hosts, c.each+size, size
	c.routes = append(c.routes, route)
	return true
}

// takeHost gives a hostname the routes that came before it; false if there is no room. Those that it has itself are no copies.
func (c *chooser) takeHost(hostname string) bool {
	size := c.each
	for _, own := range c.listener.attached[hostname] {
		size -= c.sizes[own]
	}
	if c.used+size > c.most {
		c.without[hostname] = true
		return false
	}
	c.used, c.with[hostname] = c.used+size, true
	return true
}

// tellWithheld tells a route that it is not laid out to the hostnames which one of its own covers.
func (b *builder) tellWithheld(route *Route, wide ownedHost) {
	b.rep.WarnFor(route, report.ReasonHostsWithheld, field.Invalid(field.NewPath("spec", "hostnames"), wide.hostname, fmt.Sprintf(
		"%s, and those that go first leave no room for this one's matches: requests for these hostnames do not reach it. "+
			"Give it fewer matches, the hostnames that it is for, or a Gateway of its own", b.describeLimit(wide))))
}

// maxToldHosts is how many hostnames are listed.
const maxToldHosts = 3

// tellWithout tells the oldest route of some hostnames that the routes of a wider one are not laid out to them.
func (b *builder) tellWithout(route *Route, hostnames []string, wide ownedHost) {
	slices.Sort(hostnames)
	text := strings.Join(hostnames[:min(len(hostnames), maxToldHosts)], ", ")
	if more := len(hostnames) - maxToldHosts; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	b.rep.WarnFor(route, report.ReasonFallbackWithheld, field.Invalid(field.NewPath("spec", "hostnames"), text, fmt.Sprintf(
		"%s, and what goes first leaves no room for them here: requests that no other route takes get 404. "+
			"Give the routes for %q fewer matches, or the hostname a Gateway of its own", b.describeLimit(wide), wide.hostname)))
}

func (b *builder) describeLimit(wide ownedHost) string {
	l := wide.owner
	return fmt.Sprintf("on listener %s of Gateway %s routes for %q are copied to more specific hostnames up to %g MiB in all",
		l.Name(), l.Gateway().Key(), wide.hostname, float64(b.maxCopies)/(1<<20))
}
