package ladder

import (
	"cmp"
	"time"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
)

// Origin is the object that a block is written in.
type Origin struct {
	Ref
	// Created is the creationTimestamp, the zero time where there is none.
	Created time.Time
}

// Compare puts the source first that wins on a rung (S13): the older one, then the first by namespace/name. One
// without a creation time is not created yet, hence the youngest. The kind only makes the order total.
func (s Origin) Compare(o Origin) int {
	if s.Created.IsZero() != o.Created.IsZero() {
		if s.Created.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(s.Created.Compare(o.Created), cmp.Compare(s.Key(), o.Key()), cmp.Compare(s.Kind, o.Kind))
}

// explainPriority says why a source wins over another that it stands before.
func (s Origin) explainPriority(over Origin) string {
	if s.Created.Equal(over.Created) {
		return "which comes first by name"
	}
	return "which is older"
}

// SettingsBlock is one set of session fields and where it stands. No two blocks of one source have the same rung and path,
// but for copies of one block at several targets.
type SettingsBlock struct {
	Level  Level
	Origin Origin
	// Target is what the block is attached to. For a rule's own block it is the route, with the rule's name if any.
	Target TargetRef
	// Path leads to the block in its source, such as spec.override or spec.rules[0].sessionPersistence.
	Path string
	// Release is the generation of an inline block's fields, and decides what they are called. Unstated for a policy.
	Release APIRelease
	// Settings are the fields. It is nil for an XBackendTrafficPolicy without sessionPersistence, which still keeps
	// younger ones off its targets (S14); nowhere else.
	Settings *v1alpha1.SessionSettings
}

// PolicyBlocks gives the blocks of a SessionPersistencePolicy at one of its targets: up to three, and none at a
// target of a kind that it can't have. The plain one is there when it has a field, or when there is no other (S9).
func PolicyBlocks(origin Origin, target TargetRef, spec *v1alpha1.SessionPersistencePolicySpec) []SettingsBlock {
	level, ok := target.HierarchyLevel()
	if !ok {
		return nil
	}
	var blocks []SettingsBlock
	add := func(part Part, path string, settings *v1alpha1.SessionSettings) {
		blocks = append(blocks, SettingsBlock{Level: LevelOf(part, level), Origin: origin, Target: target, Path: path, Settings: settings})
	}
	if spec.Override != nil {
		add(Override, "spec.override", spec.Override)
	}
	if spec.SessionSettings != (v1alpha1.SessionSettings{}) || spec.Override == nil && spec.Default == nil {
		add(Plain, "spec", &spec.SessionSettings)
	}
	if spec.Default != nil {
		add(Default, "spec.default", spec.Default)
	}
	return blocks
}
