package compiler

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/admission"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// minManifests is how many golden manifests there are for Envoy Gateway at least.
const minManifests = 14

// TestEnvoyGatewayManifests puts every document of the golden manifests to the schemas and CEL rules of the CRDs that an
// API server with Envoy Gateway has: Gateway API's, and its own, which e2e/envoygateway holds to the module's.
func TestEnvoyGatewayManifests(t *testing.T) {
	server, err := admission.New(admission.Gateway16, envoyGatewayCRDs(t)...)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.envoy-gateway.yaml"))
	if err != nil || len(files) < minManifests {
		t.Fatalf("%d manifests, want at least %d; %v", len(files), minManifests, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rep report.Report
		for _, doc := range read.ReadDocuments([]Source{{Name: filepath.Base(file), Data: data}}, &rep) {
			for _, problem := range server.Admit(doc.Fields) {
				t.Errorf("%s: %s: %v", file, doc, problem)
			}
		}
		for _, problem := range rep.Errors(true) {
			t.Error(problem)
		}
	}
}

// TestEnvoyGatewayCRDsRefuse shows that the CRDs have a say: a manifest with one word changed is refused.
func TestEnvoyGatewayCRDsRefuse(t *testing.T) {
	server, err := admission.New(admission.Gateway16, envoyGatewayCRDs(t)...)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join("testdata", "eg-cart.envoy-gateway.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for right, wrong := range map[string]string{
		"after: envoy.filters.http.wasm":                "after: envoy.filters.http.router",
		"type: JSONPatch":                               "type: YAMLPatch",
		"earlyRequestHeaders:":                          "earliestRequestHeaders:",
		"mergeType: StrategicMerge\n  targetRefs:":      "mergeType: Replace\n  targetRefs:",
		"sessionName: x-limpet-pin\n      type: Header": "sessionName: x-limpet-pin\n      type: Head",
	} {
		changed := bytes.Replace(data, []byte(right), []byte(wrong), 1)
		if bytes.Equal(changed, data) {
			t.Errorf("the manifest has no %q", right)
		}
		problems := 0
		for _, doc := range read.ReadDocuments([]Source{{Name: "changed.yaml", Data: changed}}, &report.Report{}) {
			problems += len(server.Admit(doc.Fields))
		}
		if problems == 0 {
			t.Errorf("nothing refuses %q", wrong)
		}
	}
}

func envoyGatewayCRDs(t *testing.T) [][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "internal", "compiler", "emit", "envoygateway", "testdata", "crds", "*.json.gz"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d CRDs, %v", len(files), err)
	}
	var crds [][]byte
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		unzipped, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(unzipped)
		if err != nil {
			t.Fatal(err)
		}
		crds = append(crds, text)
	}
	return crds
}
