package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/limpet-proxy/limpet/internal/atomicfile"
)

// Store is where entries are kept beyond the end of this process, by key.
type Store interface {
	// Read returns all entries or, with an error, those that it could read.
	Read() (map[string]json.RawMessage, error)
	// Write stores these entries, which must not change any more, and deletes all others. With a function the write is
	// urgent: kept is called once the entries are stored, if they can be, before Write returns or after.
	Write(entries map[string]json.RawMessage, kept func()) error
	// Whole tells whether the store keeps all that is known, and not only what no object of an API server says any more.
	Whole() bool
}

// File is a store in a file of that name.
type File string

// Read reads the file. Before it is there that is nothing.
func (f File) Read() (map[string]json.RawMessage, error) {
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
func (f File) Write(entries map[string]json.RawMessage, kept func()) error {
	text, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		return err
	}
	err = atomicfile.Write(string(f), append(text, '\n'), 0o644)
	if err == nil && kept != nil {
		kept()
	}
	return err
}

// Whole is true: a file is written for a change that is reported anyhow.
func (f File) Whole() bool { return true }
