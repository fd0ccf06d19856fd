package kubernetes

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/limpet-proxy/limpet/compiler"
)

// TestSources changes a few objects, or many, between two looks at all of them. What was given before does not change.
func TestSources(t *testing.T) {
	random, s := rand.New(rand.NewPCG(18, 1)), NewSource(nil, nil)
	there := map[string]string{}
	for round := range 60 {
		before := s.Sources()
		kept := slices.Clone(before)
		for range []int{0, 1, 3, manyTouched * 2}[round%4] {
			name := fmt.Sprintf("o-%d", random.IntN(500))
			o := &object{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, text: fmt.Appendf(nil, "%d", random.IntN(3))}
			if key := "Service/shop/" + name; random.IntN(3) == 0 && there[key] != "" {
				s.remove(t.Context(), schema.GroupKind{Kind: "Service"}, o)
				delete(there, key)
			} else {
				s.set(t.Context(), schema.GroupKind{Kind: "Service"}, o)
				there[key] = string(o.text)
			}
		}
		isSame := func(a, b compiler.Source) bool { return a.Name == b.Name && string(a.Data) == string(b.Data) }
		now := s.Sources()
		if !slices.EqualFunc(before, kept, isSame) {
			t.Fatalf("round %d: what was given has changed", round)
		}
		var want []compiler.Source
		for _, name := range slices.Sorted(maps.Keys(there)) {
			want = append(want, compiler.Source{Name: name, Data: []byte(there[name])})
		}
		if !slices.EqualFunc(now, want, isSame) {
			t.Fatalf("round %d: the sources are %v; want %v", round, now, want)
		}
	}
}
