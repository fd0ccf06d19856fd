package read

import (
	"iter"
	"slices"
	"strings"
)

// List is a list of sources that never changes. One that With makes of it shares all blocks but those with a change, so
// a change of one object of a large cluster costs a block, and so does [Diff] of both. The zero value is empty.
type List struct{ blocks [][]Source }

// blockSize is how many sources a new block has; a block has up to twice as many.
const blockSize = 256

// NewList makes a list of sources in their order. The slice is the list's from then on.
func NewList(sources ...Source) (l List) {
	for block := range slices.Chunk(sources, blockSize) {
		l.blocks = append(l.blocks, block)
	}
	return l
}

// All gives the sources in their order.
func (l List) All() iter.Seq[Source] { return l.all(0) }

func (l List) all(from int) iter.Seq[Source] {
	return func(yield func(Source) bool) {
		for _, block := range l.blocks[from:] {
			for _, s := range block {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// Slice gives the sources in their order.
func (l List) Slice() []Source { return slices.Concat(l.blocks...) }

// Find gives the source of a name, which is looked for in all.
func (l List) Find(name string) (Source, bool) {
	for s := range l.All() {
		if s.Name == name {
			return s, true
		}
	}
	return Source{}, false
}

// IsSame tells whether two lists are one and the same; others may be equal.
func (l List) IsSame(other List) bool {
	return len(l.blocks) == len(other.blocks) && (len(l.blocks) == 0 || &l.blocks[0] == &other.blocks[0])
}

// From gives the sources of a list in the order of their names whose names begin with a prefix.
func (l List) From(prefix string) iter.Seq[Source] {
	return func(yield func(Source) bool) {
		for s := range l.all(l.blockOf(prefix)) {
			if s.Name >= prefix && (!strings.HasPrefix(s.Name, prefix) || !yield(s)) {
				return
			}
		}
	}
}

// blockOf gives the number of the block where a name's place is.
func (l List) blockOf(name string) int {
	at, _ := slices.BinarySearchFunc(l.blocks, name, func(block []Source, name string) int {
		if block[0].Name <= name {
			return -1
		}
		return 1
	})
	return max(at-1, 0)
}

// With gives the list with other sources, and without some, by their names. It and the list are in the order of their
// names.
func (l List) With(set []Source, gone []string) List {
	if len(set)+len(gone) == 0 {
		return l
	}
	changes := map[int]*change{}
	at := func(name string) *change {
		number := l.blockOf(name)
		if changes[number] == nil {
			changes[number] = &change{gone: map[string]bool{}}
		}
		return changes[number]
	}
	for _, s := range set {
		c := at(s.Name)
		c.set, c.gone[s.Name] = append(c.set, s), true
	}
	for _, name := range gone {
		at(name).gone[name] = true
	}
	next := make([][]Source, 0, len(l.blocks)+1)
	for number := range max(len(l.blocks), 1) {
		var block []Source
		if number < len(l.blocks) {
			block = l.blocks[number]
		}
		if c := changes[number]; c == nil {
			next = append(next, block)
		} else {
			next = append(next, c.apply(block)...)
		}
	}
	return List{next}
}

// change is what becomes of a block: what comes, and what is no longer as it was.
type change struct {
	set  []Source
	gone map[string]bool
}

// apply gives the blocks that one becomes.
func (c *change) apply(block []Source) [][]Source {
	all := make([]Source, 0, len(block)+len(c.set))
	for _, s := range block {
		if !c.gone[s.Name] {
			all = append(all, s)
		}
	}
	all = append(all, c.set...)
	slices.SortFunc(all, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	size := blockSize
	if len(all) <= 2*size {
		size *= 2 // it stays one
	}
	return slices.Collect(slices.Chunk(all, size))
}
