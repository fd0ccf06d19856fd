package controller

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// sessionText has a route with a session.
var sessionText = strings.Replace(goodText, "backendRefs:", "name: pay, sessionPersistence: {sessionName: PAY}, backendRefs:", 1)

// TestEnded: an edit that ends sessions, or a key that retires, is told of in the log and in the route's status, for a day, after which
// statuses are asked for again.
func TestEnded(t *testing.T) {
	warm, _ := newController(t)
	if _, err := compiler.Compile([]compiler.Source{{Name: "a.yaml", Data: []byte(sessionText)}}, warm.options(Input{})); err != nil { // what compilers share is made outside
		t.Fatal(err)
	}
	ring := keyfile.NewRing("k")
	for name, edit := range map[string]struct {
		text  string
		ring  policyconfig.KeyRing
		want  string
		place string
	}{
		"a rule is renamed": {
			strings.Replace(sessionText, "name: pay", "name: paid", 1), ring,
			`the sessions of a rule ended: spec.rules: no rule is named "pay" any more`, "a.yaml:8: ",
		},
		"another key": {
			sessionText, keyfile.NewRing("next"),
			`the sessions of a rule ended: the key "k", with which they may be signed, is in the ring no more`, "",
		},
		"a key more": {sessionText, policyconfig.KeyRing{Keys: append(keyfile.NewRing("next").Keys, ring.Keys...)}, "", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := newController(t)
			asked := 0
			c.Notify = func() { asked++ }
			take := func(text string, ring policyconfig.KeyRing) *pass {
				p, _ := takeInput(t, c, Input{Keys: policyconfig.Keys{Ring: &ring}, Ring: ring, Sources: read.NewList(compiler.Source{Name: "a.yaml", Data: []byte(text)})})
				return p
			}
			var current json.RawMessage
			reported := func() string {
				checked, err := c.Statuses(func(object.Ref) json.RawMessage { return current }, nil, false)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range checked.Objects {
					if text, err := json.Marshal(o.Status); err == nil && o.Kind == "HTTPRoute" {
						current = text
					}
				}
				_, rest, _ := strings.Cut(string(current), v1alpha1.ConditionSessionsEnded)
				return rest
			}
			if take(sessionText, ring); reported() != "" {
				t.Errorf("%s: before the edit it says %s", name, reported())
			}
			asked = 0
			p := take(edit.text, edit.ring)
			if want := edit.want != ""; (asked > 0) != (want || name == "a rule is renamed") || len(p.ended) > 0 != want {
				t.Errorf("%s: statuses are asked for %d times, and it says %q", name, asked, p.ended)
			}
			if edit.want == "" {
				return
			}
			want := edit.place + "HTTPRoute a/r: " + edit.want + "; once the edit is taken back, those of clients that have not come since go on"
			if got := p.ended[0].String(); got != want || p.ended[0].Code != report.SessionsEnd {
				t.Errorf("%s: it says %q, want %q", name, got, want)
			}
			if text, err := json.Marshal(edit.want); err != nil || !strings.Contains(reported(), string(text)) {
				t.Errorf("%s: the route has %s", name, current)
			}
			asked = 0
			time.Sleep(compiler.TellEnded - 2*time.Second)
			if synctest.Wait(); asked > 0 || reported() == "" {
				t.Errorf("%s: before a day is over statuses are asked for %d times, and it says %q", name, asked, reported())
			}
			time.Sleep(2 * time.Second)
			if synctest.Wait(); asked != 1 || reported() != "" || len(c.Ended()) > 0 {
				t.Errorf("%s: after a day statuses are asked for %d times, and it says %q", name, asked, reported())
			}
		})
	}
}
