package memory

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// table has values kept in a store. Of 100,000 a change writes few down again.
type table[K comparable, V any] struct {
	store Store // nil for none
	// isWorthIt tells which values are kept where not all are.
	isWorthIt func(V) bool
	entries   map[string]json.RawMessage
	given     bool // the store has the entries, which may not change any more
}

// load makes a table of a store's entries, and returns their values; with an error, those that can be read.
func load[K comparable, V any](s Store, isWorthIt func(V) bool) (table[K, V], map[K]V, error) {
	t := table[K, V]{store: s, isWorthIt: isWorthIt, entries: map[string]json.RawMessage{}}
	values := map[K]V{}
	if s == nil {
		return t, values, nil
	}
	entries, err := s.Read()
	for key, text := range entries {
		var at K
		var value V
		if failed := errors.Join(readKey(&at, key), json.Unmarshal(text, &value)); failed != nil {
			err = errors.Join(err, fmt.Errorf("what is remembered of %s: %w", key, failed))
			continue
		}
		values[at] = value
		if t.isKept(value) {
			t.entries[key] = text
		}
	}
	return t, values, err
}

// readKey reads a key of JSON: a text, or what reads itself from one.
func readKey(to any, key string) error {
	if reader, itself := to.(encoding.TextUnmarshaler); itself {
		return reader.UnmarshalText([]byte(key))
	}
	*to.(*string) = key
	return nil
}

func (t *table[K, V]) isKept(value V) bool { return t.store.Whole() || t.isWorthIt(value) }

// set notes what is known under a key, for the next save.
func (t *table[K, V]) set(key K, value V) error {
	switch {
	case t.store == nil:
		return nil
	case !t.isKept(value):
		t.remove(key)
		return nil
	}
	text, err := json.Marshal(value)
	if err == nil {
		t.own()[fmt.Sprint(key)] = text
	}
	return err
}

// remove notes that nothing is known under a key.
func (t *table[K, V]) remove(key K) { delete(t.own(), fmt.Sprint(key)) }

// own gives the entries in a form that may change.
func (t *table[K, V]) own() map[string]json.RawMessage {
	if t.given {
		t.entries, t.given = maps.Clone(t.entries), false
	}
	return t.entries
}

// save has the entries kept; with a function soon, and that is called then.
func (t *table[K, V]) save(kept func()) error {
	if t.store == nil {
		if kept != nil {
			kept()
		}
		return nil
	}
	t.given = true
	return t.store.Write(t.entries, kept)
}

// replace has values kept in the place of others.
func (t *table[K, V]) replace(before, now map[K]V, isSame func(a, b V) bool) (err error) {
	for key := range before {
		if _, stays := now[key]; !stays {
			t.remove(key)
		}
	}
	for key, value := range now {
		if was, is := before[key]; !is || !isSame(was, value) {
			err = errors.Join(err, t.set(key, value))
		}
	}
	return errors.Join(err, t.save(nil))
}
