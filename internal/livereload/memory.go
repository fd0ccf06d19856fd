package livereload

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"github.com/limpet-proxy/limpet/internal/atomicfile"
)

// Memory is where something is remembered beyond the end of this process: entries by key.
type Memory interface {
	// Read gives all entries. With an error it gives those that it could read.
	Read() (map[string]json.RawMessage, error)
	// Write has these entries remembered, and no others. What is urgent is remembered once it returns, if it can be at all.
	Write(entries map[string]json.RawMessage, urgent bool) error
	// Whole tells whether all that is known is remembered. Else it is what no object of an API server says any more.
	Whole() bool
}

// FileMemory remembers in a file; empty for nowhere.
type FileMemory string

// Read reads the file. Before it is there that is nothing.
func (f FileMemory) Read() (map[string]json.RawMessage, error) {
	if f == "" {
		return nil, nil
	}
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var entries map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(text, &entries)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", string(f), err)
	}
	return entries, nil
}

// Write writes the file.
func (f FileMemory) Write(entries map[string]json.RawMessage, _ bool) error {
	if f == "" {
		return nil
	}
	text, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(string(f), append(text, '\n'), 0o644)
}

// Whole is true: a file is written for a change that is told of anyhow.
func (f FileMemory) Whole() bool { return true }

// recall reads what is remembered. With an error it is what of that can be read.
func recall[K comparable, V any](m Memory) (map[K]V, error) {
	entries, err := m.Read()
	remembered := make(map[K]V, len(entries))
	for key, text := range entries {
		var at K
		var value V
		if failed := errors.Join(readKey(&at, key), json.Unmarshal(text, &value)); failed != nil {
			err = errors.Join(err, fmt.Errorf("what is remembered of %s: %w", key, failed))
			continue
		}
		remembered[at] = value
	}
	return remembered, err
}

// readKey reads a key of JSON: a text, or what reads itself from one.
func readKey(to any, key string) error {
	if reader, itself := to.(encoding.TextUnmarshaler); itself {
		return reader.UnmarshalText([]byte(key))
	}
	*to.(*string) = key
	return nil
}

// remember has what is known remembered: all of it, or what is worth it.
func remember[K comparable, V any](m Memory, known map[K]V, isWorthIt func(V) bool, urgent bool) error {
	if m == FileMemory("") {
		return nil
	}
	if !m.Whole() {
		known = maps.Clone(known)
		maps.DeleteFunc(known, func(_ K, v V) bool { return !isWorthIt(v) })
	}
	text, err := json.Marshal(known)
	if err != nil {
		return err
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return err
	}
	return m.Write(entries, urgent)
}
