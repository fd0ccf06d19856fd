package istio

import (
	"os"
	"strings"
	"testing"
)

// byHand is what docs/istio.md says to write by hand, with the module that ships.
func byHand(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/istio.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		const url = "url: oci://ghcr.io/example/limpet:v1"
		if strings.Contains(block, "kind: WasmPlugin") && strings.Contains(block, url) {
			return strings.Replace(block, url, "url: file://"+shipped.wasm, 1)
		}
	}
	t.Fatal("docs/istio.md has no WasmPlugin that is written by hand")
	return ""
}

// TestByHand: the two objects of the documentation are all that Istio's gateways need, without limpet's compiler.
func TestByHand(t *testing.T) {
	t.Setenv("LIMPET_KEYS", `{"keys":[{"id":"a","secret":"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE"}]}`)
	d := onVirtualService(t, "")
	d.change = func([]object) []object { return documents(t, byHand(t)) }
	run(t, d).passes(t)
}
