package precedence

import (
	"cmp"
	"reflect"
	"slices"
	"testing"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

func everyRound(t *testing.T, try func(t *testing.T, r randomRound)) {
	t.Helper()
	for seed, r := range randomRounds() {
		r.blocks = slices.Clone(r.blocks)
		try(t, r)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestOrderOfInput: the order in which blocks are found changes nothing.
func TestOrderOfInput(t *testing.T) {
	everyRound(t, func(t *testing.T, r randomRound) {
		want := Merge(r.blocks)
		shuffled := slices.Clone(r.blocks)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got := Merge(append(shuffled, r.blocks[r.IntN(len(r.blocks))])); !reflect.DeepEqual(got, want) {
			t.Errorf("got\n%s\nwant\n%s", dumpEffective(&got), dumpEffective(&want))
		}
	})
}

// TestStrongestHolds: what holds is stronger than all that it overrides, and that is in order; overrides override all else.
func TestStrongestHolds(t *testing.T) {
	everyRound(t, func(t *testing.T, r randomRound) {
		e := Merge(r.blocks)
		for _, f := range e.Fields {
			last := f.FieldValue
			for _, w := range f.Overrides {
				if cmp.Or(cmp.Compare(last.Level, w.Level), object.ByAge(last.Origin, w.Origin)) >= 0 {
					t.Errorf("%s: %s stands before %s", f.Name, formatOrigin(last), formatOrigin(w))
				}
				last = w
			}
		}
	})
}

// TestNothingIsLost: every value that a block writes holds, is beaten, or is dropped; but for blocks that do not
// merge (S14), and what is dropped where the session is off.
func TestNothingIsLost(t *testing.T) {
	everyRound(t, func(t *testing.T, r randomRound) {
		e := Merge(r.blocks)
		reported := map[string]bool{}
		for _, f := range e.Fields {
			for _, w := range append(f.Overrides, f.FieldValue) {
				reported[w.Origin.String()+" "+w.Path] = true
			}
		}
		for _, d := range e.Ignored {
			reported[d.Origin.String()+" "+d.Path] = true
		}
		for _, b := range r.blocks {
			for i := range fieldTable {
				w, _ := fieldTable[i].readBlock(&b)
				if w != nil && e.On && b.Level != BackendTraffic && !reported[w.Origin.String()+" "+w.Path] {
					t.Errorf("nothing is said of %s", formatOrigin(*w))
				}
			}
		}
	})
}

// mergeNaively is precedence in its simplest form, for one field that nothing contradicts: of all blocks that write it,
// the strongest level, then the oldest, then the first by name. XBackendTrafficPolicies are left out by the caller.
func mergeNaively(blocks []SettingsBlock, field string, write func(*sessionSettings) any) any {
	var best *SettingsBlock
	for i := range blocks {
		b := &blocks[i]
		if write(b.Settings) == nil && !slices.Contains(b.Settings.Unset, v1alpha1.FieldPath(field)) {
			continue
		}
		if best == nil || b.Level < best.Level || b.Level == best.Level && precedes(b.Origin, best.Origin) {
			best = b
		}
	}
	if best == nil {
		return nil
	}
	return write(best.Settings)
}

func precedes(a, b object.Origin) bool {
	const never = 1 << 40
	when := func(s object.Origin) int64 {
		if s.Created.IsZero() {
			return never
		}
		return s.Created.Unix()
	}
	return when(a) < when(b) || when(a) == when(b) && a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
}

// TestAgainstNaive compares with precedence in its simplest form, and with those of S9 for on and off.
func TestAgainstNaive(t *testing.T) {
	everyRound(t, func(t *testing.T, r randomRound) {
		r.blocks = slices.DeleteFunc(r.blocks, func(b SettingsBlock) bool { return b.Level == BackendTraffic })
		e := Merge(r.blocks)
		status, _ := mergeNaively(r.blocks, "failStatus", func(s *sessionSettings) any {
			if s.FailStatus == nil {
				return nil
			}
			return int(*s.FailStatus)
		}).(int)
		if status == 0 {
			status = 503
		}
		if f := e.Field("failStatus"); f != nil && f.Value != status {
			t.Errorf("failStatus is %v, want %d", f.Value, status)
		}
		if on := isOnNaively(r.blocks); e.On != on {
			t.Errorf("on is %t, want %t:\n%s", e.On, on, dumpEffective(&e))
		}
	})
}

func isOnNaively(blocks []SettingsBlock) bool {
	var says []SettingsBlock
	for _, b := range blocks {
		if b.Settings.Disabled == nil {
			if b.Level.IsOverride() {
				continue
			}
			on := false
			b.Settings = &sessionSettings{Disabled: &on}
		}
		says = append(says, b)
	}
	off, _ := mergeNaively(says, fieldDisabled, func(s *sessionSettings) any { return *s.Disabled }).(bool)
	return len(blocks) > 0 && !off
}

// completePolicy gives a policy as the compiler would: names and paths that no block writes are made up.
func completePolicy(e *Effective) policyconfig.Policy {
	name, named := e.SessionName()
	if !named {
		name = "x-generated"
	}
	path, written := e.CookiePath()
	if !written {
		path = "/"
	}
	return e.BuildPolicy(PolicyIdentity{Name: "p", Scope: "s", Routes: []string{"r"}, SessionName: name, CookiePath: path})
}

func pluginTakes(p policyconfig.Policy) error {
	config := policyconfig.DefaultConfig()
	config.Policies = []policyconfig.Policy{p}
	_, err := policyconfig.Marshal(config)
	return err
}

// TestPluginTakesAll: blocks that are good by themselves make a policy that the plugin takes, whatever their values
// do to each other. So the list of contradictions (S12) is complete.
func TestPluginTakesAll(t *testing.T) {
	everyRound(t, func(t *testing.T, r randomRound) {
		e := Merge(r.blocks)
		if err := pluginTakes(completePolicy(&e)); err != nil {
			t.Errorf("%v:\n%s", err, dumpEffective(&e))
		}
	})
}

// TestNothingIsLeftOutInVain: a value that is left out would, in place of what holds instead, break the policy. So
// the list of contradictions is not too long.
func TestNothingIsLeftOutInVain(t *testing.T) {
	tried := 0
	everyRound(t, func(t *testing.T, r randomRound) {
		e := Merge(r.blocks)
		for _, d := range e.Ignored {
			if d.Rule != "S12" {
				continue
			}
			tried++
			p := completePolicy(&e)
			fieldTable[fieldIndex[d.Field]].apply(&p, d.Value)
			if err := pluginTakes(p); err == nil {
				t.Errorf("%s: the plugin takes it", d.Message())
			}
		}
	})
	if tried < 300 {
		t.Errorf("only %d values were left out", tried)
	}
}

// TestWeakerChangesNothing: a block on the last level takes no value away from another, and does not switch off, as
// long as it does not decide the type or cut the idle timeout.
func TestWeakerChangesNothing(t *testing.T) {
	everyRound(t, func(t *testing.T, r randomRound) {
		more := r.blocks[r.IntN(len(r.blocks))]
		more.Level, more.Origin = BuiltIn-1, object.Origin{Ref: object.Ref{Kind: "SessionPersistencePolicy", Namespace: "zzz", Name: "zzz"}}
		before, after := Merge(r.blocks), Merge(append(slices.Clone(r.blocks), more))
		if f := before.Field(fieldDisabled); len(before.Fields) == 0 || f.Level == BuiltIn || before.Type() != after.Type() {
			return
		}
		for _, f := range before.Fields {
			now := after.Field(f.Name)
			if f.Level != BuiltIn && f.Name != fieldIdle && !reflect.DeepEqual(f.FieldValue, now.FieldValue) {
				t.Errorf("%s was %s, now %s", f.Name, formatOrigin(f.FieldValue), formatOrigin(now.FieldValue))
			}
		}
		if before.On != after.On {
			t.Error("on has changed")
		}
	})
}
