package policy

import (
	"reflect"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
)

// TestEvidence: whatever differs in the evidence, what was found from other evidence is not taken.
func TestEvidence(t *testing.T) {
	others := map[string]func(*evidence){
		"hostnames": func(e *evidence) { e.hostnames = []string{"shop.example"} },
		"backends":  func(e *evidence) { e.backends = []backend.Identity{{ClientIP: true}} },
		"refusals":  func(e *evidence) { e.refusals = []Refusal{{Message: "other"}} },
		"ways":      func(e *evidence) { e.ways = [][]ladder.Block{{{Path: "spec"}}} },
		"apart":     func(e *evidence) { e.apart = [][]ladder.Block{{}, {}} },

		"route":      func(e *evidence) { e.route = &gateway.Route{} },
		"rule":       func(e *evidence) { e.rule = 1 },
		"class":      func(e *evidence) { e.class = "other" },
		"gateway":    func(e *evidence) { e.gateway.Name = "other" },
		"listener":   func(e *evidence) { e.listener = "other" },
		"generation": func(e *evidence) { e.generation = ladder.Gen17 },
		"xbackend":   func(e *evidence) { e.xbackend = true },
		"perBackend": func(e *evidence) { e.perBackend = true },
	}
	for _, of := range []reflect.Type{reflect.TypeFor[scene](), reflect.TypeFor[evidence]()} {
		for i := range of.NumField() {
			f := of.Field(i)
			if f.Anonymous {
				continue
			}
			change := others[f.Name]
			if change == nil {
				t.Errorf("no test changes %s", f.Name)
				continue
			}
			one, other := some(), some()
			if !one.equal(other) {
				t.Fatal("the same evidence is not equal")
			}
			if change(other); one.equal(other) || other.equal(one) {
				t.Errorf("with another %s it is taken for the same", f.Name)
			}
		}
	}
}

func some() *evidence {
	return &evidence{
		hostnames: []string{"www.example"}, backends: []backend.Identity{{}}, refusals: []Refusal{{}},
		ways: [][]ladder.Block{{{}}}, apart: [][]ladder.Block{{}},
	}
}
