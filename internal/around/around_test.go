package around

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/limpet-proxy/limpet/internal/plugincheck"
)

var update = flag.Bool("update", false, "rewrite testdata/*.yaml")

const plugin = `{
  "version": "limpet.dev/v1",
  "policies": [
    {"name": "shop", "routes": ["shop", "shop-static"], "sessionName": "shop"},
    {"name": "pay", "routes": ["pay"], "sessionName": "pay", "onHostLost": "Fail"},
    {"name": "cart", "routes": ["cart"], "sessionName": "cart", "onHostLost": "RebalanceWithin"}
  ]
}
`

// TestWrite: what is written is as the golden files have it, and 'limpet plugin check' finds no mistake in it.
func TestWrite(t *testing.T) {
	for _, proxy := range []string{Envoy, Istio} {
		got, err := Write(proxy, []byte(plugin))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", proxy+".yaml")
		if *update {
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v, got\n%s", path, err, got)
		}
		result, err := plugincheck.Check([]plugincheck.File{{Name: path, Data: got}}, func(string) string { return "" })
		if err != nil || result.Policies != 3 {
			t.Errorf("%s: %v, %+v", path, err, result)
		}
		for _, p := range result.Problems {
			t.Error(p)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	if text, err := Write(Envoy, []byte(`{"version":"limpet.dev/v1"}`)); err == nil || text != nil {
		t.Errorf("%s, %v", text, err)
	}
}
