// Package index keeps sets by key, such as the routes that lead to each Service, for objects that come and go.
package index

// Sets has the members of each key. A key without members is not there.
type Sets[K, T comparable] map[K]map[T]bool

// Add puts a member into the set of a key.
func (s Sets[K, T]) Add(key K, member T) {
	if s[key] == nil {
		s[key] = map[T]bool{}
	}
	s[key][member] = true
}

// Remove takes a member out of the set of a key, and the set away once it is empty.
func (s Sets[K, T]) Remove(key K, member T) {
	if delete(s[key], member); len(s[key]) == 0 {
		delete(s, key)
	}
}

// Set is Add for a member that is present, else Remove.
func (s Sets[K, T]) Set(key K, member T, present bool) {
	if present {
		s.Add(key, member)
	} else {
		s.Remove(key, member)
	}
}
