package ladder

import (
	"cmp"
	"slices"

	"github.com/limpet-proxy/limpet/policy-config"
)

// Merge climbs down the ladder with the blocks on one way: the strongest that writes a field gives its value (S5,
// S7). The order of the blocks does not matter. Each of them should be one that [Check] takes; of others, values
// that can't be read are left out.
func Merge(blocks []Block) Effective {
	entries, conflicts := direct(gather(blocks))
	if len(entries) == 0 {
		return Effective{Conflicts: conflicts}
	}
	m := merger{entries: entries, holding: make([]*Written, len(table))}
	m.read()
	m.fit()
	m.climb()
	e := m.effective()
	e.Conflicts = append(conflicts, m.conflicts()...)
	return e
}

// entry is a block, the targets through which it is on the way, and what it writes into each field.
type entry struct {
	Block
	targets []Target
	writes  []Written
}

// gather puts the blocks in order, strongest first, and makes one of those that differ in nothing but the target.
func gather(blocks []Block) []*entry {
	sorted := slices.Clone(blocks)
	slices.SortFunc(sorted, func(a, b Block) int {
		return cmp.Or(
			cmp.Compare(a.Rung, b.Rung), a.Source.compare(b.Source), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Target.String(), b.Target.String()))
	})
	var entries []*entry
	for _, b := range sorted {
		if n := len(entries); n > 0 && entries[n-1].is(b) {
			if same := entries[n-1]; !slices.Contains(same.targets, b.Target) {
				same.targets = append(same.targets, b.Target)
			}
			continue
		}
		entries = append(entries, &entry{Block: b, targets: []Target{b.Target}})
	}
	return entries
}

func (e *entry) is(b Block) bool {
	return e.Rung == b.Rung && e.Source.Object == b.Source.Object && e.Path == b.Path
}

// merger works on the blocks of one way.
type merger struct {
	entries []*entry   // strongest first
	holding []*Written // by field
	dropped []Drop
}

// read reads every block. Being there says on, except for overrides (S9).
func (m *merger) read() {
	for _, e := range m.entries {
		e.writes = make([]Written, len(table))
		for f := range table {
			w, err := table[f].written(&e.Block)
			if err != nil {
				m.dropped = append(m.dropped, unreadable(table[f].name, w, err))
				continue
			}
			e.writes[f] = w
		}
		if d := &e.writes[indexOf[fieldDisabled]]; d.Value == nil && !e.Rung.IsOverride() {
			*d = Written{Value: false, Text: text(false), Rung: e.Rung, Source: e.Source, Path: e.Path, Implied: true}
		}
	}
}

// kind is the type, which is decided before anything else, and what writes it (S11).
func (m *merger) kind() (policyconfig.Type, Written) {
	for _, e := range m.entries {
		if w := e.writes[indexOf[fieldType]]; w.Value != nil {
			return w.Value.(policyconfig.Type), w
		}
	}
	return policyconfig.TypeCookie, Written{}
}

// fit takes out what does not apply to the type: the cookie's attributes under Header, and names that their own
// block gives to the other type (S11).
func (m *merger) fit() {
	kind, by := m.kind()
	for _, e := range m.entries {
		for f := range table {
			w := &e.writes[f]
			switch {
			case w.Value == nil:
			case table[f].cookie && kind == policyconfig.TypeHeader:
				m.drop(w, offType(table[f].name, *w, by))
			case f == indexOf[fieldName]:
				m.fitName(w, e.writes[indexOf[fieldType]].Value, kind, by)
			}
		}
	}
}

// fitName looks at a name and the type that its block writes, if any. A name without one fits both types, unless it
// is one that headers can't have.
func (m *merger) fitName(w *Written, own any, kind policyconfig.Type, by Written) {
	switch {
	case own != nil && own != kind:
		m.drop(w, offType(fieldName, *w, by))
	case own == nil && kind == policyconfig.TypeHeader:
		if err := headerName(*w); err != nil {
			m.drop(w, offName(*w, by, err))
		}
	}
}

// drop makes a value one that is not written.
func (m *merger) drop(w *Written, d Drop) {
	m.dropped = append(m.dropped, d)
	*w = Written{}
}

// climb goes down the ladder. A value that a stronger one contradicts is left out as if it were not written (S12),
// so that the next below has its chance; what it would have contradicted itself is not harmed by it.
func (m *merger) climb() {
	kind, _ := m.kind()
	for _, e := range m.entries {
		for f := range table {
			w := &e.writes[f]
			if w.Value == nil || m.holding[f] != nil {
				continue
			}
			if d := contradicts(kind, f, *w, m.holding); d != nil {
				m.drop(w, *d)
				continue
			}
			m.holding[f] = w
		}
	}
	m.cutIdle()
}

func (m *merger) cutIdle() {
	idle, absolute := m.holding[indexOf[fieldIdle]], m.holding[indexOf[fieldAbsolute]]
	if idle == nil || absolute == nil || idle.Value.(policyconfig.Duration) <= absolute.Value.(policyconfig.Duration) {
		return
	}
	m.dropped = append(m.dropped, cut(*idle, *absolute))
	shorter := *idle // what is written stays what it is, for comparison with others on its rung
	shorter.Value, shorter.Text = absolute.Value, absolute.Text
	m.holding[indexOf[fieldIdle]] = &shorter
}

// effective writes down the outcome.
func (m *merger) effective() Effective {
	kind, _ := m.kind()
	e := Effective{Fields: make([]Field, 0, len(table))}
	for f := range table {
		if table[f].cookie && kind == policyconfig.TypeHeader {
			continue
		}
		e.Fields = append(e.Fields, m.outcome(f))
	}
	e.On = e.Fields[0].Value != true
	if e.On {
		e.Origin, e.Dropped = m.origin(), m.dropped
	}
	return e
}

// defaults is each field where nobody writes it.
var defaults = defaultFields()

func defaultFields() []Field {
	p := defaultPolicy()
	all := make([]Field, len(table))
	for f := range table {
		all[f] = Field{Name: table[f].name, Written: Written{Rung: BuiltIn}}
		if v := table[f].defaultOf(p); v != nil {
			all[f].Value, all[f].Text, all[f].Default = v, text(v), text(v)
		}
	}
	d := &all[indexOf[fieldDisabled]]
	d.Value, d.Text = false, text(false) // overrides alone, none of which says so: on (S9)
	return all
}

func (m *merger) outcome(f int) Field {
	out := defaults[f]
	if m.holding[f] != nil {
		out.Written = *m.holding[f]
	}
	first := true
	for _, e := range m.entries {
		switch w := e.writes[f]; {
		case w.Value == nil:
		case first:
			first = false // the one that holds
		default:
			out.Beats = append(out.Beats, w)
		}
	}
	return out
}

// origin is the strongest rung below the overrides that says on. Where none does, an override has said it, or there
// are nothing but overrides and the strongest of them stands for all (S9).
func (m *merger) origin() Written {
	var override *Written
	last := Rung(0)
	for _, e := range m.entries {
		w := &e.writes[indexOf[fieldDisabled]]
		if w.Value == nil || e.Rung == last {
			continue // of several on one rung, the first speaks for it
		}
		last = e.Rung
		switch {
		case w.Value == true:
		case !e.Rung.IsOverride():
			return *w
		case override == nil:
			override = w
		}
	}
	if override != nil {
		return *override
	}
	e := m.entries[0]
	return Written{Value: false, Text: text(false), Rung: e.Rung, Source: e.Source, Path: e.Path, Implied: true}
}
