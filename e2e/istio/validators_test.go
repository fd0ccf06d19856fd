package istio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"istio.io/istio/pkg/config/schema/collections"
)

// general is the one warning that Istio has for every EnvoyFilter, whatever it says.
const general = "EnvoyFilter exposes internal implementation details that may change at any time. Prefer other APIs if possible, and exercise extreme caution, especially around upgrades."

// minCases is how many of the compiler's golden files there are at least.
const minCases = 20

// TestIstioAcceptsEveryDocument holds the compiler's golden files for Istio to Istio's own validators. A warning counts
// as a failure, for that is all they say of a mistake inside an EnvoyFilter; but for the general one.
func TestIstioAcceptsEveryDocument(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "compiler", "testdata", "*.istio.yaml"))
	if err != nil || len(files) < minCases {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	checked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		istio, _ := sorted(t, "", documents(t, string(text)))
		for _, c := range configs(t, istio) {
			schema, known := collections.Istio.FindByGroupVersionAliasesKind(c.GroupVersionKind)
			if !known {
				t.Fatalf("%s: Istio does not know %s", file, c.GroupVersionKind)
			}
			warning, err := schema.ValidateConfig(c)
			if err != nil || warning != nil && warning.Error() != general {
				t.Errorf("%s: %s %s/%s: %v, warning %v", filepath.Base(file), c.GroupVersionKind.Kind, c.Namespace, c.Name, err, warning)
			}
			checked++
		}
	}
	checkMistakes(t)
	if checked < 2*minCases {
		t.Errorf("checked %d documents only", checked)
	}
}

// checkMistakes shows that the validators see a mistake inside a patch.
func checkMistakes(t *testing.T) {
	t.Helper()
	text := strings.Replace(bindLoopback, "{socket_address:", "{socket_adress:", 1)
	for _, c := range configs(t, text) {
		schema, _ := collections.Istio.FindByGroupVersionAliasesKind(c.GroupVersionKind)
		if warning, err := schema.ValidateConfig(c); err == nil && (warning == nil || warning.Error() == general) {
			t.Error("Istio's validator sees no mistake in an EnvoyFilter that has one")
		}
	}
}
