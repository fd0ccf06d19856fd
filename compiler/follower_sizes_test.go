package compiler

import (
	"reflect"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
)

// TestFollowerSizes shows that a follower keeps no more than its documents need.
func TestFollowerSizes(t *testing.T) {
	o := Options{AllowEmpty: true, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
	few, many := scaletest.MakeRoutes(10), scaletest.MakeRoutes(40)
	unused, used := newFollower(t, o), newFollower(t, o)
	if _, err := unused.Replace(few, Changes{}); err != nil {
		t.Fatal(err)
	}
	for _, sources := range [][]Source{many, few} {
		if _, err := used.Replace(sources, Changes{}); err != nil {
			t.Fatal(err)
		}
	}
	want := unused.state.Sizes()
	if got := used.state.Sizes(); !reflect.DeepEqual(got, want) {
		t.Errorf("after fewer routes: %v\nfrom scratch: %v", got, want)
	}
	if _, err := used.Apply(Changes{Removed: []string{few[0].Name, few[1].Name}}); err != nil {
		t.Fatal(err)
	}
	for what, n := range used.state.Sizes() {
		if n > 0 {
			t.Errorf("without any document %d are kept: %s", n, what)
		}
	}
}
