// Package seniority says which of two objects of different owners was there first. A host, an address or a name that
// both of them claim stays with that one (docs/threat-model.md, "Trust among those who share a proxy").
package seniority

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Subject is an object of the input.
type Subject interface {
	Origin() object.Origin
	// Locate gives the file that the object stands in, and the line of what a path leads to.
	Locate(path string) (file string, line int)
}

// Order puts the older object first. Those of different namespaces that have no creation time, as objects in files most
// often have none, go by the first of their namespace in the input: files in the order in which they were named,
// documents in that of their file. So no namespace comes first by what it is called. All else is as in [object.ByAge].
type Order struct {
	firsts func() map[string]place // of each namespace
	asked  atomic.Bool             // for a firsts
}

// place is one in the input.
type place struct{ file, line int }

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.file, o.file), cmp.Compare(p.line, o.line))
}

// New makes the order of some objects, read from files that were named in this order. Neither is asked for until it
// matters.
func New(files func() []string, each func(visit func(Subject))) *Order {
	return &Order{firsts: sync.OnceValue(func() map[string]place { return findFirsts(files(), each) })}
}

// findFirsts finds the first place of each namespace.
func findFirsts(files []string, each func(visit func(Subject))) map[string]place {
	numbers := make(map[string]int, len(files))
	for i, f := range files {
		numbers[f] = i
	}
	firsts := map[string]place{}
	each(func(s Subject) {
		file, line := s.Locate("")
		at, namespace := place{numbers[file], line}, s.Origin().Namespace
		if first, known := firsts[namespace]; !known || at.compare(first) < 0 {
			firsts[namespace] = at
		}
	})
	return firsts
}

// Compare puts the senior object first. A nil Order is [object.ByAge].
func (o *Order) Compare(a, b object.Origin) int {
	if o == nil || a.Namespace == b.Namespace || !a.Created.IsZero() || !b.Created.IsZero() {
		return object.ByAge(a, b)
	}
	o.asked.Store(true)
	firsts := o.firsts()
	return cmp.Or(firsts[a.Namespace].compare(firsts[b.Namespace]), object.ByAge(a, b))
}

// Later gives the one of two origins that the other goes before.
func (o *Order) Later(a, b object.Origin) object.Origin {
	if o.Compare(a, b) < 0 {
		return b
	}
	return a
}

// RanksAs reports whether another order is the same for all that this one was asked about.
func (o *Order) RanksAs(other *Order) bool {
	if o == nil || !o.asked.Load() {
		return true
	}
	if other == nil {
		return false
	}
	other.asked.Store(true) // what was asked of this one holds on its word
	return slices.Equal(o.rankNamespaces(), other.rankNamespaces())
}

// rankNamespaces lists the namespaces, the first ones first.
func (o *Order) rankNamespaces() []string {
	firsts := o.firsts()
	return slices.SortedFunc(
		maps.Keys(firsts),
		func(a, b string) int { return cmp.Or(firsts[a].compare(firsts[b]), cmp.Compare(a, b)) },
	)
}
