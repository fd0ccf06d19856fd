package compiler

import (
	"bytes"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/compiler/admission"
)

// minIstioGoldens is how many cases write resources for Istio at least.
const minIstioGoldens = 12

// TestIstioDocumentsAreAdmitted holds every document of every case to Istio's CRDs, their schema and their rules.
// Istio's own validators have a module of their own (e2e/istio).
func TestIstioDocumentsAreAdmitted(t *testing.T) {
	server, err := admission.New(admission.Gateway16)
	if err != nil {
		t.Fatal(err)
	}
	eachOutput(t, ".istio.yaml", minIstioGoldens, func(file string, text []byte) {
		for _, part := range bytes.Split(text, []byte("\n---\n")) {
			var object map[string]any
			if err := yaml.Unmarshal(part, &object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if object == nil || object["kind"] == "Service" {
				continue // no sessions, or a kind without a CRD
			}
			for _, e := range server.Admit(convertWholeNumbers(object).(map[string]any)) {
				t.Errorf("%s: %s %s: %v", file, object["kind"], object["metadata"], e)
			}
		}
	})
}

// convertWholeNumbers makes whole numbers of those that JSON has.
func convertWholeNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = convertWholeNumbers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = convertWholeNumbers(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return value
}
