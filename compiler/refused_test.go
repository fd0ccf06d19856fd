package compiler

import (
	"slices"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api"
	"github.com/limpet-proxy/limpet/internal/compiler/admission"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// TestCheckSaysWhatServersRefuse has the API server of each release judge every document of the goldens, by the CRDs of Gateway API and of
// limpet, in the words that a real one has (TestVerdicts of package admission). Of what it refuses a check for that release says so, and
// names the field.
//
// requirements: S19, S20, S21
func TestCheckSaysWhatServersRefuse(t *testing.T) {
	refused := 0
	for _, release := range []admission.APIRelease{admission.Gateway16, admission.Gateway17} {
		server, err := admission.New(release, api.CRDs()...)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range loadGoldens(t) {
			if g.parseOptions(t).AssumeAdmitted {
				continue
			}
			documents := parseObjects(string(g.source.Data))
			var rows []status.Row
			for _, o := range documents {
				kind, _ := o["kind"].(string)
				meta, _ := o["metadata"].(map[string]any)
				name, named := meta["name"].(string)
				if !named {
					continue // no other object can be meant
				}
				for _, e := range server.Admit(o) {
					if strings.HasPrefix(e.Detail, "no matches for kind") || e.Field == "<nil>" {
						continue // it is none of the CRDs', or says that there are other errors
					}
					if refused++; rows == nil {
						rows = checkProblems(t, g, string(release))
					}
					if !isReported(rows, kind, name, e) {
						t.Errorf("%s: an API server with Gateway API %s refuses %s %s: %v; a check says %v", g.name, release, kind, name, e, rows)
					}
				}
			}
		}
	}
	if refused < 50 {
		t.Errorf("only %d refusals in all of the goldens", refused)
	}
}

// parseObjects reads the objects of a text, those that can be read.
func parseObjects(text string) (all []map[string]any) {
	for _, document := range strings.Split(text, "\n---\n") {
		data, err := yaml.YAMLToJSONStrict([]byte(document))
		var o map[string]any
		if err == nil && utiljson.Unmarshal(data, &o) == nil && o["kind"] != nil {
			all = append(all, o)
		}
	}
	return all
}

// checkProblems is what a check for a release refuses, and warns of.
func checkProblems(t *testing.T, g golden, release string) []status.Row {
	t.Helper()
	o := g.parseOptions(t)
	o.GatewayAPI = release
	checked, err := Check([]Source{g.source}, o)
	if err != nil {
		t.Fatalf("%s: %v", g.name, err)
	}
	return slices.DeleteFunc(checked.Rows, func(r status.Row) bool { return !r.Verdict.AtLeast(Warning) })
}

// isReported tells whether something is said of an object's field, or of what it is in or has.
func isReported(rows []status.Row, kind, name string, e *field.Error) bool {
	return slices.ContainsFunc(rows, func(r status.Row) bool {
		_, of, _ := strings.Cut(r.Object, " ")
		return strings.HasPrefix(r.Object, kind+" ") && (of == name || strings.HasSuffix(of, "/"+name)) &&
			(strings.HasPrefix(e.Field, r.Path) || strings.HasPrefix(r.Path, e.Field))
	})
}
