package memo

import "slices"

// SortOrder keeps how a list was sorted the last time. The zero value is ready; nil keeps nothing.
type SortOrder[K comparable] struct {
	keys    []K
	indices []int // in the list as it was given, in order
}

// Sort gives the list in order. What it compares must hang on the keys alone, and be equal only for equal keys.
func Sort[K comparable, T any](o *SortOrder[K], list []T, key func(T) K, compare func(a, b T) int) []T {
	if o == nil {
		slices.SortFunc(list, compare)
		return list
	}
	if !slices.EqualFunc(list, o.keys, func(x T, k K) bool { return key(x) == k }) {
		o.remember(len(list), func(i int) K { return key(list[i]) }, func(i, j int) int { return compare(list[i], list[j]) })
	}
	sorted := make([]T, len(list))
	for i, index := range o.indices {
		sorted[i] = list[index]
	}
	return sorted
}

// remember sorts a list by its indices.
func (o *SortOrder[K]) remember(length int, key func(int) K, compare func(i, j int) int) {
	o.keys, o.indices = make([]K, length), make([]int, length)
	for i := range length {
		o.keys[i], o.indices[i] = key(i), i
	}
	slices.SortStableFunc(o.indices, compare)
}
