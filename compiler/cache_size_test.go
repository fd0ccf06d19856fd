package compiler

import (
	"reflect"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
)

// TestCacheSizes shows that a cache keeps no more than the last compilation needed, and that one that failed takes nothing
// away from the steps that it did not reach.
func TestCacheSizes(t *testing.T) {
	for _, served := range []*Served{nil, {Together: true}} {
		compile := func(cache *Cache, sources []Source) error {
			_, err := Compile(sources, Options{HoldInvalid: true, Envoy: &EnvoyOptions{ModulePath: "w", Served: served}, Cache: cache})
			return err
		}
		few, many := scaletest.MakeRoutes(10), scaletest.MakeRoutes(40)
		broken := append(scaletest.MakeRoutes(10), Source{Name: "broken.yaml", Data: []byte("kind: [")})
		fresh, cache := NewCache(), NewCache()
		if err := compile(fresh, few); err != nil {
			t.Fatal(err)
		}
		for _, sources := range [][]Source{many, few} {
			if err := compile(cache, sources); err != nil {
				t.Fatal(err)
			}
		}
		want := fresh.Sizes()
		if got := cache.Sizes(); !reflect.DeepEqual(got, want) {
			t.Errorf("after fewer routes: %v\nfrom scratch: %v", got, want)
		}
		if err := compile(cache, broken); err == nil {
			t.Fatal("a broken document is no error")
		}
		if got := cache.Sizes(); !reflect.DeepEqual(got, want) {
			t.Errorf("after a compilation that failed: %v\nbefore: %v", got, want)
		}
		checkSizes(t, want)
	}
}

// checkSizes checks that every step has a name of its own, and that most have kept something.
func checkSizes(t *testing.T, sizes []StepSize) {
	t.Helper()
	seen, filled := map[string]bool{}, 0
	for _, s := range sizes {
		if s.Step == "" || seen[s.Step] {
			t.Errorf("the name %q is empty or comes twice", s.Step)
		}
		seen[s.Step] = true
		if s.Entries > 0 {
			filled++
		}
	}
	if filled < 10 {
		t.Errorf("only %d steps have kept something: %v", filled, sizes)
	}
}
