package resource

import (
	"iter"
	"slices"
)

// lists are those of all kinds.
var lists = collectLists()

// collectLists also tells each kind in which of them its objects are.
func collectLists() (all []objectList) {
	kinds := append(slices.Clone(registry), platformKind)
	for _, k := range kinds {
		if k.list != nil {
			k.in = 1 << len(all)
			all = append(all, k.list)
		}
	}
	for _, k := range kinds {
		if k.converted || k.list == nil {
			k.in = 1<<len(all) - 1
		}
	}
	return all
}

// listSet is some of the lists, by their places among all.
type listSet uint64

// all visits them in their order.
func (s listSet) all() iter.Seq2[listSet, objectList] {
	return func(yield func(listSet, objectList) bool) {
		for i := 0; s>>i != 0; i++ {
			if one := listSet(1) << i; s&one != 0 && !yield(one, lists[i]) {
				return
			}
		}
	}
}

// filled leaves out the lists in which there is no object.
func (s listSet) filled(o *Objects) (some listSet) {
	for one, l := range s.all() {
		if l.count(o) > 0 {
			some |= one
		}
	}
	return some
}

// part is a part of the input, such as a document. It knows in which lists it has objects, at most: what is done with
// it goes through these, and not through those of all kinds.
type part struct {
	Objects
	in listSet
}

// isEmpty reports whether there is no object.
func (p *part) isEmpty() bool {
	return len(p.Refused)+len(p.Written) == 0 && p.in.filled(&p.Objects) == 0
}

// addAll takes in the objects of another part, those that limpet wrote, and the names of those that are refused.
func (p *part) addAll(more *part) {
	p.Refused = append(p.Refused, more.Refused...)
	p.Written = append(p.Written, more.Written...)
	for _, l := range more.in.all() {
		l.addAll(&p.Objects, &more.Objects)
	}
	p.in |= more.in
}

// sortAll puts every kind in the order in which Gateway API settles conflicts.
func (p *part) sortAll() {
	for _, l := range p.in.all() {
		l.sortIn(&p.Objects)
	}
}

// compare gives the objects of one part that another does not have, and the reverse.
func compare(before, after *part) (gone, came *part) {
	in := before.in | after.in
	gone, came = &part{in: in}, &part{in: in}
	for _, l := range in.all() {
		l.compare(&before.Objects, &after.Objects, &gone.Objects, &came.Objects)
	}
	gone.Refused, came.Refused = leaveOut(before.Refused, after.Refused), leaveOut(after.Refused, before.Refused)
	gone.Written, came.Written = leaveOut(before.Written, after.Written), leaveOut(after.Written, before.Written)
	return gone, came
}

func leaveOut[T comparable](some, others []T) []T {
	return slices.DeleteFunc(slices.Clone(some), func(one T) bool { return slices.Contains(others, one) })
}

// isOfSlices reports whether there is nothing but EndpointSlices, if anything.
func (p *part) isOfSlices() bool {
	return len(p.Refused)+len(p.Written) == 0 && p.in&^endpointSliceKind.in == 0
}
