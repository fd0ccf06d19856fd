package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// copies are the copies of a wide hostname's routes that are not made. Envoy looks at one virtual host alone, so each
// hostname that the wide one covers would need a copy of its routes.
type copies struct {
	routes map[object.Ref]Shortage // that are copied nowhere
	hosts  map[string]Shortage     // that have none of them
	// about is a route among all that meet there.
	about object.Ref
}

func (c *copies) equal(other *copies) bool {
	return c.about == other.about && maps.Equal(c.routes, other.routes) && maps.Equal(c.hosts, other.hosts)
}

// withhold returns the record of a hostname's copies that are not made. about is the route whose copies exceed a budget
// first.
func (l *Layout) withhold(at hostKey, about object.Ref) *copies {
	c := l.copies[at]
	if c == nil {
		c = &copies{routes: map[object.Ref]Shortage{}, hosts: map[string]Shortage{}, about: about}
		l.copies[at] = c
	}
	return c
}

// routesAt gives the routes of a hostname that covers a domain, as far as they are laid out to that.
func (b *builder) routesAt(hostname string, port portKey, d ownedHost) []*Route {
	attached := d.owner.attached[hostname]
	if len(b.layout.copies) == 0 || hostname == d.hostname {
		return attached
	}
	c := b.layout.copies[hostKey{port, d.owner.Key(), hostname}]
	if c == nil {
		return attached
	}
	if _, without := c.hosts[d.hostname]; without {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(attached), func(r *Route) bool {
		_, withheld := c.routes[r.Ref()]
		return withheld
	})
}

// tellCopies tells of the copies at a port that are not made (S86).
func (b *builder) tellCopies(port portKey, domains []ownedHost) {
	if len(b.layout.copies) == 0 {
		return
	}
	for _, wide := range domains {
		c := b.layout.copies[hostKey{port, wide.owner.Key(), wide.hostname}]
		if c == nil {
			continue
		}
		for _, route := range wide.owner.attached[wide.hostname] {
			if short, withheld := c.routes[route.Ref()]; withheld {
				b.tellWithheld(route, short, wide)
			}
		}
		b.tellHosts(c, wide)
	}
}

// tellHosts tells the oldest routes of hostnames that the routes of a wider one are not laid out to them.
func (b *builder) tellHosts(c *copies, wide ownedHost) {
	byAge := func(x, y *Route) int { return b.order.Compare(x.Origin(), y.Origin()) }
	without := map[*Route][]string{}
	for _, host := range slices.Sorted(maps.Keys(c.hosts)) {
		if attached := wide.owner.attached[host]; len(attached) > 0 {
			oldest := slices.MinFunc(attached, byAge)
			without[oldest] = append(without[oldest], host)
		}
	}
	for route, hosts := range without {
		b.tellWithout(route, hosts, c.hosts[hosts[0]], wide)
	}
}

// tellWithheld tells a route that it is not laid out to the hostnames which one of its own covers.
func (b *builder) tellWithheld(route *Route, short Shortage, wide ownedHost) {
	b.rep.WarnFor(
		report.HostsWithheld,
		route,
		report.ReasonHostsWithheld,
		field.Invalid(field.NewPath("spec", "hostnames"),
			wide.hostname, fmt.Sprintf(
				"%s, and those that go first leave no room for this one's matches in the %s of %s: requests for these hostnames "+
					"do not reach it. Give it fewer matches, or the hostnames that it is for",
				describeCopies(wide),
				InMiB(short.Most),
				short.Budget,
			)),
	)
}

// maxListedHosts is how many hostnames are listed.
const maxListedHosts = 3

// tellWithout tells the oldest route of some hostnames that the routes of a wider one are not laid out to them.
func (b *builder) tellWithout(route *Route, hostnames []string, short Shortage, wide ownedHost) {
	text := strings.Join(hostnames[:min(len(hostnames), maxListedHosts)], ", ")
	if more := len(hostnames) - maxListedHosts; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	b.rep.WarnFor(report.HostsWithheld, route, report.ReasonFallbackWithheld, field.Invalid(field.NewPath("spec",
		"hostnames"), text, fmt.Sprintf(
		"%s, and what goes first leaves no room for them here in the %s of %s: requests that no other route takes get 404. "+
			"Give the routes for %q fewer matches", describeCopies(wide), InMiB(short.Most), short.Budget, wide.hostname)))
}

func describeCopies(wide ownedHost) string {
	l := wide.owner
	return fmt.Sprintf("on listener %s of Gateway %s routes for %q are copied to more specific hostnames",
		l.Name(), l.Gateway().Key(), wide.hostname)
}
