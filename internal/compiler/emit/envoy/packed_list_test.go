package envoy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPackedList changes lists at random: each has what a plain slice has, those before it stay as they were, and besides the blocks that
// two have in common there is all in which they differ.
func TestPackedList(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, length := range []int{0, 1, packedBlock, packedBlock + 1, 1000} {
		var plain []*Packed
		for i := range length {
			plain = append(plain, &Packed{Name: fmt.Sprintf("%04d", 2*i)})
		}
		list := NewPackedList(slices.Clone(plain))
		for range 50 {
			names, before, was, now := []string{}, list, slices.Clone(plain), map[string]*Packed{}
			for range random.IntN(6) {
				names = append(names, fmt.Sprintf("%04d", random.IntN(2*length+2))) // an odd one is none
			}
			for i, p := range plain {
				if slices.Contains(names, p.Name) {
					now[p.Name] = &Packed{Name: p.Name}
					plain[i] = now[p.Name]
				}
			}
			next, changed := list.Replace(names, func(name string) *Packed { return memberOf(now, name, before) })
			if list = next; changed != (len(now) > 0) && len(names) <= length || !slices.Equal(list.Slice(), plain) || list.Len() != length {
				t.Fatalf("of %d with %v: changed %v, %d members", length, names, changed, list.Len())
			}
			if !slices.Equal(slices.Collect(before.All()), was) {
				t.Fatalf("of %d with %v: the list of before is another", length, names)
			}
			own, others := list.Others(before)
			if len(own) > len(now)*packedBlock && len(names) <= length || len(own) != len(others) {
				t.Errorf("of %d with %v: %d and %d are apart", length, names, len(own), len(others))
			}
			for i, p := range plain {
				if p != was[i] && (!slices.Contains(own, p) || !slices.Contains(others, was[i])) {
					t.Errorf("of %d: %s is not among what is apart", length, p.Name)
				}
			}
		}
	}
}

// memberOf gives what one of a name is now, the same as before for one that has not changed.
func memberOf(now map[string]*Packed, name string, before PackedList) *Packed {
	if p := now[name]; p != nil {
		return p
	}
	i, at := before.find(name)
	return before.blocks[i][at]
}
