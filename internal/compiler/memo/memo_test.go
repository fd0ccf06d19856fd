package memo

import (
	"slices"
	"strings"
	"testing"
)

// testText is a value that hangs on a number beside its key.
type testText struct {
	number int
	text   string
}

func TestTable(t *testing.T) {
	var table Table[string, *testText]
	made := 0
	get := func(table *Table[string, *testText], key string, number int) *testText {
		return table.Get(key, func(x *testText) bool { return x.number == number }, func() *testText {
			made++
			return &testText{number, key}
		})
	}
	expect := func(what string, want int) {
		t.Helper()
		if made != want {
			t.Errorf("%s: made %d, not %d", what, made, want)
		}
		made = 0
	}
	one := get(&table, "a", 1)
	if again := get(&table, "a", 1); again != one {
		t.Error("the value is not kept")
	}
	expect("twice the same", 1)
	if other := get(&table, "a", 2); other.number != 2 {
		t.Error("a value that is good no more was given")
	}
	expect("another", 1)
	get(&table, "b", 1)
	table.Sweep()
	get(&table, "a", 2)
	table.Sweep()
	made = 0
	get(&table, "a", 2)
	expect("asked for in every round", 0)
	get(&table, "b", 1)
	expect("left out of a round", 1)
	get(nil, "a", 1)
	get(nil, "a", 1)
	expect("without a table", 2)
}

func TestOrder(t *testing.T) {
	var order SortOrder[string]
	compared := 0
	sort := func(o *SortOrder[string], list ...string) []string {
		return Sort(o, list, strings.Clone, func(a, b string) int {
			compared++
			return strings.Compare(a, b)
		})
	}
	for _, list := range [][]string{{"b", "a", "c"}, {"b", "a", "d"}, {"b", "a"}, {}} {
		for _, o := range []*SortOrder[string]{&order, nil} {
			if got := sort(o, slices.Clone(list)...); !slices.Equal(got, slices.Sorted(slices.Values(list))) {
				t.Errorf("%v becomes %v", list, got)
			}
		}
	}
	sort(&order, "b", "a", "c")
	compared = 0
	if got := sort(&order, "b", "a", "c"); compared > 0 || got[0] != "a" {
		t.Errorf("%v, after %d comparisons of what is known", got, compared)
	}
}
