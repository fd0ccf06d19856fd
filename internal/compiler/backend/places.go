package backend

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Places are the addresses that endpoints may not have, because of what listens there: Envoy's own interfaces and
// listeners, and what else is on its machine.
type Places struct {
	// Own are where Envoy and limpet listen without any Gateway, and the API server.
	Own []netip.AddrPort
	// Listeners are where Envoy listens for Gateways.
	Listeners []Listener
	// NoLoopback says that Envoy runs where none of the input's authors does, so that no loopback address is anybody's.
	NoLoopback bool
	// Gateways are the namespaces with a Gateway that limpet serves: who may place one there decides what Envoy listens
	// on, and may lead requests to its own machine.
	Gateways []string
	// Zone is the zone that Envoy runs in; empty for one that is not known.
	Zone string
	// Reachable says that some Gateway is reached from other machines.
	Reachable bool
	// Machine are the addresses of Envoy's machine, besides those of its loopback, where they are known.
	Machine []netip.Addr
	// Names are the patterns of the DNS names that endpoints may have; see [IsNamePattern].
	Names []string
	// Nodes are the machines of a cluster.
	Nodes *Nodes
}

// Listener is where Envoy listens for a Gateway of a namespace.
type Listener struct {
	At        netip.AddrPort
	Namespace string
}

func (l Listener) compare(o Listener) int {
	return cmp.Or(l.At.Compare(o.At), cmp.Compare(l.Namespace, o.Namespace))
}

// NewPlaces gives the places of an input whose Gateways have what they claim.
func NewPlaces(objects *resource.Objects, claims gateway.Claims, own ...netip.AddrPort) *Places {
	p := &Places{}
	for _, at := range own {
		if at.IsValid() {
			p.Own = append(p.Own, at)
		}
	}
	served := map[string]bool{}
	for _, c := range objects.Classes {
		served[c.Name] = c.Value.Spec.ControllerName == objects.ControllerName()
	}
	for _, g := range objects.Gateways {
		if of, known := served[string(g.Value.Spec.GatewayClassName)]; !known || of {
			p.Gateways = append(p.Gateways, g.Namespace)
		}
	}
	slices.Sort(p.Gateways)
	p.Gateways = slices.Compact(p.Gateways)
	for c := range claims {
		p.Listeners = append(p.Listeners, Listener{c.At, c.Gateway.Namespace})
		p.Reachable = p.Reachable || !c.At.Addr().IsLoopback()
	}
	slices.SortFunc(p.Listeners, Listener.compare)
	p.Listeners = slices.Compact(p.Listeners)
	return p
}

// Equal reports whether both refuse the same.
func (p *Places) Equal(other *Places) bool {
	if p == nil || other == nil || p == other {
		return p == other
	}
	return p.NoLoopback == other.NoLoopback && p.Zone == other.Zone && p.Reachable == other.Reachable &&
		slices.Equal(p.Own, other.Own) &&
		slices.Equal(p.Listeners, other.Listeners) &&
		slices.Equal(p.Gateways, other.Gateways) &&
		slices.Equal(p.Names, other.Names) &&
		slices.Equal(p.Machine, other.Machine) &&
		p.Nodes == other.Nodes
}

// ListChanged lists the namespaces whose Gateways' listeners are not where they were.
func (p *Places) ListChanged(to *Places) (namespaces []string) {
	for _, lists := range [][2][]Listener{{p.Listeners, to.Listeners}, {to.Listeners, p.Listeners}} {
		for _, l := range lists[0] {
			if _, stays := slices.BinarySearchFunc(lists[1], l, Listener.compare); !stays {
				namespaces = append(namespaces, l.Namespace)
			}
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// refuse says why endpoints of a namespace can't be at an address; empty if they can. Nil Places refuse none.
func (p *Places) refuse(namespace string, at netip.AddrPort) string {
	switch {
	case p == nil:
		return ""
	case p.NoLoopback && slices.Contains(p.Own, at):
		return fmt.Sprintf("%s is where limpet listens, or the API server", at)
	case slices.ContainsFunc(p.Own, func(own netip.AddrPort) bool { return p.leadsTo(at, own) }),
		p.isListener(namespace, at):
		return fmt.Sprintf("%s is where Envoy itself listens", at)
	case p.Nodes.isAPIServer(at):
		return fmt.Sprintf("%s is where an API server listens", at)
	case p.Nodes.belongsToOthers(namespace, at.Addr()):
		return fmt.Sprintf("%s is a machine of the cluster, on whose network namespace %s has no Pod", at.Addr(), namespace)
	case !at.Addr().IsLoopback():
		return ""
	case p.NoLoopback:
		return fmt.Sprintf("%s is on Envoy's own machine", at.Addr())
	case !slices.Contains(p.Gateways, namespace):
		return fmt.Sprintf("%s is on Envoy's own machine, and namespace %s has no Gateway: "+
			"name another address of the machine, or use a namespace with a Gateway", at.Addr(), namespace)
	}
	return ""
}

// isListener tells whether Envoy listens at an address for a Gateway. One of another namespace may name the addresses
// of pods that are none of its own, and takes nothing from these: its word counts for Envoy's own machine alone.
func (p *Places) isListener(namespace string, at netip.AddrPort) bool {
	return slices.ContainsFunc(p.Listeners, func(l Listener) bool {
		return p.leadsTo(at, l.At) && (l.Namespace == namespace || p.isOnMachine(at.Addr()))
	})
}

// leadsTo tells whether a connection to an address reaches what listens on another, which without digits is all of a
// machine's, as far as these are known.
func (p *Places) leadsTo(at, listening netip.AddrPort) bool {
	if at.Port() != listening.Port() {
		return false
	}
	return at.Addr() == listening.Addr() || listening.Addr().IsUnspecified() && p.isOnMachine(at.Addr())
}

func (p *Places) isOnMachine(at netip.Addr) bool {
	return at.IsLoopback() || slices.Contains(p.Machine, at)
}

// advise says what an endpoint may lead to though it is not refused, because the addresses of a machine, or of a name,
// are not known; empty for nothing.
func (p *Places) advise(e ir.Endpoint) string {
	port := e.Address.Port()
	onEvery := func(own netip.AddrPort) bool { return own.Port() == port && own.Addr().IsUnspecified() }
	listens := func(l Listener) bool { return l.At.Port() == port }
	switch {
	case p == nil:
		return ""
	case e.Host != "" && slices.ContainsFunc(p.Listeners, listens) && !slices.ContainsFunc(p.Names,
		func(pattern string) bool {
			return pattern != anyName && matchesName(pattern, e.Host)
		}):
		return fmt.Sprintf(
			"its endpoint %s:%d has the port of one of Envoy's own listeners: if the name leads to Envoy's machine, requests "+
				"go round in a circle",
			e.Host,
			port,
		)
	case e.Host == "" && slices.ContainsFunc(p.Own, onEvery):
		return fmt.Sprintf(
			"its endpoint %s has the port at which Envoy's admin interface, or limpet, listens on every address of its "+
				"machine: if this is one of them, the Gateway's clients reach that",
			e.Address,
		)
	case e.Host == "" && e.Address.Addr().IsLoopback() && p.Reachable:
		return fmt.Sprintf(
			"its endpoint %s is on Envoy's own machine: other machines' clients reach it through the Gateway",
			e.Address,
		)
	}
	return ""
}

// refusedEndpoint is an endpoint where none can be, by its index in a slice.
type refusedEndpoint struct {
	slice *endpointSlice
	index int
	why   string
}

func (e refusedEndpoint) report(rep *report.Report) {
	path := field.NewPath("endpoints").Index(e.index).Child("addresses").Index(0)
	rep.Warn(report.EndpointForbidden, e.slice, field.Forbidden(path, e.why+": the endpoint is left out"))
}

// zone is the zone that Envoy runs in.
func (p *Places) zone() string {
	if p == nil {
		return ""
	}
	return p.Zone
}
