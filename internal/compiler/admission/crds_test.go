package admission

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the files that the tests compare with")

// sources are the releases that the generations' CRDs come from, with the sums of their modules.
var sources = map[APIRelease]struct{ version, sum string }{
	Gateway16: {"v1.6.3", "h1:lKpJa5bGlraC/QeACvCpsHLdmO6y0iKfzVl6gzaFEYc="},
	Gateway17: {"v1.7.0", "h1:duVnm7nO6oXfMMUWfcDoBph47CYR/ME3NGxccOVglaY="},
}

// kindsRead are the kinds whose CRDs the package carries; both releases have them all.
var kindsRead = []string{
	"GatewayClass", "Gateway", "HTTPRoute", "GRPCRoute", "ListenerSet", "ReferenceGrant", "BackendTLSPolicy",
	"TLSRoute", "TCPRoute", "UDPRoute", "XBackend", "XBackendTrafficPolicy",
}

const sumsFile = "testdata/crds.sha256"

// TestCRDsAreTheReleasedOnes holds crds/ to the CRDs of the released modules, without their descriptions. A module
// that is not in the module cache is not fetched here; TestCRDsAreAsRecorded holds then.
func TestCRDsAreTheReleasedOnes(t *testing.T) {
	for apiRelease, r := range releases {
		texts, err := releasedCRDs(apiRelease)
		if errors.Is(err, errNotCached) && !*update {
			t.Log(err)
			continue
		}
		if err != nil || len(texts) != len(kindsRead) {
			t.Fatalf("%s: found %d CRDs of the %d kinds: %v", apiRelease, len(texts), len(kindsRead), err)
		}
		want := map[string][]byte{}
		for _, text := range texts {
			name, packed := packCRD(t, text)
			want[name+".json"] = packed
		}
		if *update {
			rewriteFolder(t, r.folder, want)
		}
		compareFolder(t, r.folder, want)
	}
}

// TestCRDsAreAsRecorded holds the CRDs inside the program to the sums taken when they were written.
func TestCRDsAreAsRecorded(t *testing.T) {
	var sums strings.Builder
	err := fs.WalkDir(crdFiles, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := crdFiles.ReadFile(file)
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(sumsFile, []byte(sums.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(sumsFile)
	if err != nil || sums.String() != string(want) {
		t.Errorf("the CRDs have these sums, not those of %s (%v):\n%s", sumsFile, err, sums.String())
	}
}

func rewriteFolder(t *testing.T, folder string, want map[string][]byte) {
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
			t.Errorf("%s/%s is not the released CRD (%v); run internal/compiler/admission/update.sh", folder, name, err)
		}
	}
}

// releasedCRDs gives the CRDs of the kinds that limpet reads, as released, in order of their file names.
func releasedCRDs(apiRelease APIRelease) ([][]byte, error) {
	module, file, err := moduleZip(apiRelease)
	if err != nil {
		return nil, err
	}
	archive, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	names, err := fs.Glob(archive, module+"/config/crd/experimental/gateway.networking.*.yaml")
	if err != nil {
		return nil, err
	}
	var found [][]byte
	for _, name := range names {
		text, err := fs.ReadFile(archive, name)
		if err != nil {
			return nil, err
		}
		var crd struct {
			Spec struct{ Names struct{ Kind string } }
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return nil, err
		}
		if slices.Contains(kindsRead, crd.Spec.Names.Kind) {
			found = append(found, text)
		}
	}
	return found, nil
}

var errNotCached = errors.New("the module cache lacks a release")

// moduleZip gives a release's module and its zip in the module cache, fetched with -update only. The go command
// fails on 1.7.0, which wants a newer Go than ours, but names the zip all the same.
func moduleZip(apiRelease APIRelease) (module, file string, err error) {
	module = "sigs.k8s.io/gateway-api@" + sources[apiRelease].version
	download := exec.Command("go", "mod", "download", "-json", module)
	if !*update {
		download.Env = append(os.Environ(), "GOPROXY=off")
	}
	info, err := downloadInfo(download, module, sources[apiRelease].sum)
	return module, info.Zip, err
}

// moduleInfo is what the go command says of a download.
type moduleInfo struct{ Zip, Dir, Sum, Error string }

func downloadInfo(download *exec.Cmd, module, sum string) (moduleInfo, error) {
	out, failure := download.Output()
	var info moduleInfo
	switch err := json.Unmarshal(out, &info); {
	case err != nil || info.Zip == "":
		return moduleInfo{}, fmt.Errorf("%w: %s: %w %s", errNotCached, module, failure, info.Error)
	case info.Sum != sum:
		return moduleInfo{}, fmt.Errorf("%s has the sum %s", module, info.Sum)
	}
	return info, nil
}

// packCRD gives a CRD as the package carries it, and its kind's name.
func packCRD(t *testing.T, text []byte) (string, []byte) {
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
	for apiRelease, r := range releases {
		files, err := crdFiles.ReadDir(r.folder)
		if err != nil || len(files) != len(kindsRead) {
			t.Fatalf("%s: %d files, %v", apiRelease, len(files), err)
		}
		for _, file := range files {
			d := r.findDefinition(schema.ParseGroupKind(strings.TrimSuffix(path.Base(file.Name()), ".json")))
			if d == nil || len(d.versions) == 0 {
				t.Fatalf("%s: %s serves no version", apiRelease, file.Name())
			}
			for name, v := range d.versions {
				if v.structural == nil || v.schema == nil || (v.rules.all() == nil) != (d.kind.Kind == "ReferenceGrant") {
					t.Errorf("%s: %s %s is incomplete", apiRelease, d.kind, name)
				}
			}
		}
	}
}
