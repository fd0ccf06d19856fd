package precedence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Conflict is an object that loses to another of its precedence level.
type Conflict struct {
	Loser, Winner object.Origin
	Level         Level
	// Fields are the fields that both write, differently; with Whole, every field that the loser writes.
	Fields []FieldConflict
	// Whole says that nothing of the loser is effective on Target, because its kind does not merge (S14).
	Whole  bool
	Target object.TargetRef
	// OtherTarget says that the two have no target in common and only meet under this rule's session: the loser
	// stays accepted, because it is effective elsewhere (S15).
	OtherTarget bool
	// Path is that of the loser's block.
	Path string
}

// FieldConflict is a field and what the two write into it. The winner's value is nil if only the loser writes the
// field.
type FieldConflict struct {
	Field         string
	Loser, Winner FieldValue
}

// Message says it on one line for the loser's status: fields, winner and why.
func (c Conflict) Message() string {
	lead := "conflicts with " + c.Winner.String()
	if c.OtherTarget {
		lead += " on another Service of the same rule"
	}
	lead += ", " + explainPriority(c.Winner, c.Loser) + " and "
	if c.Whole {
		return fmt.Sprintf("%s: %sholds whole on %s", c.Path, lead, c.Target)
	}
	parts := make([]string, len(c.Fields))
	for i, fieldConflict := range c.Fields {
		parts[i] = fieldConflict.Loser.Path + ": " + lead + fieldConflict.Winner.describeAgainst(fieldConflict.Loser)
	}
	return strings.Join(parts, "; ")
}

// explainPriority says why one of two sources wins.
func explainPriority(winner, loser object.Origin) string {
	if winner.Created.Equal(loser.Created) {
		return "which comes first by name"
	}
	return "which is older"
}

// describeAgainst puts a winner's value into words, in contrast to what the loser writes.
func (v FieldValue) describeAgainst(loser FieldValue) string {
	switch {
	case v.Implied:
		return "turns sessions on by being there"
	case v.Unset:
		return "takes the field away"
	case loser.Implied:
		return "writes disabled: " + v.Text
	default:
		return "writes " + v.Text
	}
}

// resolveDirectPolicies keeps XBackendTrafficPolicies from merging: to each target the first applies as a whole (S14).
// Blocks without settings are not needed any more then, and are left out with those that have lost every target.
func resolveDirectPolicies(entries []*blockEntry) (left []*blockEntry, conflicts []Conflict) {
	owners := map[object.TargetRef]*blockEntry{}
	for _, e := range entries {
		if e.Level == BackendTraffic {
			e.targets = slices.DeleteFunc(e.targets, func(t object.TargetRef) bool {
				owner, held := owners[t]
				if !held {
					owners[t] = e
					return false
				}
				conflicts = append(conflicts, Conflict{
					Loser: e.Origin, Winner: owner.Origin, Level: e.Level, Whole: true, Target: t, Path: e.Path,
					Fields: listFieldConflicts(e, owner),
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

// listFieldConflicts lists the fields that the loser writes.
func listFieldConflicts(loser, winner *blockEntry) []FieldConflict {
	var conflicts []FieldConflict
	for f := range fieldTable {
		if mine := readField(loser, f); mine.Value != nil {
			conflicts = append(conflicts, FieldConflict{fieldTable[f].name, mine, readField(winner, f)})
		}
	}
	return conflicts
}

func readField(e *blockEntry, f int) FieldValue {
	if e.Settings == nil {
		return FieldValue{}
	}
	if w, _ := fieldTable[f].readBlock(&e.SettingsBlock); w != nil {
		return *w
	}
	return FieldValue{}
}

// findConflicts finds, for each policy, those of its level that write another value and win (S13, S15). What is left
// out by S11 or S12 conflicts with nothing.
func (m *merger) findConflicts() []Conflict {
	var found []Conflict
	first := 0 // of the level
	for i, loser := range m.entries {
		if m.entries[first].Level != loser.Level {
			first = i
		}
		stronger := m.entries[first:i]
		for f := range fieldTable {
			if winner, elsewhere := findRival(stronger, loser, f); winner != nil {
				found = addFieldConflict(found, winner, loser, elsewhere, f)
			}
		}
	}
	return found
}

// findRival returns the block that keeps a policy's value of a field from being effective: the first of those that
// share a target with it or, where it agrees with that one, the first of the level, on another Service.
func findRival(stronger []*blockEntry, loser *blockEntry, f int) (winner *blockEntry, elsewhere bool) {
	if loser.values[f] == nil {
		return nil, false
	}
	writes := func(e *blockEntry) bool { return e.values[f] != nil }
	for _, e := range stronger {
		if writes(e) && shareTarget(e, loser) {
			if e.values[f].Text != loser.values[f].Text {
				return e, false
			}
			break
		}
	}
	if i := slices.IndexFunc(stronger, writes); i >= 0 && stronger[i].values[f].Text != loser.values[f].Text {
		return stronger[i], true
	}
	return nil, false
}

// shareTarget reports whether two blocks are attached to one object.
func shareTarget(a, b *blockEntry) bool {
	return slices.ContainsFunc(a.targets, func(t object.TargetRef) bool { return slices.Contains(b.targets, t) })
}

// addFieldConflict adds a field to the conflict of two policies.
func addFieldConflict(found []Conflict, winner, loser *blockEntry, elsewhere bool, f int) []Conflict {
	fieldConflict := FieldConflict{fieldTable[f].name, *loser.values[f], *winner.values[f]}
	for i := len(found) - 1; i >= 0 && found[i].Loser.Ref == loser.Origin.Ref; i-- { // its own are the last
		c := &found[i]
		if c.Winner.Ref == winner.Origin.Ref && c.Loser.Ref == loser.Origin.Ref && c.Level == loser.Level {
			c.Fields = append(c.Fields, fieldConflict)
			return found
		}
	}
	return append(found, Conflict{
		Loser: loser.Origin, Winner: winner.Origin, Level: loser.Level, Path: loser.Path, OtherTarget: elsewhere,
		Fields: []FieldConflict{fieldConflict},
	})
}
