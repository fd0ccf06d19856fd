package seniority

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// written is an object that stands somewhere.
type written struct {
	namespace, name string
	created         int64
	file            string
	line            int
}

func (w written) Origin() object.Origin {
	o := object.Origin{Ref: object.Ref{Kind: object.KindGateway, Namespace: w.namespace, Name: w.name}}
	if w.created > 0 {
		o.Created = time.Unix(w.created, 0)
	}
	return o
}

func (w written) Locate(string) (string, int) { return w.file, w.line }

func orderOf(files []string, all []written) *Order {
	return New(func() []string { return files }, func(visit func(Subject)) {
		for _, w := range all {
			visit(w)
		}
	})
}

// TestOrder: the creation time decides, then the place of the namespace, then the name; and a namespace is not first by its
// name or by its file's.
func TestOrder(t *testing.T) {
	files := []string{"infra.yaml", "a.yaml", "0.yaml"}
	want := []written{
		{"late", "dated", 100, "0.yaml", 9},
		{"late", "later", 200, "0.yaml", 1},
		{"shop", "a", 0, "a.yaml", 50},
		{"shop", "b", 0, "infra.yaml", 7},
		{"b", "z", 0, "infra.yaml", 8},
		{"a", "a", 0, "a.yaml", 1},
		{"0b", "a", 0, "0.yaml", 2},
	}
	order := orderOf(files, want)
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		got := slices.Clone(want)
		random.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		slices.SortFunc(got, func(a, b written) int { return order.Compare(a.Origin(), b.Origin()) })
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// TestOrderIsTotal: of three objects none goes before itself by way of the others.
func TestOrderIsTotal(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		all := make([]written, 3)
		for i := range all {
			all[i] = written{
				string(rune('a' + random.IntN(3))), string(rune('a' + random.IntN(3))), int64(random.IntN(3)),
				string(rune('x' + random.IntN(2))), random.IntN(3),
			}
		}
		order := orderOf([]string{"y", "x"}, all)
		before := func(i, j int) bool { return order.Compare(all[i].Origin(), all[j].Origin()) < 0 }
		if before(0, 1) && before(1, 2) && !before(0, 2) {
			t.Fatalf("%v: a circle", all)
		}
	}
}
