package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the files that the tests compare with")

// TestSchemasAreTheReleasedOnes holds crds/ to the CRDs of the gateway-api module that go.mod names,
// without their descriptions.
func TestSchemasAreTheReleasedOnes(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	released := filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "experimental")
	for _, name := range []string{"gatewayclasses", "gateways", "httproutes"} {
		want := releasedSchema(t, filepath.Join(released, "gateway.networking.k8s.io_"+name+".yaml"))
		file := filepath.Join("crds", name+".json")
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from the released CRD; run go test ./compiler/schema -update", file)
		}
	}
}

// releasedSchema gives the schema of version v1 as JSON, and requires the other versions to have the same one.
func releasedSchema(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string `json:"name"`
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	first := crd.Spec.Versions[0]
	if first.Name != "v1" {
		t.Fatalf("%s: the first version is %s", file, first.Name)
	}
	dropDescriptions(first.Schema.OpenAPIV3Schema)
	for _, v := range crd.Spec.Versions[1:] {
		dropDescriptions(v.Schema.OpenAPIV3Schema)
		if !reflect.DeepEqual(v.Schema, first.Schema) {
			t.Errorf("%s: version %s differs from v1", file, v.Name)
		}
	}
	out, err := json.MarshalIndent(first.Schema.OpenAPIV3Schema, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// dropDescriptions takes out the prose, which is most of a CRD and no part of what it means.
func dropDescriptions(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, isText := s["description"].(string); isText {
			delete(s, "description")
		}
		for _, v := range s {
			dropDescriptions(v)
		}
	case []any:
		for _, v := range s {
			dropDescriptions(v)
		}
	}
}
