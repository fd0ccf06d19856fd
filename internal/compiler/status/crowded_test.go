package status

import (
	"fmt"
	"slices"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
)

// TestCrowdedPathsSayTheSame: looked up or looked for, a policy's words are the same.
func TestCrowdedPathsSayTheSame(t *testing.T) {
	ref := func(i int) object.Ref {
		return object.Ref{Kind: "SessionPersistencePolicy", Namespace: "shop", Name: fmt.Sprint("p", i)}
	}
	origin := func(i int) precedence.FieldValue {
		return precedence.FieldValue{Level: precedence.InlineRule, Origin: object.Origin{Ref: ref(i)}}
	}
	e := &precedence.Effective{On: true, Fields: []*precedence.Field{{Name: "disabled"}, {Name: "sessionName"}}}
	for i := range 2 * crowd {
		e.Fields[i%2].Overrides = append(e.Fields[i%2].Overrides, origin(i), origin(i+1))
		e.Ignored = append(e.Ignored, precedence.IgnoredField{FieldValue: origin(i)})
		e.Conflicts = append(e.Conflicts, precedence.Conflict{Loser: origin(i + 1).Origin, Winner: origin(0).Origin})
	}
	for i := range 2*crowd + 2 {
		got := crowdedPaths{}.narrow(ref(i), e)
		for f := range e.Fields {
			want := slices.DeleteFunc(slices.Clone(e.Fields[f].Overrides), func(w precedence.FieldValue) bool { return w.Origin.Ref != ref(i) })
			if fmt.Sprint(got.Fields[f].Overrides) != fmt.Sprint(want) {
				t.Errorf("policy %d, field %d: got %v, want %v", i, f, got.Fields[f].Overrides, want)
			}
		}
		lost := slices.DeleteFunc(slices.Clone(e.Conflicts), func(c precedence.Conflict) bool { return c.Loser.Ref != ref(i) })
		if fmt.Sprint(got.Conflicts) != fmt.Sprint(lost) {
			t.Errorf("policy %d: got %v, want %v", i, got.Conflicts, lost)
		}
	}
}
