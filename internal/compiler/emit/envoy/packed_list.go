package envoy

import (
	"iter"
	"slices"
)

// packedBlock is how many resources a block has at most.
const packedBlock = 128

// PackedList is resources in the order of their names. It does not change once it is made; lists of which one was made
// of the other share their blocks, so that a change costs neither all nor the memory of all.
type PackedList struct{ blocks [][]*Packed }

// NewPackedList is a list of resources that are in order.
func NewPackedList(all []*Packed) PackedList {
	return PackedList{slices.Collect(slices.Chunk(all, packedBlock))}
}

// Len is how many there are.
func (l PackedList) Len() (n int) {
	for _, block := range l.blocks {
		n += len(block)
	}
	return n
}

// All visits all, in order.
func (l PackedList) All() iter.Seq[*Packed] {
	return func(yield func(*Packed) bool) {
		for _, block := range l.blocks {
			for _, p := range block {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// Slice gives all, in order.
func (l PackedList) Slice() []*Packed { return slices.Concat(l.blocks...) }

// Replace gives the list with what those of some names are now. It tells whether the list has any of these.
func (l PackedList) Replace(names []string, now func(name string) *Packed) (_ PackedList, changed bool) {
	if length := l.Len(); len(names) > length { // it is looked through sooner than searched
		names = make([]string, 0, length)
		for p := range l.All() {
			names = append(names, p.Name)
		}
	}
	was := l.blocks
	for _, name := range names {
		i, at := l.find(name)
		if at < 0 {
			continue
		}
		if !changed {
			l.blocks, changed = slices.Clone(was), true
		}
		if &l.blocks[i][0] == &was[i][0] {
			l.blocks[i] = slices.Clone(was[i])
		}
		l.blocks[i][at] = now(name)
	}
	return l, changed
}

// find gives the block of a name, and its place there; -1 for none.
func (l PackedList) find(name string) (block, at int) {
	named := &Packed{Name: name}
	i, is := slices.BinarySearchFunc(l.blocks, named, func(b []*Packed, p *Packed) int { return comparePacked(b[0], p) })
	if !is {
		i--
	}
	if i < 0 {
		return 0, -1
	}
	if at, is = slices.BinarySearchFunc(l.blocks[i], named, comparePacked); !is {
		return 0, -1
	}
	return i, at
}

// Others gives what two lists have besides the blocks that they share at the same place, in order.
func (l PackedList) Others(other PackedList) (own, others []*Packed) {
	for i := range max(len(l.blocks), len(other.blocks)) {
		var a, b []*Packed
		if i < len(l.blocks) {
			a = l.blocks[i]
		}
		if i < len(other.blocks) {
			b = other.blocks[i]
		}
		if len(a) != len(b) || &a[0] != &b[0] {
			own, others = append(own, a...), append(others, b...)
		}
	}
	return own, others
}
