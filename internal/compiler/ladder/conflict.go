package ladder

import (
	"fmt"
	"slices"
	"strings"
)

// Conflict is a source that loses to another on its rung.
type Conflict struct {
	Loser, Winner Source
	Rung          Rung
	// Clashes are the fields that both write, differently; with Whole, every field that the loser writes.
	Clashes []Clash
	// Whole says that nothing of the loser holds on Target, for its kind does not merge (S14).
	Whole  bool
	Target Target
	// Elsewhere says that the two have no target in common and only meet under this rule's session: the loser
	// stays accepted, for it holds whole elsewhere (S15).
	Elsewhere bool
	// Path is that of the loser's block.
	Path string
}

// Clash is a field and what the two write into it. The winner's value is nil if only the loser writes the field.
type Clash struct {
	Field         string
	Loser, Winner Written
}

// Message says it on one line for the loser's status: fields, winner and why.
func (c Conflict) Message() string {
	lead := fmt.Sprintf("%s, %s,", c.Winner.Key(), c.Winner.lead(c.Loser))
	if c.Whole {
		return fmt.Sprintf("%s: %s holds whole on %s", c.Path, lead, c.Target)
	}
	if c.Elsewhere {
		lead += " on another Service of the same rule"
	}
	parts := make([]string, len(c.Clashes))
	for i, clash := range c.Clashes {
		parts[i] = clash.Loser.Path + ": " + lead + " " + clash.Winner.says(clash.Loser)
	}
	return strings.Join(parts, "; ")
}

// says puts a winner's value into words, beside what the loser writes.
func (w Written) says(loser Written) string {
	switch {
	case w.Implied:
		return "turns sessions on by being there"
	case loser.Implied:
		return "writes disabled: " + w.Text
	default:
		return "writes " + w.Text
	}
}

// direct keeps XBackendTrafficPolicies from merging: on each target the first holds whole (S14). Blocks without
// settings have done their work then, and are left out with those that have lost every target.
func direct(entries []*entry) (left []*entry, conflicts []Conflict) {
	holders := map[Target]*entry{}
	for _, e := range entries {
		if e.Rung == BackendTraffic {
			e.targets = slices.DeleteFunc(e.targets, func(t Target) bool {
				holder, held := holders[t]
				if !held {
					holders[t] = e
					return false
				}
				conflicts = append(conflicts, Conflict{
					Loser: e.Source, Winner: holder.Source, Rung: e.Rung, Whole: true, Target: t, Path: e.Path, Clashes: all(e, holder),
				})
				return true
			})
		}
		if len(e.targets) > 0 && e.Settings != nil {
			left = append(left, e)
		}
	}
	return left, conflicts
}

// all lists the fields that the loser writes.
func all(loser, winner *entry) []Clash {
	var clashes []Clash
	for f := range table {
		if mine := read(loser, f); mine.Value != nil {
			clashes = append(clashes, Clash{table[f].name, mine, read(winner, f)})
		}
	}
	return clashes
}

func read(e *entry, f int) Written {
	if e.Settings == nil {
		return Written{}
	}
	w, _ := table[f].written(&e.Block)
	return w
}

// conflicts finds, for each policy, those on its rung that write another value and win (S13, S15). What is left out
// by S11 or S12 conflicts with nothing.
func (m *merger) conflicts() []Conflict {
	var found []Conflict
	for i, loser := range m.entries {
		first := i
		for first > 0 && m.entries[first-1].Rung == loser.Rung {
			first--
		}
		stronger := m.entries[first:i]
		for f := range table {
			if winner, elsewhere := rival(stronger, loser, f); winner != nil {
				found = note(found, winner, loser, elsewhere, f)
			}
		}
	}
	return found
}

// rival is who keeps a policy from giving a field its value: the first of those that share a target with it,
// or, where it agrees with that one, the first of the rung, on another Service.
func rival(stronger []*entry, loser *entry, f int) (winner *entry, elsewhere bool) {
	if loser.writes[f].Value == nil {
		return nil, false
	}
	writes := func(e *entry) bool { return e.writes[f].Value != nil }
	for _, e := range stronger {
		if writes(e) && meet(e, loser) {
			if e.writes[f].Text != loser.writes[f].Text {
				return e, false
			}
			break
		}
	}
	if i := slices.IndexFunc(stronger, writes); i >= 0 && stronger[i].writes[f].Text != loser.writes[f].Text {
		return stronger[i], true
	}
	return nil, false
}

// meet reports whether two blocks are attached to one object.
func meet(a, b *entry) bool {
	return slices.ContainsFunc(a.targets, func(t Target) bool { return slices.Contains(b.targets, t) })
}

// note adds a field to the conflict of two policies.
func note(found []Conflict, winner, loser *entry, elsewhere bool, f int) []Conflict {
	clash := Clash{table[f].name, loser.writes[f], winner.writes[f]}
	for i := range found {
		c := &found[i]
		if c.Winner.Object == winner.Source.Object && c.Loser.Object == loser.Source.Object && c.Rung == loser.Rung {
			c.Clashes = append(c.Clashes, clash)
			return found
		}
	}
	return append(found, Conflict{
		Loser: loser.Source, Winner: winner.Source, Rung: loser.Rung, Path: loser.Path, Elsewhere: elsewhere, Clashes: []Clash{clash},
	})
}
