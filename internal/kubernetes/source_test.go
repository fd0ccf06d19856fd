package kubernetes

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/limpet-proxy/limpet/compiler"
)

// TestSources changes a few objects, or many, between two looks at all of them. What was given before does not change.
func TestSources(t *testing.T) {
	random, s := rand.New(rand.NewPCG(18, 1)), NewSource(nil, nil)
	there := map[string]string{}
	for round := range 60 {
		before := s.Sources()
		kept := slices.Clone(before.Slice())
		for range []int{0, 1, 3, 500}[round%4] {
			name := fmt.Sprintf("o-%d", random.IntN(1000))
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
		now := s.Sources().Slice()
		if !slices.EqualFunc(before.Slice(), kept, isSame) {
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

// TestWrittenStatus: what limpet writes into a status is known at once, and the event that tells of it is no news, whichever of the
// answer and the event comes first. What others write meanwhile is.
func TestWrittenStatus(t *testing.T) {
	service := schema.GroupKind{Kind: "Service"}
	seen := func(version, status string) *object {
		return &object{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "o", ResourceVersion: version}, text: []byte("{}"), status: []byte(status),
		}
	}
	written := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "2"}, "status": map[string]any{"is": "2"}}}
	for name, c := range map[string]struct {
		answer  *unstructured.Unstructured
		before  []*object // events before the answer
		after   []*object
		status  string
		changes bool
	}{
		"the answer first":          {written, nil, []*object{seen("2", `{"is":"2"}`)}, `{"is":"2"}`, false},
		"no event yet":              {written, nil, nil, `{"is":"2"}`, false},
		"the event first":           {written, []*object{seen("2", `{"is":"2"}`)}, nil, `{"is":"2"}`, false},
		"another's after it":        {written, []*object{seen("2", `{"is":"2"}`), seen("3", `{"is":"3"}`)}, nil, `{"is":"3"}`, true},
		"another's after the event": {written, nil, []*object{seen("2", `{"is":"2"}`), seen("3", `{"is":"3"}`)}, `{"is":"3"}`, true},
		"it is refused for another": {nil, []*object{seen("3", `{"is":"3"}`)}, nil, `{"is":"3"}`, true},
		"it is refused":             {nil, nil, nil, `{"is":"1"}`, false},
	} {
		s := NewSource(nil, nil)
		first := seen("1", `{"is":"1"}`)
		s.set(t.Context(), service, first)
		s.expectStatus("Service/shop/o")
		for _, o := range c.before {
			s.set(t.Context(), service, o)
		}
		s.noteStatus("Service/shop/o", first, c.answer)
		for _, o := range c.after {
			s.set(t.Context(), service, o)
		}
		if got := string(s.objects["Service/shop/o"].status); got != c.status || len(s.written) > 0 != c.changes {
			t.Errorf("%s: the status is %s, news %v; want %s, %v", name, got, len(s.written) > 0, c.status, c.changes)
		}
		if some := s.takeRestated(); len(some) > 0 != c.changes || c.changes && some[0].String() != "Service shop/o" || len(s.takeRestated()) > 0 {
			t.Errorf("%s: others have written into %v", name, some)
		}
	}
}

// TestHooks holds that hooks are called for each change of their kinds, but not of statuses: the number of a Gateway's proxies changes nothing
// that is served, and no status.
func TestHooks(t *testing.T) {
	s, calls := NewSource(nil, nil), 0
	s.addHook(func() { calls++ }, proxyConfigKind)
	config := func(text, status string) *object {
		return &object{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "o"}, text: []byte(text), status: []byte(status)}
	}
	for i, c := range []struct {
		kind schema.GroupKind
		o    *object
		want int
	}{
		{proxyConfigKind, config("2", ""), 1},
		{proxyConfigKind, config("5", ""), 2},
		{proxyConfigKind, config("5", "{}"), 2},
		{gatewayKind, config("5", ""), 2},
	} {
		if s.set(t.Context(), c.kind, c.o); calls != c.want {
			t.Errorf("after change %d: %d calls, want %d", i, calls, c.want)
		}
	}
	s.Touch()
	if s.remove(t.Context(), proxyConfigKind, config("5", "{}")); calls != 4 {
		t.Errorf("%d calls in all", calls)
	}
}
