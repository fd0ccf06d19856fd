// Package memo keeps the results of steps from one compilation to the next.
//
// A step makes one part of a compilation's result at a time: what a document is admitted as, what a rule's sessions
// come to, the text of a cluster. The [Table] of a step keeps the last result for each part, with its [Inputs]: which
// part it is, and everything that it was made from. A kept result is taken if and only if its inputs are equal to those
// at hand. So a result's dependencies are a value, which can be listed, compared and tested, and not something that a
// reader must find out.
//
// Three rules make results from a table the same as those made again:
//
//   - The function that makes a result gets its inputs, and reads nothing else that can change.
//   - A result that is in a table is not changed, and neither are its inputs.
//   - Inputs are equal only if the results are. Objects of the input do not change once they are admitted, so that
//     comparing pointers to them will do.
package memo

import (
	"maps"
	"sync"

	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
)

// Inputs are everything that a result is made from.
type Inputs[K comparable, I any] interface {
	// Key names the part of the compilation's result that is made.
	Key() K
	// Equal reports whether the same is made from other inputs with this key.
	Equal(other I) bool
}

// Whole is the key of a step that makes its result in one part.
type Whole struct{}

// Table keeps the last result of a step for each part. Several goroutines may use it at once. A nil table keeps
// nothing, so that every result is made again.
type Table[K comparable, I Inputs[K, I], R any] struct {
	mayKeep func(R) bool // nil if every result may be
	lock    sync.Mutex
	entries map[K]*entry[I, R]
	round   int
	asked   int // how many of the entries were asked for in this round
}

// entry is a result and what it was made from. All but its round stays as it is: another result is another entry.
type entry[I, R any] struct {
	inputs I
	result R
	round  int // the last one that asked for it
}

// NewTable makes an empty table.
func NewTable[K comparable, I Inputs[K, I], R any]() *Table[K, I, R] {
	return &Table[K, I, R]{entries: map[K]*entry[I, R]{}}
}

// NewSilentTable makes one for a step that reports what it finds. A result about which there was something to say is
// made again every time: what was said names lines of files, and those move while the objects stay the same.
func NewSilentTable[K comparable, I Inputs[K, I], R interface{ Silent() bool }]() *Table[K, I, R] {
	t := NewTable[K, I, R]()
	t.mayKeep = func(result R) bool { return result.Silent() }
	return t
}

// Get gives the result for some inputs: the kept one if it was made from equal ones, else a new one, which it keeps.
func (t *Table[K, I, R]) Get(inputs I, makeResult func(I) R) R {
	var result [1]R
	t.GetSome([]I{inputs}, result[:], makeResult)
	return result[0]
}

// GetAll is Get for many parts. The function that makes results is called from several goroutines.
func (t *Table[K, I, R]) GetAll(parts []I, makeResult func(I) R) []R {
	return parallel.Map(parts, func(some []I, results []R) { t.GetSome(some, results, makeResult) })
}

// GetSome fills in the results for some parts, as Get gives them. It takes the lock once for all that are kept.
func (t *Table[K, I, R]) GetSome(parts []I, results []R, makeResult func(I) R) {
	for i, known := range t.touch(parts) {
		if known != nil && known.inputs.Equal(parts[i]) {
			results[i] = known.result
		} else {
			results[i] = makeResult(parts[i])
			t.keep(parts[i], results[i])
		}
	}
}

// touch gives the entries for some parts, nil where there is none, and notes that this round has asked for them.
func (t *Table[K, I, R]) touch(parts []I) []*entry[I, R] {
	known := make([]*entry[I, R], len(parts))
	if t == nil {
		return known
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	for i, inputs := range parts {
		e := t.entries[inputs.Key()]
		if e != nil && e.round != t.round {
			e.round = t.round
			t.asked++
		}
		known[i] = e
	}
	return known
}

// keep puts a result in the place of the one that its part had, or forgets that if the new one may not be kept.
func (t *Table[K, I, R]) keep(inputs I, result R) {
	if t == nil {
		return
	}
	key, keepIt := inputs.Key(), t.mayKeep == nil || t.mayKeep(result)
	t.lock.Lock()
	defer t.lock.Unlock()
	_, isKept := t.entries[key] // if so it was touched in this round
	switch {
	case keepIt:
		t.entries[key] = &entry[I, R]{inputs, result, t.round}
		if !isKept {
			t.asked++
		}
	case isKept:
		delete(t.entries, key)
		t.asked--
	}
}

// Step is what is kept of a step, for those who look after all of them.
type Step interface {
	// Sweep forgets the results that were not asked for since the last time.
	Sweep()
}

// Sweep is that of several steps.
func Sweep(steps []Step) {
	for _, s := range steps {
		s.Sweep()
	}
}

// Sweep is that of a [Step].
func (t *Table[K, I, R]) Sweep() {
	if t == nil {
		return
	}
	if t.asked < len(t.entries) {
		maps.DeleteFunc(t.entries, func(_ K, e *entry[I, R]) bool { return e.round != t.round })
	}
	t.round++
	t.asked = 0
}
