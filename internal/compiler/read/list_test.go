package read

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestList changes lists of many sources at random: what With makes has all of them in their order, Diff tells of what has changed and of
// nothing else, and the list before stays as it was.
func TestList(t *testing.T) {
	random, list, there := rand.New(rand.NewPCG(27, 11)), List{}, map[string]string{}
	for round := range 300 {
		before, was := list, list.Slice()
		set, gone := map[string]string{}, map[string]bool{}
		for range random.IntN([]int{3, 40, 3000}[round%3]) {
			if name := fmt.Sprintf("%04d", random.IntN(5000)); random.IntN(2+round/100) == 0 {
				set[name] = fmt.Sprint(round)
				delete(gone, name)
			} else if there[name] != "" && set[name] == "" {
				gone[name] = true
			}
		}
		maps.Copy(there, set)
		maps.DeleteFunc(there, func(name, _ string) bool { return gone[name] })
		var more []Source
		for name, text := range set { // in any order
			more = append(more, Source{Name: name, Data: []byte(text)})
		}
		list = before.With(more, slices.Collect(maps.Keys(gone)))
		if !slices.EqualFunc(before.Slice(), was, isSame) {
			t.Fatalf("round %d: the list before has changed", round)
		}
		if want := sourcesOf(there); !slices.EqualFunc(list.Slice(), want, isSame) {
			t.Fatalf("round %d: the list has %d sources, want %d, or others", round, len(list.Slice()), len(want))
		}
		some, left := Diff(before, list)
		if !slices.EqualFunc(some, sourcesOf(set), isSame) || !slices.Equal(left, slices.Sorted(maps.Keys(gone))) {
			t.Fatalf("round %d: told of %d and %d sources, want %d and %d, or of others", round, len(some), len(left), len(set), len(gone))
		}
		if prefix := fmt.Sprint(random.IntN(50)); !slices.EqualFunc(slices.Collect(list.From(prefix)), under(there, prefix), isSame) {
			t.Fatalf("round %d: From(%s) gives %v", round, prefix, slices.Collect(list.From(prefix)))
		}
	}
}

func isSame(a, b Source) bool { return a.Name == b.Name && string(a.Data) == string(b.Data) }

func sourcesOf(texts map[string]string) (all []Source) {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, Source{Name: name, Data: []byte(texts[name])})
	}
	return all
}

func under(texts map[string]string, prefix string) (all []Source) {
	return slices.DeleteFunc(sourcesOf(texts), func(s Source) bool { return len(s.Name) < len(prefix) || s.Name[:len(prefix)] != prefix })
}

// TestListShares: a change of one source of many leaves all blocks but its own.
func TestListShares(t *testing.T) {
	texts := map[string]string{}
	for i := range 100 * blockSize {
		texts[fmt.Sprintf("%06d", i)] = "old"
	}
	before := NewList(sourcesOf(texts)...)
	after := before.With([]Source{{Name: "012345", Data: []byte("new")}}, nil)
	others := 0
	for i := range before.blocks {
		if &before.blocks[i][0] != &after.blocks[i][0] {
			others++
		}
	}
	if others != 1 || before.IsSame(after) || !after.IsSame(after.With(nil, nil)) {
		t.Errorf("%d of %d blocks are others", others, len(before.blocks))
	}
}
