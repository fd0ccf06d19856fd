package read

import (
	"math/rand/v2"
	"testing"
)

// TestDiff applies what is told of lists, in order or not, to the first and wants the second; of lists in order nothing else is told.
func TestDiff(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 18))
	list := func(sorted bool) (all []Source) {
		order := []int{0, 1, 2, 3, 4, 5}
		if !sorted {
			order = random.Perm(6)
		}
		for _, at := range order {
			all = append(all, Source{Name: string(rune('a' + at)), Data: []byte{byte(random.IntN(2))}})
		}
		for range random.IntN(4) {
			at := random.IntN(len(all))
			all = append(all[:at:at], all[at+1:]...)
		}
		return all
	}
	for round := range 2000 {
		sorted := round%2 == 0
		before, after := list(sorted), list(sorted)
		known := map[string]string{}
		for _, s := range before {
			known[s.Name] = string(s.Data)
		}
		set, gone := Diff(NewList(before...), NewList(after...))
		for _, name := range gone {
			delete(known, name)
		}
		for _, s := range set {
			if was, is := known[s.Name]; sorted && is && was == string(s.Data) {
				t.Errorf("%v, %v: %s is said to have changed", before, after, s.Name)
			}
			known[s.Name] = string(s.Data)
		}
		for _, s := range after {
			if is, there := known[s.Name]; !there || is != string(s.Data) {
				t.Fatalf("%v, %v: told of %v, %v", before, after, set, gone)
			}
		}
		if len(known) != len(after) {
			t.Fatalf("%v, %v: told of %v, %v", before, after, set, gone)
		}
	}
}
