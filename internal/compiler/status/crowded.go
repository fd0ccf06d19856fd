package status

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
)

// crowdedPaths are the paths of which many policies want something. What each of them gets is looked up: looked for,
// 20,000 policies for one Service took 15 s.
type crowdedPaths map[*precedence.Effective]map[object.Ref]*policyWords

// policyWords is what is said of one policy on a path.
type policyWords struct {
	overridden map[int][]precedence.FieldValue // by the field's place
	ignored    []precedence.IgnoredField
	conflicts  []precedence.Conflict
}

// crowd is from how many words on a path looking up is cheaper.
const crowd = 64

// narrow gives what holds on a path with the words of a policy, and not of all others where those are many.
func (c crowdedPaths) narrow(ref object.Ref, e *precedence.Effective) *precedence.Effective {
	words := len(e.Conflicts) + len(e.Ignored)
	for _, f := range e.Fields {
		words += len(f.Overrides)
	}
	if words < crowd {
		return e
	}
	if c[e] == nil {
		c[e] = indexWords(e)
	}
	own := c[e][ref]
	if own == nil {
		own = &policyWords{}
	}
	narrowed := *e
	narrowed.Ignored, narrowed.Conflicts = own.ignored, own.conflicts
	narrowed.Fields = slices.Clone(e.Fields)
	for i, f := range e.Fields {
		if len(f.Overrides) > 0 {
			field := *f
			field.Overrides = own.overridden[i]
			narrowed.Fields[i] = &field
		}
	}
	return &narrowed
}

func indexWords(e *precedence.Effective) map[object.Ref]*policyWords {
	all := map[object.Ref]*policyWords{}
	of := func(ref object.Ref) *policyWords {
		if all[ref] == nil {
			all[ref] = &policyWords{overridden: map[int][]precedence.FieldValue{}}
		}
		return all[ref]
	}
	for i, f := range e.Fields {
		for _, w := range f.Overrides {
			own := of(w.Origin.Ref)
			own.overridden[i] = append(own.overridden[i], w)
		}
	}
	for _, drop := range e.Ignored {
		own := of(drop.Origin.Ref)
		own.ignored = append(own.ignored, drop)
	}
	for _, conflict := range e.Conflicts {
		own := of(conflict.Loser.Ref)
		own.conflicts = append(own.conflicts, conflict)
	}
	return all
}
