package follow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestCounted counts in and out, and wants to be told of what has come or gone since changes were last taken, and of no
// other.
func TestCounted(t *testing.T) {
	c := newCounted[string]()
	for _, step := range []struct{ changes, want string }{
		{"+a +b +b", "map[a:true b:true]"},
		{"-b", "map[]"},
		{"-b +c", "map[b:false c:true]"},
		{"-a +a +d -d", "map[]"},
		{"-a -c", "map[a:false c:false]"},
	} {
		for change := range strings.FieldsSeq(step.changes) {
			c.add(change[1:], map[byte]int{'+': 1, '-': -1}[change[0]])
		}
		others := map[string]bool{}
		for key := range c.take() {
			others[key] = c.now[key] > 0
		}
		if got := fmt.Sprint(others); got != step.want {
			t.Errorf("%s: %s; want %s", step.changes, got, step.want)
		}
	}
	if len(c.now) > 0 {
		t.Errorf("there is still %v", c.now)
	}
}

// TestMendOrder wants a list in order, be it mended or made again.
func TestMendOrder(t *testing.T) {
	there := map[string]bool{}
	var names []string
	for round, size := range []int{3, 2 * manyTouched, 5, manyTouched + 1, 1} {
		var touched []string
		for i := range size {
			name := fmt.Sprint(i * (round + 1) % 700)
			touched, there[name] = append(touched, name), !there[name]
		}
		names = mendOrder(names, touched, func(n string) bool { return there[n] }, strings.Compare)
		maps.DeleteFunc(there, func(_ string, is bool) bool { return !is })
		if want := slices.Sorted(maps.Keys(there)); !slices.Equal(names, want) {
			t.Errorf("round %d: %v; want %v", round, names, want)
		}
	}
}
