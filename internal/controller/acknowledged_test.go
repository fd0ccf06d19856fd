package controller

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// TestNotProgrammedBeforeServed: statuses that are written after the first compilation, and before the server has a Gateway, do not say
// that it is Programmed: no Envoy can have acknowledged its listeners.
func TestNotProgrammedBeforeServed(t *testing.T) {
	c, _ := newController(t)
	if _, err := c.compile(Input{Sources: read.NewList(compiler.Source{Name: "a.yaml", Data: []byte(goodText)})}); err != nil {
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

// TestGrace: a Gateway that was Programmed stays so for half a minute without an Envoy, and its status is asked for when that is over.
func TestGrace(t *testing.T) {
	warm, _ := newController(t)
	in := Input{Sources: read.NewList(compiler.Source{Name: "a.yaml", Data: []byte(goodText)})}
	if _, err := compiler.Compile(in.Sources.Slice(), warm.options(in)); err != nil { // what compilers share is made outside
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c, keys := newController(t)
		asked, elsewhere := 0, map[string][]string{}
		c.Grace, c.Notify = DefaultGrace, func() { asked++ }
		c.Elsewhere = func() map[string][]string { return elsewhere }
		apply(t, c, keys, goodText)
		var current json.RawMessage
		expect := func(when, want string) {
			t.Helper()
			checked, err := c.Statuses(func(object.Ref) json.RawMessage { return current }, nil, true)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range checked.Objects {
				if o.Kind != object.KindGateway {
					continue
				}
				if current, err = json.Marshal(o.Status); err != nil {
					t.Fatal(err)
				}
				if n := strings.Count(string(current), `"type":"Programmed","status":"`+want); n != 2 {
					t.Errorf("%s: %d of the Gateway and its listener are %s\n%s", when, n, want, current)
				}
			}
		}
		expect("without an Envoy, and new", `False`)
		elsewhere["a/gw"] = []string{c.Server.Latest("a/gw").Listeners}
		expect("with one", "True")
		delete(elsewhere, "a/gw")
		expect("once it is gone", "True")
		asked = 0
		time.Sleep(30*time.Second - time.Millisecond)
		if synctest.Wait(); asked > 0 {
			t.Errorf("statuses are asked for %d times before the grace is over", asked)
		}
		expect("within the grace", "True")
		time.Sleep(time.Millisecond)
		if synctest.Wait(); asked != 1 {
			t.Errorf("statuses are asked for %d times when it is over", asked)
		}
		expect("after it", "False")
	})
}
