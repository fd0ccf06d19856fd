package admission

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// istioModule holds Istio's CRDs, and istioSum is its sum.
const (
	istioModule = "istio.io/api@v1.31.1"
	istioSum    = "h1:5Yb5ihcz4YQsCkciusK7DnFpBMwRB6EFWeUKH1Atuyk="
)

// istioKinds are the kinds whose CRDs the package carries.
var istioKinds = []string{
	"DestinationRule", "EnvoyFilter", "Gateway", "ServiceEntry", "TrafficExtension", "VirtualService", "WasmPlugin",
}

// TestIstioCRDsAreTheReleasedOnes is TestCRDsAreTheReleasedOnes for Istio's.
func TestIstioCRDsAreTheReleasedOnes(t *testing.T) {
	text, err := istioCRDs()
	if errors.Is(err, errNotCached) && !*update {
		t.Log(err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		if name, packed := packCRD(t, document); slices.Contains(istioKinds, strings.Split(name, ".")[0]) {
			want[name+".json"] = packed
		}
	}
	if len(want) != len(istioKinds) {
		t.Fatalf("found %d CRDs of %d kinds", len(want), len(istioKinds))
	}
	if *update {
		rewriteFolder(t, istioFolder, want)
	}
	compareFolder(t, istioFolder, want)
}

func istioCRDs() ([]byte, error) {
	dir, err := moduleFolder(istioModule, istioSum)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "kubernetes", "customresourcedefinitions.gen.yaml"))
}

// TestEveryIstioCRDCompiles compiles every version of every CRD with its rules.
func TestEveryIstioCRDCompiles(t *testing.T) {
	files, err := crdFiles.ReadDir(istioFolder)
	if err != nil || len(files) != len(istioKinds) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		d := releases[Gateway16].findDefinition(schema.ParseGroupKind(strings.TrimSuffix(file.Name(), ".json")))
		if d == nil || len(d.versions) == 0 {
			t.Fatalf("%s serves no version", file.Name())
		}
		for name, v := range d.versions {
			if v.structural == nil || v.schema == nil || v.rules.all() == nil {
				t.Errorf("%s %s is incomplete", d.kind, name)
			}
		}
	}
}

// moduleFolder gives a module's folder in the module cache, fetched with -update only.
func moduleFolder(module, sum string) (string, error) {
	download := exec.Command("go", "mod", "download", "-json", module)
	if !*update {
		download.Env = append(os.Environ(), "GOPROXY=off")
	}
	info, err := downloadInfo(download, module, sum)
	return info.Dir, err
}
