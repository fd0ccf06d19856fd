package envoygateway

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the copies of Envoy Gateway's CRDs")

// crdCopies is where the compiler's tests have Envoy Gateway's CRDs, without descriptions, for they hold what is
// generated to these and do not need this module.
const crdCopies = "../../internal/compiler/emit/envoygateway/testdata/crds"

// TestCRDsAreThoseOfTheModule holds the copies to what the module ships.
func TestCRDsAreThoseOfTheModule(t *testing.T) {
	module := goList(t, "-m", "-f", "{{.Dir}}", "github.com/envoyproxy/gateway")
	for _, kind := range []string{"backends", "clienttrafficpolicies", "envoyextensionpolicies", "envoypatchpolicies", "envoyproxies"} {
		text, err := os.ReadFile(filepath.Join(module, "charts/gateway-helm/charts/crds/crds/generated/gateway.envoyproxy.io_"+kind+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		want, copied := withoutDescriptions(t, text), filepath.Join(crdCopies, kind+".json.gz")
		if *update {
			writeZipped(t, copied, want)
		}
		if got := readZipped(t, copied); !bytes.Equal(got, want) {
			t.Errorf("%s is not what Envoy Gateway ships; run this test with -update", copied)
		}
	}
}

func goList(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func withoutDescriptions(t *testing.T, text []byte) []byte {
	t.Helper()
	var crd any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	strip(crd)
	short, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return short
}

// strip takes the descriptions out, which are text; a field of that name is an object.
func strip(node any) {
	switch n := node.(type) {
	case map[string]any:
		if _, is := n["description"].(string); is {
			delete(n, "description")
		}
		for _, child := range n {
			strip(child)
		}
	case []any:
		for _, child := range n {
			strip(child)
		}
	}
}

func writeZipped(t *testing.T, file string, text []byte) {
	t.Helper()
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, zipped.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readZipped(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
