package policy

import (
	"reflect"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// TestEvidence: whatever differs in the evidence, what was found from other evidence is not taken.
func TestEvidence(t *testing.T) {
	others := map[string]func(*ruleInput){
		"hostnames":       func(e *ruleInput) { e.hostnames = []string{"shop.example"} },
		"backends":        func(e *ruleInput) { e.backends = []backend.Identity{{ClientIP: true}} },
		"refusals":        func(e *ruleInput) { e.refusals = []Refusal{{Message: "other"}} },
		"blocksByPath":    func(e *ruleInput) { e.blocksByPath = [][]precedence.SettingsBlock{{{Path: "spec"}}} },
		"blocksByBackend": func(e *ruleInput) { e.blocksByBackend = [][]precedence.SettingsBlock{{}, {}} },

		"lost":       func(e *ruleInput) { e.lost = []object.Ref{{}} },
		"route":      func(e *ruleInput) { e.route = &gateway.Route{} },
		"rule":       func(e *ruleInput) { e.rule = 1 },
		"class":      func(e *ruleInput) { e.class = "other" },
		"gateway":    func(e *ruleInput) { e.gateway.Name = "other" },
		"listener":   func(e *ruleInput) { e.listener = "other" },
		"release":    func(e *ruleInput) { e.release = sessionapi.Release17 },
		"xbackend":   func(e *ruleInput) { e.xbackend = true },
		"perBackend": func(e *ruleInput) { e.perBackend = true },

		"mirrored": func(e *ruleInput) { e.mirrored = true },
	}
	for _, of := range []reflect.Type{reflect.TypeFor[ruleLocation](), reflect.TypeFor[ruleInput]()} {
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
			one, other := newInput(), newInput()
			if !one.Equal(other) {
				t.Fatal("the same evidence is not equal")
			}
			if change(other); one.Equal(other) || other.Equal(one) {
				t.Errorf("with another %s it is taken for the same", f.Name)
			}
		}
	}
}

func newInput() *ruleInput {
	return &ruleInput{
		hostnames: []string{"www.example"}, backends: []backend.Identity{{}}, refusals: []Refusal{{}},
		blocksByPath: [][]precedence.SettingsBlock{{{}}}, blocksByBackend: [][]precedence.SettingsBlock{{}},
	}
}
