package follow

import (
	"maps"
	"slices"
)

// earlier has what things were when changes were last taken, by their keys: those that may be others since.
type earlier[K comparable, V any] map[K]V

// note notes what something is, before it may become something else.
func (e earlier[K, V]) note(key K, now V) {
	if _, noted := e[key]; !noted {
		e[key] = now
	}
}

// counted counts how many parts have something, by its key. It knows what is there now and was not when changes were
// last taken, and the reverse.
type counted[K comparable] struct {
	now map[K]int
	was earlier[K, int]
}

func newCounted[K comparable]() counted[K] { return counted[K]{map[K]int{}, earlier[K, int]{}} }

// add counts in or out.
func (c counted[K]) add(key K, by int) {
	c.was.note(key, c.now[key])
	count(c.now, key, by)
}

// take gives the keys that have come or gone, and takes the changes.
func (c *counted[K]) take() map[K]int {
	others := c.was
	c.forget()
	maps.DeleteFunc(others, func(key K, was int) bool { return (c.now[key] > 0) == (was > 0) })
	return others
}

// forget takes the changes. The map is a new one: it would keep the room of the most that it ever had, as at the
// beginning, and each look through it would cost as much.
func (c *counted[K]) forget() { c.was = earlier[K, int]{} }

// count counts a key in or out.
func count[K comparable](counts map[K]int, key K, by int) {
	if counts[key] += by; counts[key] == 0 {
		delete(counts, key)
	}
}

// put keeps a value that is present by its key, or forgets it.
func put[K comparable, V any](m map[K]V, key K, value V, present bool) {
	if present {
		m[key] = value
	} else {
		delete(m, key)
	}
}

// manyTouched is from how many touched items on an order is made again, not mended.
const manyTouched = 256

// mendOrder brings a list of names in order up to date with those that have been touched.
func mendOrder(names []string, touched []string, isThere func(string) bool, compare func(a, b string) int) []string {
	if len(touched) > manyTouched {
		known := make(map[string]bool, len(names)+len(touched))
		for _, n := range slices.Concat(names, touched) {
			known[n] = true
		}
		maps.DeleteFunc(known, func(n string, _ bool) bool { return !isThere(n) })
		return slices.SortedFunc(maps.Keys(known), compare)
	}
	for _, n := range touched {
		at, known := slices.BinarySearchFunc(names, n, compare)
		switch there := isThere(n); {
		case there && !known:
			names = slices.Insert(names, at, n)
		case !there && known:
			names = slices.Delete(names, at, at+1)
		}
	}
	return names
}
