package precedence

import (
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// SettingsBlock is one set of session fields and where it is written. No two blocks of one object have the same level
// and path, except for copies of one block at several targets.
type SettingsBlock struct {
	Level  Level
	Origin object.Origin
	// Target is what the block is attached to. For a rule's own block it is the route, with the rule's name if any.
	Target object.TargetRef
	// Path leads to the block in its source, such as spec.override or spec.rules[0].sessionPersistence.
	Path string
	// Release is that of an inline block's fields, and decides what they are called. Unstated for a policy.
	Release sessionapi.APIRelease
	// Class is the GatewayClass behind whose Gateways alone the block holds; empty for all.
	Class string
	// Scope is what the block's policy says that the sessions of its route belong to; empty for nothing.
	Scope v1alpha1.SessionScope
	// Atomic says that the block holds whole or not at all.
	Atomic bool
	// Settings are the fields. It is nil for an XBackendTrafficPolicy without sessionPersistence, which still keeps
	// younger ones off its targets (S14); nowhere else.
	Settings *v1alpha1.SessionSettings
}

// PolicyBlocks gives the blocks of a SessionPersistencePolicy at one of its targets: up to three, and none at a target
// of a kind that it can't have. The plain one is there when it has a field, or when there is no other (S9); with a
// strategy it is a default or an override, and the only one.
func PolicyBlocks(
	origin object.Origin,
	target object.TargetRef,
	spec *v1alpha1.SessionPersistencePolicySpec,
) []SettingsBlock {
	level, ok := HierarchyLevelOf(target)
	if !ok {
		return nil
	}
	var blocks []SettingsBlock
	plain, atomic := Plain, false
	if s := spec.Strategy; s != nil {
		if plain, atomic = Default, s.IsAtomic(); s.IsOverride() {
			plain = Override
		}
	}
	class := ""
	if spec.ClassName != nil {
		class = string(*spec.ClassName)
	}
	scope := v1alpha1.SessionScope("")
	if spec.Scope != nil {
		scope = *spec.Scope
	}
	add := func(part Part, path string, settings *v1alpha1.SessionSettings) {
		blocks = append(blocks, SettingsBlock{
			Level: LevelOf(part, level), Origin: origin, Target: target, Path: path, Class: class, Scope: scope,
			Atomic: atomic, Settings: settings,
		})
	}
	if spec.Override != nil {
		add(Override, "spec.override", spec.Override)
	}
	if !spec.IsEmpty() || spec.Override == nil && spec.Default == nil {
		add(plain, "spec", &spec.SessionSettings)
	}
	if spec.Default != nil {
		add(Default, "spec.default", spec.Default)
	}
	return blocks
}

// FromInline gives the block of a rule, an XBackend or an XBackendTrafficPolicy that writes a session inline.
func FromInline(
	i *sessionapi.InlineSession,
	level Level,
	origin object.Origin,
	target object.TargetRef,
	path string,
) SettingsBlock {
	return SettingsBlock{
		Level:    level,
		Origin:   origin,
		Target:   target,
		Path:     path,
		Release:  i.Release,
		Settings: &i.Settings,
	}
}
