// Package coupling tells which routes have to be compiled together: those whose requests or cookies can meet. What
// becomes of a route depends on these, and on no other route.
package coupling

import (
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/index"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Node is what a route is coupled by.
type Node struct {
	// Hosts are where it meets others: it is coupled with every route that has a host in common with it.
	Hosts []Host
	// Keys are whatever else it shares: it is coupled with every route that has one of them, too.
	Keys []string
}

// Host is a hostname, "*" for all of them, somewhere.
type Host struct {
	// Where keeps hosts apart, such as Gateways that have proxies of their own. An empty one is everywhere.
	Where string
	Name  string
}

// anywhere is where the graph keeps all hosts that are somewhere, for those that are everywhere. It is no name of a
// place.
const anywhere = "\x00"

// Graph holds the routes.
type Graph struct {
	nodes map[object.Ref]Node
	// byHost and byKey have the routes of each; narrower has for a wildcard the hostnames that it covers there.
	byHost   index.Sets[Host, object.Ref]
	byKey    index.Sets[string, object.Ref]
	narrower index.Sets[Host, string]
}

// NewGraph makes an empty one.
func NewGraph() *Graph {
	return &Graph{
		nodes: map[object.Ref]Node{}, byHost: index.Sets[Host, object.Ref]{}, byKey: index.Sets[string, object.Ref]{},
		narrower: index.Sets[Host, string]{},
	}
}

// Set puts a route into the graph, or gives it other couplings.
func (g *Graph) Set(route object.Ref, n Node) {
	was, is := g.nodes[route]
	if is && slices.Equal(was.Hosts, n.Hosts) && slices.Equal(was.Keys, n.Keys) {
		return
	}
	g.Remove(route)
	g.nodes[route] = n
	for _, h := range n.Hosts {
		for _, kept := range h.kept() {
			if g.byHost[kept] == nil {
				g.setNarrower(kept, true)
			}
			g.byHost.Add(kept, route)
		}
	}
	for _, k := range n.Keys {
		g.byKey.Add(k, route)
	}
}

// Remove takes a route out.
func (g *Graph) Remove(route object.Ref) {
	n := g.nodes[route]
	delete(g.nodes, route)
	for _, h := range n.Hosts {
		for _, kept := range h.kept() {
			g.byHost.Remove(kept, route)
			if g.byHost[kept] == nil {
				g.setNarrower(kept, false)
			}
		}
	}
	for _, k := range n.Keys {
		g.byKey.Remove(k, route)
	}
}

// kept lists what a host is found by.
func (h Host) kept() []Host {
	if h.Where == "" {
		return []Host{h}
	}
	return []Host{h, {anywhere, h.Name}}
}

// seen lists what a host looks at: the hosts of its own place, or of all, and those that are everywhere.
func (h Host) seen() []Host {
	if h.Where == "" {
		return []Host{h, {anywhere, h.Name}}
	}
	return []Host{h, {"", h.Name}}
}

// setNarrower notes a hostname among those that wildcards cover, or takes it out.
func (g *Graph) setNarrower(h Host, present bool) {
	for _, wider := range gateway.Coverings(h.Name)[1:] {
		g.narrower.Set(Host{h.Where, wider}, h.Name, present)
	}
}

// visitMeeting visits the routes that have a host in common with another host: one of the hostname, of those that cover
// it and of those that it covers.
func (g *Graph) visitMeeting(host Host, visit func(map[object.Ref]bool)) {
	for _, h := range host.seen() {
		for _, name := range gateway.Coverings(h.Name) {
			visit(g.byHost[Host{h.Where, name}])
		}
		if !strings.HasPrefix(h.Name, "*") {
			continue
		}
		for name := range g.narrower[h] {
			visit(g.byHost[Host{h.Where, name}])
		}
	}
}

// Component gives a route together with all that it is coupled with, by way of others too.
func (g *Graph) Component(route object.Ref) []object.Ref {
	w := &walk{graph: g, seen: map[object.Ref]bool{}, hosts: map[Host]bool{}, keys: map[string]bool{}}
	w.add(map[object.Ref]bool{route: true})
	for i := 0; i < len(w.found); i++ {
		n := g.nodes[w.found[i]]
		for _, h := range n.Hosts {
			if !w.hosts[h] {
				w.hosts[h] = true
				g.visitMeeting(h, w.add)
			}
		}
		for _, k := range n.Keys {
			if !w.keys[k] {
				w.keys[k] = true
				w.add(g.byKey[k])
			}
		}
	}
	return w.found
}

// walk is a search for a component. It looks at each host and key once, however many routes have it.
type walk struct {
	graph *Graph
	found []object.Ref
	seen  map[object.Ref]bool
	hosts map[Host]bool
	keys  map[string]bool
}

func (w *walk) add(routes map[object.Ref]bool) {
	for r := range routes {
		if !w.seen[r] {
			w.seen[r] = true
			w.found = append(w.found, r)
		}
	}
}

// Len is how many routes there are.
func (g *Graph) Len() int { return len(g.nodes) }
