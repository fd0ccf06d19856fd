// Package coupling tells which routes have to be compiled together: those whose requests or cookies can meet. What becomes of
// a route depends on these, and on no other route.
package coupling

import (
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/index"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Node is what a route is coupled by.
type Node struct {
	// Hostnames are those that it gives; "*" for a route that gives none. It is coupled with every route that has a host in
	// common with it.
	Hostnames []string
	// Keys are whatever else it shares: it is coupled with every route that has one of them, too.
	Keys []string
}

// Graph holds the routes.
type Graph struct {
	nodes map[object.Ref]Node
	// byHostname and byKey have the routes of each; narrower has for a wildcard the hostnames that it covers.
	byHostname, byKey index.Sets[string, object.Ref]
	narrower          index.Sets[string, string]
}

// NewGraph makes an empty one.
func NewGraph() *Graph {
	return &Graph{
		nodes: map[object.Ref]Node{}, byHostname: index.Sets[string, object.Ref]{}, byKey: index.Sets[string, object.Ref]{},
		narrower: index.Sets[string, string]{},
	}
}

// Set puts a route into the graph, or gives it other couplings.
func (g *Graph) Set(route object.Ref, n Node) {
	g.Remove(route)
	g.nodes[route] = n
	for _, h := range n.Hostnames {
		if g.byHostname[h] == nil {
			for _, wider := range gateway.Coverings(h)[1:] {
				g.narrower.Add(wider, h)
			}
		}
		g.byHostname.Add(h, route)
	}
	for _, k := range n.Keys {
		g.byKey.Add(k, route)
	}
}

// Remove takes a route out.
func (g *Graph) Remove(route object.Ref) {
	n := g.nodes[route]
	delete(g.nodes, route)
	for _, h := range n.Hostnames {
		g.byHostname.Remove(h, route)
		if g.byHostname[h] == nil {
			for _, wider := range gateway.Coverings(h)[1:] {
				g.narrower.Remove(wider, h)
			}
		}
	}
	for _, k := range n.Keys {
		g.byKey.Remove(k, route)
	}
}

// Node gives what a route is coupled by.
func (g *Graph) Node(route object.Ref) Node { return g.nodes[route] }

// With gives the routes that have a key.
func (g *Graph) With(key string) map[object.Ref]bool { return g.byKey[key] }

// Component gives a route together with all that it is coupled with, by way of others too.
func (g *Graph) Component(route object.Ref) []object.Ref {
	w := &walk{graph: g, seen: map[object.Ref]bool{}, hostnames: map[string]bool{}, keys: map[string]bool{}}
	w.add(map[object.Ref]bool{route: true})
	for i := 0; i < len(w.found); i++ {
		n := g.nodes[w.found[i]]
		for _, h := range n.Hostnames {
			w.addHostname(h)
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

// walk is a search for a component. It looks at each hostname and key once, however many routes have it.
type walk struct {
	graph           *Graph
	found           []object.Ref
	seen            map[object.Ref]bool
	hostnames, keys map[string]bool
}

func (w *walk) add(routes map[object.Ref]bool) {
	for r := range routes {
		if !w.seen[r] {
			w.seen[r] = true
			w.found = append(w.found, r)
		}
	}
}

// addHostname adds the routes of a hostname, of those that cover it and of those that it covers.
func (w *walk) addHostname(hostname string) {
	if w.hostnames[hostname] {
		return
	}
	w.hostnames[hostname] = true
	for _, h := range gateway.Coverings(hostname) {
		w.add(w.graph.byHostname[h])
	}
	if strings.HasPrefix(hostname, "*") {
		for h := range w.graph.narrower[hostname] {
			w.add(w.graph.byHostname[h])
		}
	}
}

// Len is how many routes there are.
func (g *Graph) Len() int { return len(g.nodes) }
