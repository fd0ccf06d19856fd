package memo

import "slices"

// SortOrder keeps how a list was sorted the last time. Nil keeps nothing.
type SortOrder[K comparable] struct {
	name    string
	keys    []K
	indices []int // in the list as it was given, in order
	asked   bool
}

// NewSortOrder makes an empty one for the step of a name.
func NewSortOrder[K comparable](name string) *SortOrder[K] { return &SortOrder[K]{name: name} }

// Sort gives the list in order. What it compares must depend on the keys alone, and be equal only for equal keys.
func Sort[K comparable, T any](o *SortOrder[K], list []T, key func(T) K, compare func(a, b T) int) []T {
	if o == nil {
		slices.SortFunc(list, compare)
		return list
	}
	o.asked = true
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

// Name is the step's, empty for nil.
func (o *SortOrder[K]) Name() string {
	if o == nil {
		return ""
	}
	return o.name
}

// Len is the length of the list whose order is kept.
func (o *SortOrder[K]) Len() int {
	if o == nil {
		return 0
	}
	return len(o.keys)
}

// Asked reports whether a list was sorted since the last Sweep.
func (o *SortOrder[K]) Asked() bool { return o != nil && o.asked }

// Sweep forgets the order if no list was sorted since the last time.
func (o *SortOrder[K]) Sweep() {
	if o == nil {
		return
	}
	if !o.asked {
		o.keys, o.indices = nil, nil
	}
	o.asked = false
}
