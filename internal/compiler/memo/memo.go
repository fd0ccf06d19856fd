// Package memo keeps what pure functions have made from one compilation to the next.
package memo

import "sync"

// Table keeps one value for each key: the last that was made. What a value hangs on beside its key is for its user to
// compare. Nobody may change a value that is in a table. A table serves several goroutines at once; nil keeps nothing,
// and the zero value is ready.
type Table[K comparable, V any] struct {
	lock    sync.Mutex
	entries map[K]*entry[V]
	round   int
	used    int // the entries that were asked for in this round
}

type entry[V any] struct {
	value V
	made  bool
	round int // the last one in which somebody asked for it
}

// Get gives the value that is kept for the key if it is still good, else a new one, which it keeps.
func (t *Table[K, V]) Get(key K, good func(V) bool, fresh func() V) V {
	if t == nil {
		return fresh()
	}
	if value, known := t.lookUp(key); known && good(value) {
		return value
	}
	value := fresh()
	t.lock.Lock()
	defer t.lock.Unlock()
	e := t.entries[key]
	e.value, e.made = value, true
	return value
}

// lookUp looks a value up, and makes room for one where there is none.
func (t *Table[K, V]) lookUp(key K) (value V, known bool) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.entries == nil {
		t.entries = map[K]*entry[V]{}
	}
	e := t.entries[key]
	if e == nil {
		t.entries[key] = &entry[V]{round: t.round}
		t.used++
		return value, false
	}
	if e.round != t.round {
		e.round = t.round
		t.used++
	}
	return e.value, e.made
}

// Sweep forgets the values that nobody has asked for since the last time.
func (t *Table[K, V]) Sweep() {
	if t == nil {
		return
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.used < len(t.entries) {
		for key, e := range t.entries {
			if e.round != t.round {
				delete(t.entries, key)
			}
		}
	}
	t.round++
	t.used = 0
}
