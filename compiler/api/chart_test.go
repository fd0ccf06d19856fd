package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// chartFolder is where the chart has the CRDs: Helm's own folder for them knows no upgrade.
const chartFolder = "../../deploy/chart/limpet/charts/crds/templates"

// TestChartHasCRDs: the chart has each CRD, which stays when the chart goes: with it all policies would.
func TestChartHasCRDs(t *testing.T) {
	files, err := os.ReadDir("crds")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d CRDs, %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join("crds", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		compareGolden(t, filepath.Join(chartFolder, f.Name()), forChart(t, string(text)))
	}
	inChart, err := os.ReadDir(chartFolder)
	if err != nil || len(inChart) != len(files) {
		t.Errorf("the chart has %d CRDs, and the API %d: %v", len(inChart), len(files), err)
	}
}

// forChart adds the annotation by which Helm keeps an object, and hides from Helm what looks like a template.
func forChart(t *testing.T, text string) []byte {
	t.Helper()
	const annotations = "\n  annotations:\n"
	if strings.Count(text, annotations) != 1 {
		t.Fatal("a CRD has no annotations, or more than its own: the chart adds one there")
	}
	text = strings.NewReplacer("{{", `{{ "{{" }}`, "}}", `{{ "}}" }}`).Replace(text)
	return []byte(strings.Replace(text, annotations, annotations+"    helm.sh/resource-policy: keep\n", 1))
}
