package api_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden and generated files")

// controllerGen is the generator, at the version that the CRDs name in an annotation.
const controllerGen = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0"

// TestGenerated holds the CRDs and the deep copies to what controller-gen makes of the types now.
func TestGenerated(t *testing.T) {
	readSources(t)
	generated := t.TempDir()
	cmd := exec.Command("go", "run", controllerGen, "object", "crd", "paths=./v1alpha1",
		"output:crd:dir="+generated, "output:object:dir="+generated)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", controllerGen, err, out)
	}
	files, err := filepath.Glob(filepath.Join(generated, "*"))
	if err != nil || len(files) != 4 {
		t.Fatalf("controller-gen wrote %v, %v: want three CRDs and the deep copies", files, err)
	}
	for _, f := range files {
		compareGenerated(t, f)
	}
}

// readSources makes the go command's test cache notice every change of the types, comments included, for what
// another process reads it does not see.
func readSources(t *testing.T) {
	t.Helper()
	sources, err := filepath.Glob("v1alpha1/*.go")
	if err != nil || len(sources) < 4 {
		t.Fatalf("sources: %v, %v", sources, err)
	}
	for _, s := range sources {
		if _, err := os.ReadFile(s); err != nil {
			t.Fatal(err)
		}
	}
}

func compareGenerated(t *testing.T, generated string) {
	t.Helper()
	committed := filepath.Join("crds", filepath.Base(generated))
	if strings.HasSuffix(generated, ".go") {
		committed = filepath.Join("v1alpha1", filepath.Base(generated))
	}
	compareGolden(t, committed, readFile(t, generated))
}

// compareGolden compares with a file, or writes it under -update.
func compareGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test . -update writes it)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale (go test . -update rewrites it); now:\n%s", file, got)
	}
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
