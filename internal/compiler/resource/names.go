package resource

import (
	"cmp"
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// documentsByName are the first documents of each name, in the order of names, and placesByName the places where they
// stand. Nearly all sources have one document, for which a map would take eight times the memory.
type (
	documentsByName []namedDocument
	placesByName    map[identity]place
)

type namedDocument struct {
	identity
	document *read.Document
}

func listNames(first map[identity]*read.Document) documentsByName {
	all := make(documentsByName, 0, len(first))
	for id, d := range first {
		all = append(all, namedDocument{id, d})
	}
	slices.SortFunc(all, func(a, b namedDocument) int { return compareIdentities(a.identity, b.identity) })
	return all
}

// find gives the document of a name that is there.
func (d documentsByName) find(id identity) *read.Document {
	at, _ := slices.BinarySearchFunc(d, id, func(one namedDocument, id identity) int {
		return compareIdentities(one.identity, id)
	})
	return d[at].document
}

func compareIdentities(a, b identity) int {
	return cmp.Or(
		cmp.Compare(a.name, b.name), cmp.Compare(a.namespace, b.namespace),
		cmp.Compare(a.kind.Kind, b.kind.Kind), cmp.Compare(a.kind.Group, b.kind.Group),
	)
}

// place is that of a document.
type place struct {
	file string
	line int
}

func placeOf(d *read.Document) (p place) {
	p.file, p.line = d.Locate("")
	return p
}

// findPlace gives the place of the document that has a name, there or among those that came first.
func (p placesByName) findPlace(id identity, first map[identity]*read.Document) (place, bool) {
	if at, there := p[id]; there {
		return at, true
	}
	if of := first[id]; of != nil {
		return placeOf(of), true
	}
	return place{}, false
}

// sourcesByName has the sources with a document of each name: one of nearly all, and several of those that are shared.
type sourcesByName struct {
	only   map[identity]*storedSource
	shared map[identity]map[*storedSource]bool
	// overruled are the sources with a name that an earlier source has, too.
	overruled map[*storedSource]bool
}

func newSourcesByName() sourcesByName {
	return sourcesByName{map[identity]*storedSource{}, map[identity]map[*storedSource]bool{}, map[*storedSource]bool{}}
}

func (n sourcesByName) add(s *storedSource) {
	if len(s.elsewhere) > 0 {
		n.overruled[s] = true
	}
	for _, named := range s.names {
		id := named.identity
		switch only := n.only[id]; {
		case n.shared[id] != nil:
			n.shared[id][s] = true
		case only != nil:
			n.shared[id] = map[*storedSource]bool{only: true, s: true}
			delete(n.only, id)
		default:
			n.only[id] = s
		}
	}
}

func (n sourcesByName) remove(s *storedSource) {
	delete(n.overruled, s)
	for _, named := range s.names {
		id := named.identity
		if n.shared[id] == nil {
			delete(n.only, id)
			continue
		}
		if delete(n.shared[id], s); len(n.shared[id]) == 1 {
			for only := range n.shared[id] {
				n.only[id] = only
			}
			delete(n.shared, id)
		}
	}
}

// ResolveNames resolves a name that several sources have: the first source has it, in an order that is asked for only
// where there is such a name. To the others that is another thing to say of them.
func (s *Store) ResolveNames(order func() []string) error {
	if len(s.names.shared)+len(s.names.overruled) == 0 {
		return nil
	}
	for source, elsewhere := range s.listOverruled(order()) {
		if maps.Equal(elsewhere, source.elsewhere) {
			continue
		}
		next, err := s.admit(source.source, elsewhere)
		if err != nil {
			return err
		}
		next.alone = source.alone
		s.replace(next)
	}
	return nil
}

// listOverruled lists the sources with a name that others have, or had, with the places of the documents that have
// these.
func (s *Store) listOverruled(order []string) map[*storedSource]placesByName {
	all, rank := map[*storedSource]placesByName{}, make(map[string]int, len(order))
	for source := range s.names.overruled {
		all[source] = placesByName{}
	}
	for i, name := range order {
		rank[name] = i
	}
	for id, sources := range s.names.shared {
		first := slices.MinFunc(slices.Collect(maps.Keys(sources)), func(a, b *storedSource) int {
			return cmp.Compare(rank[a.source.Name], rank[b.source.Name])
		})
		for source := range sources {
			if source == first {
				continue
			}
			if all[source] == nil {
				all[source] = placesByName{}
			}
			all[source][id] = placeOf(first.names.find(id))
		}
	}
	return all
}
