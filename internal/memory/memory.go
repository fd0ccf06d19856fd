// Package memory keeps what no object says over the end of a process: since when hosts terminate, whose addresses were,
// and which pods Services have left. It is kept in files, or in objects that all processes share.
package memory

import (
	"encoding/json"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
)

// Memory is what is remembered.
type Memory struct {
	Draining *Draining
	Owners   *Owners
	Selected *Selected
}

// Kind is a part of the memory, with a store of its own.
type Kind struct {
	// Name tells it from the others.
	Name string
	// IsSame tells whether what two processes remember under one key is the same.
	IsSame func(a, b json.RawMessage) bool
	// lost says what is lost if the kind can't be read.
	lost string
}

// The kinds.
var (
	DrainingKind = &Kind{"draining", isSame(isSameTime), "since when hosts terminate is not known, and begins now"}
	SelectedKind = &Kind{"unselected", isSame(isSamePod), "which pods Services have left is not known"}
	OwnersKind   = &Kind{
		"owners",
		isSame(isSameOwner),
		"whose addresses were is not known, and those that they have now count as their first",
	}
)

// Load reads the memory from the stores of its kinds; a nil store is empty. A kind that can't be read begins empty, and
// the reason is reported.
func Load(open func(*Kind) Store, tell func(lost string, why error)) *Memory {
	m := &Memory{}
	load := func(kind *Kind, read func(Store) error) {
		if err := read(open(kind)); err != nil {
			tell(kind.lost, err)
		}
	}
	load(DrainingKind, func(s Store) (err error) { m.Draining, err = newDraining(s); return err })
	load(SelectedKind, func(s Store) (err error) { m.Selected, err = newSelected(s); return err })
	load(OwnersKind, func(s Store) (err error) { m.Owners, err = newOwners(s); return err })
	return m
}

// New remembers nothing over the end of the process.
func New() *Memory {
	return Load(func(*Kind) Store { return nil }, func(string, error) {})
}

// Recall puts what is remembered into changes of a follower's documents.
func (m *Memory) Recall(c *compiler.Changes) {
	c.Draining, c.Owners, c.Selection = m.Draining.Since, m.Owners.Of, m.Selected.Now
}

func isSame[V any](compare func(a, b V) bool) func(a, b json.RawMessage) bool {
	return func(a, b json.RawMessage) bool {
		var one, other V
		return json.Unmarshal(a, &one) == nil && json.Unmarshal(b, &other) == nil && compare(one, other)
	}
}

// sameTime is how far two processes may be apart that see the same.
const sameTime = 10 * time.Second

func isSameTime(a, b time.Time) bool { return a.Sub(b).Abs() <= sameTime }
