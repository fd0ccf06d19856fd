package resource_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// TestNulls holds what null in a policy takes away, and that the owner is told to write unset.
//
// requirements: S7
func TestNulls(t *testing.T) {
	for _, c := range []struct{ fields, unset, advice string }{
		{"idleTimeout: null", "[idleTimeout]", "spec.idleTimeout"},
		{"absoluteTimeoutSeconds: null", "[absoluteTimeout]", "spec.absoluteTimeoutSeconds"},
		{"absoluteTimeoutSeconds: null, absoluteTimeout: 8h", "[]", ""},
		{"cookie: {domain: null, sameSite: Lax}", "[cookie.domain]", "spec.cookie.domain"},
		{"cookie: null", "[cookie]", "spec.cookie"},
		{"header: null, unset: [forward]", "[forward sessionName]", "spec.header"},
		{"forward: null, unset: [forward]", "[forward]", ""},
		{"type: null, disabled: null, default: null", "[]", ""},
		{"disabled: true, forward: null", "[]", ""},
	} {
		text := document(sessionPolicy, `spec: {targetRefs: [{group: "", kind: Service, name: a}], `+c.fields+"}")
		objects, rep := compilertest.TryAdmit(t, resource.Options{}, text)
		if problems := rep.Errors(false); problems != nil || len(objects.SessionPolicies) != 1 {
			t.Fatalf("%s: %v", c.fields, problems)
		}
		if got := fmt.Sprint(objects.SessionPolicies[0].Value.Spec.Unset); got != c.unset {
			t.Errorf("%s takes %s away, want %s", c.fields, got, c.unset)
		}
		var advice []string
		for _, w := range rep.Warnings() {
			advice = append(advice, w.Path)
		}
		if got := strings.Join(advice, " "); got != c.advice {
			t.Errorf("%s: advice at %q, want %q", c.fields, got, c.advice)
		}
	}
}

// TestNullsOfBlocks holds that null counts in each block, and that unknown fields stay unknown.
func TestNullsOfBlocks(t *testing.T) {
	target := `targetRefs: [{group: "", kind: Service, name: a}], `
	objects, _ := compilertest.TryAdmit(t, resource.Options{}, document(sessionPolicy, "spec: {"+target+"default: {forward: null}, override: {cache: {control: null}}}"))
	spec := objects.SessionPolicies[0].Value.Spec
	if fmt.Sprint(spec.Unset, spec.Default.Unset, spec.Override.Unset) != "[] [forward] [cache.control]" {
		t.Errorf("%+v", spec)
	}
	_, rep := compilertest.TryAdmit(t, resource.Options{}, document(sessionPolicy, "spec: {"+target+"idletimeout: null}"))
	if problems := rep.Errors(false); len(problems) != 1 || !strings.HasPrefix(problems[0].Message, "unknown field") {
		t.Errorf("%v", problems)
	}
}
