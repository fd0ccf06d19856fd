package admission

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"archive/zip"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the files that the tests compare with")

// moduleVersions are the releases that the generations' CRDs come from.
var moduleVersions = map[Generation]string{Gateway16: "v1.6.3", Gateway17: "v1.7.0"}

// kindsRead are the kinds whose CRDs the package carries; both releases have them all.
var kindsRead = []string{
	"GatewayClass", "Gateway", "HTTPRoute", "GRPCRoute", "ListenerSet", "ReferenceGrant", "BackendTLSPolicy",
	"XBackend", "XBackendTrafficPolicy",
}

// TestCRDsAreTheReleasedOnes holds crds/ to the CRDs of the released modules, without their descriptions.
func TestCRDsAreTheReleasedOnes(t *testing.T) {
	for gen, folder := range map[Generation]string{Gateway16: "crds/1.6", Gateway17: "crds/1.7"} {
		want := map[string][]byte{}
		for _, text := range releasedCRDs(t, gen) {
			name, packed := pack(t, text)
			want[name+".json"] = packed
		}
		if len(want) != len(kindsRead) {
			t.Fatalf("%s: found %d CRDs of the %d kinds", gen, len(want), len(kindsRead))
		}
		if *update {
			rewrite(t, folder, want)
		}
		compareFolder(t, folder, want)
	}
}

func rewrite(t *testing.T, folder string, want map[string][]byte) {
	t.Helper()
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func compareFolder(t *testing.T, folder string, want map[string][]byte) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(want) {
		t.Errorf("%s holds %d files, want %d", folder, len(files), len(want))
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s/%s is not the released CRD (%v); run compiler/admission/update.sh", folder, name, err)
		}
	}
}

// releasedCRDs gives the CRDs of the kinds that limpet reads, as released, in order of their file names.
func releasedCRDs(t *testing.T, gen Generation) [][]byte {
	t.Helper()
	module := "sigs.k8s.io/gateway-api@" + moduleVersions[gen]
	archive, err := zip.OpenReader(moduleZip(t, module))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	names, err := fs.Glob(archive, module+"/config/crd/experimental/gateway.networking.*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crds [][]byte
	for _, name := range names {
		text := readZipped(t, archive, name)
		var crd struct {
			Spec struct{ Names struct{ Kind string } }
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(kindsRead, crd.Spec.Names.Kind) {
			crds = append(crds, text)
		}
	}
	return crds
}

func readZipped(t *testing.T, archive *zip.ReadCloser, name string) []byte {
	t.Helper()
	file, err := archive.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// moduleZip gives a module's zip in the module cache. The go command fails on 1.7.0, which wants a newer Go than
// ours, but brings the zip all the same.
func moduleZip(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	var info struct{ Zip, Error string }
	if json.Unmarshal(out, &info) != nil || info.Zip == "" {
		t.Fatalf("go mod download %s: %v %s", module, err, info.Error)
	}
	return info.Zip
}

// pack gives a CRD as the package carries it, and its kind's name.
func pack(t *testing.T, text []byte) (string, []byte) {
	t.Helper()
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	spec := crd["spec"].(map[string]any)
	for _, v := range spec["versions"].([]any) {
		dropDescriptions(v.(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any))
	}
	packed, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	gk := schema.GroupKind{Group: spec["group"].(string), Kind: spec["names"].(map[string]any)["kind"].(string)}
	return gk.String(), append(packed, '\n')
}

// dropDescriptions removes the descriptions of a schema, but not properties of that name.
func dropDescriptions(s map[string]any) {
	delete(s, "description")
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, p := range properties {
			dropDescriptions(p.(map[string]any))
		}
	}
	for _, key := range []string{"items", "additionalProperties", "not"} {
		if below, ok := s[key].(map[string]any); ok {
			dropDescriptions(below)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, below := range asList(s[key]) {
			dropDescriptions(below.(map[string]any))
		}
	}
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// TestEveryCRDCompiles compiles every version of every CRD with its rules, which New and Admit do lazily.
func TestEveryCRDCompiles(t *testing.T) {
	for gen, r := range releases {
		files, err := crds.ReadDir(r.folder)
		if err != nil || len(files) != len(kindsRead) {
			t.Fatalf("%s: %d files, %v", gen, len(files), err)
		}
		for _, file := range files {
			d := r.definition(schema.ParseGroupKind(strings.TrimSuffix(path.Base(file.Name()), ".json")))
			if d == nil || len(d.versions) == 0 {
				t.Fatalf("%s: %s serves no version", gen, file.Name())
			}
			for name, v := range d.versions {
				if v.structural == nil || v.schema == nil || (v.rules() == nil) != (d.kind.Kind == "ReferenceGrant") {
					t.Errorf("%s: %s %s is incomplete", gen, d.kind, name)
				}
			}
		}
	}
}
