package controller

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// TestNotProgrammedBeforeServed: statuses that are written after the first compilation, and before the server has a Gateway, do not say
// that it is Programmed: no Envoy can have acknowledged its listeners.
func TestNotProgrammedBeforeServed(t *testing.T) {
	c, _ := newController(t)
	if _, err := c.compile(Input{Sources: []compiler.Source{{Name: "a.yaml", Data: []byte(goodText)}}}); err != nil {
		t.Fatal(err)
	}
	checked, err := c.Statuses(func(object.Ref) json.RawMessage { return nil }, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range checked.Objects {
		if o.Kind != object.KindGateway {
			continue
		}
		text, err := json.Marshal(o.Status)
		if err != nil || !strings.Contains(string(text), "no Envoy has connected") {
			t.Errorf("the Gateway has %s, %v", text, err)
		}
		return
	}
	t.Error("the Gateway has no status")
}
