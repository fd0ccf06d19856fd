package precedence

import (
	"cmp"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Merge merges the blocks on one path: the strongest that writes a field gives its value (S5, S7). The order of the
// blocks does not matter. Each of them should be one that [CheckBlock] takes; of others, values that can't be read are
// left out.
func Merge(blocks []SettingsBlock) Effective {
	entries, conflicts := resolveDirectPolicies(sortBlocks(blocks))
	if len(entries) == 0 {
		return Effective{Conflicts: conflicts}
	}
	entries, displaced := displaceAtomic(entries)
	m := merger{entries: entries, effectiveValues: make([]*FieldValue, len(fieldTable)), ignored: displaced}
	m.readBlocks()
	m.ignoreOffType()
	m.applyPrecedence()
	e := m.buildEffective()
	scope, scopeConflicts := findScope(entries)
	e.Scope, e.Conflicts = scope, slices.Concat(conflicts, m.findConflicts(), scopeConflicts)
	return e
}

// blockEntry is a block, the targets through which it is on the path, and what it writes into each field.
type blockEntry struct {
	SettingsBlock
	targets []object.TargetRef
	values  []*FieldValue // by field, nil where the block has no say
}

// sortBlocks puts the blocks in order, strongest first, and makes one of those that differ in nothing but the target.
func sortBlocks(blocks []SettingsBlock) []*blockEntry {
	sorted := slices.Clone(blocks)
	slices.SortFunc(sorted, func(a, b SettingsBlock) int {
		return cmp.Or(
			cmp.Compare(a.Level, b.Level), object.ByAge(a.Origin, b.Origin), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Target.String(), b.Target.String()))
	})
	var entries []*blockEntry
	for _, b := range sorted {
		if n := len(entries); n > 0 && entries[n-1].isSameBlock(b) {
			if same := entries[n-1]; !slices.Contains(same.targets, b.Target) {
				same.targets = append(same.targets, b.Target)
			}
			continue
		}
		entries = append(entries, &blockEntry{SettingsBlock: b, targets: []object.TargetRef{b.Target}})
	}
	return entries
}

func (e *blockEntry) isSameBlock(b SettingsBlock) bool {
	return e.Level == b.Level && e.Origin.Ref == b.Origin.Ref && e.Path == b.Path
}

// merger works on the blocks of one path.
type merger struct {
	entries         []*blockEntry // strongest first
	effectiveValues []*FieldValue // by field
	ignored         []IgnoredField
}

// readBlocks reads every block. Being there says on, except for overrides (S9).
func (m *merger) readBlocks() {
	for _, e := range m.entries {
		e.values = make([]*FieldValue, len(fieldTable))
		for f := range fieldTable {
			w, err := fieldTable[f].readBlock(&e.SettingsBlock)
			if err != nil {
				m.ignored = append(m.ignored, newUnreadable(fieldTable[f].name, *w, err))
				continue
			}
			e.values[f] = w
		}
		if d := &e.values[fieldIndex[fieldDisabled]]; *d == nil && !e.Level.IsOverride() {
			*d = newImplied(e)
		}
	}
}

// newImplied says that a block turns sessions on by being there.
func newImplied(e *blockEntry) *FieldValue {
	return &FieldValue{
		Value:   false,
		Text:    formatValue(false),
		Level:   e.Level,
		Origin:  e.Origin,
		Path:    e.Path,
		Implied: true,
	}
}

// decideType is the type, which is decided before anything else, and what writes it (S11).
func (m *merger) decideType() (policyconfig.Type, FieldValue) {
	for _, e := range m.entries {
		if w := e.values[fieldIndex[fieldType]]; w != nil {
			return w.Value.(policyconfig.Type), *w
		}
	}
	return policyconfig.TypeCookie, FieldValue{}
}

// decideEnvelope decides whether the session is in the application's own cookie or header, and by which value. It is
// decided as the type is: no other field speaks against it.
func (m *merger) decideEnvelope() (bool, FieldValue) {
	for _, e := range m.entries {
		if w := e.values[fieldIndex[fieldEnvelope]]; w != nil {
			envelope, _ := w.Value.(bool)
			return envelope, *w
		}
	}
	return false, FieldValue{}
}

// ignoreOffType takes out what does not apply to the type: the cookie's attributes under Header and in an envelope, and
// names that their own block gives to the other type (S11).
func (m *merger) ignoreOffType() {
	kind, by := m.decideType()
	envelope, byEnvelope := m.decideEnvelope()
	for _, e := range m.entries {
		for f := range fieldTable {
			w := e.values[f]
			switch {
			case w == nil:
			case fieldTable[f].cookieOnly && kind == policyconfig.TypeHeader:
				m.ignore(e, f, newOffType(fieldTable[f].name, *w, by))
			case fieldTable[f].cookieOnly && envelope:
				m.ignore(e, f, newOffEnvelope(fieldTable[f].name, *w, byEnvelope))
			case f == fieldIndex[fieldName] && !w.Unset:
				m.fitName(e, kind, by)
			}
		}
	}
}

// fitName looks at a block's name and the type that it writes, if any. A name without one fits both types, unless it
// is one that headers can't have.
func (m *merger) fitName(e *blockEntry, kind policyconfig.Type, by FieldValue) {
	f := fieldIndex[fieldName]
	name, own := *e.values[f], e.values[fieldIndex[fieldType]]
	switch {
	case own != nil && own.Value != kind:
		m.ignore(e, f, newOffType(fieldName, name, by))
	case own == nil && kind == policyconfig.TypeHeader:
		if err := checkHeaderName(name); err != nil {
			m.ignore(e, f, newOffTypeName(name, by, err))
		}
	}
}

// ignore makes a block's value one that is not written.
func (m *merger) ignore(e *blockEntry, f int, d IgnoredField) {
	m.ignored = append(m.ignored, d)
	e.values[f] = nil
}

// applyPrecedence goes from the strongest level to the weakest. A value that a stronger one contradicts is left out as
// if it were not written (S12), so that the next below may be effective; it contradicts nothing itself then.
func (m *merger) applyPrecedence() {
	kind, _ := m.decideType()
	for _, e := range m.entries {
		for f := range fieldTable {
			w := e.values[f]
			if w == nil || m.effectiveValues[f] != nil {
				continue
			}
			if d := findContradiction(kind, f, *w, m.effectiveValues); d != nil {
				m.ignore(e, f, *d)
				continue
			}
			m.effectiveValues[f] = w
		}
	}
	m.cutIdle()
}

func (m *merger) cutIdle() {
	idle, absolute := m.effectiveValues[fieldIndex[fieldIdle]], m.effectiveValues[fieldIndex[fieldAbsolute]]
	if idle == nil || absolute == nil || idle.Unset || absolute.Unset {
		return
	}
	if idle.Value.(policyconfig.Duration) <= absolute.Value.(policyconfig.Duration) {
		return
	}
	m.ignored = append(m.ignored, newCutTimeout(*idle, *absolute))
	shorter := *idle // what is written stays what it is, for comparison with others of its level
	shorter.Value, shorter.Text = absolute.Value, absolute.Text
	m.effectiveValues[fieldIndex[fieldIdle]] = &shorter
}

// buildEffective writes down the outcome.
func (m *merger) buildEffective() Effective {
	kind, _ := m.decideType()
	envelope, _ := m.decideEnvelope()
	e := Effective{Fields: make([]*Field, 0, len(fieldTable))}
	for f := range fieldTable {
		if fieldTable[f].cookieOnly && (envelope || kind == policyconfig.TypeHeader) {
			continue
		}
		e.Fields = append(e.Fields, m.buildField(f))
	}
	e.On = e.Fields[0].Value != true
	if e.On {
		e.TurnedOnBy, e.Ignored = m.findTurnedOnBy(), m.ignored
	}
	return e
}

// fieldDefaults is each field where no block writes it.
var fieldDefaults = buildFieldDefaults()

func buildFieldDefaults() []*Field {
	p := newDefaultPolicy()
	all := make([]*Field, len(fieldTable))
	for f := range fieldTable {
		all[f] = &Field{Name: fieldTable[f].name, FieldValue: FieldValue{Level: BuiltIn}}
		if v := fieldTable[f].defaultValue(p); v != nil {
			all[f].Value, all[f].Text, all[f].Default = v, formatValue(v), formatValue(v)
		}
	}
	d := all[fieldIndex[fieldDisabled]]
	d.Value, d.Text = false, formatValue(false) // overrides alone, none of which says so: on (S9)
	return all
}

// buildField returns the result for a field: the default itself where no block writes it, as for most fields of most
// rules.
func (m *merger) buildField(f int) *Field {
	if m.effectiveValues[f] == nil {
		return fieldDefaults[f]
	}
	out := *fieldDefaults[f]
	out.FieldValue = *m.effectiveValues[f]
	if out.Unset && fieldDefaults[f].Value != nil {
		out.Value, out.Text = fieldDefaults[f].Value, fieldDefaults[f].Text
	}
	first := true
	for _, e := range m.entries {
		switch w := e.values[f]; {
		case w == nil:
		case first:
			first = false // the effective one
		default:
			out.Overrides = append(out.Overrides, *w)
		}
	}
	return &out
}

// findTurnedOnBy is the strongest level below the overrides that says on. Where none does, an override has said it, or
// there are nothing but overrides and the strongest of them stands for all (S9).
func (m *merger) findTurnedOnBy() FieldValue {
	var override *FieldValue
	last := Level(0)
	for _, e := range m.entries {
		w := e.values[fieldIndex[fieldDisabled]]
		if w == nil || e.Level == last {
			continue // of several on one level, the first counts
		}
		last = e.Level
		switch {
		case w.Value == true:
		case !e.Level.IsOverride():
			return *w
		case override == nil:
			override = w
		}
	}
	if override != nil {
		return *override
	}
	return *newImplied(m.entries[0])
}
