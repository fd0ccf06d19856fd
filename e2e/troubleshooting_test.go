package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

const troubleshooting = "docs/troubleshooting.md"

// TestTroubleshooting: the page's commands that need an Envoy or a server print what stands below them, when what they are for has happened.
func TestTroubleshooting(t *testing.T) {
	t.Parallel()
	if harness.Native() {
		t.Skip("the page has limpet.wasm's counters")
	}
	port, admin, files := harness.FreePort(t), harness.FreePort(t), map[string]string{}
	pod := harness.Backends(t, "a")[0]
	for _, name := range []string{"shop.yaml", "route.yaml"} {
		files[name] = strings.NewReplacer("port: 10000", fmt.Sprintf("port: %d", port), "port: 8080", fmt.Sprintf("port: %d", pod.Port()),
			"[{addresses: [10.0.0.1]}, {addresses: [10.0.0.2]}]", "[{addresses: [127.0.0.1]}]",
		).Replace(harness.ReadDocument(t, "examples/troubleshooting/"+name))
	}
	harness.RunFolder(t, files, port, admin, harness.NewRing("k"), "--bind", "127.0.0.1")
	other := harness.NewRing("another").Mint(t, "HTTPRoute/default/shop/rule/cart", pod.Address, harness.Dates{})
	for range 3 {
		visit(t, harness.NewClient(port), "/cart")
	}
	visit(t, harness.NewClient(port), "/cart", cookieLine("cart", other))
	served := harness.Serve(t, harness.OneRoute([]*harness.Backend{pod}, harness.CookieRule("cart", "pods")), harness.NewRing("k"))

	ports := strings.NewReplacer("127.0.0.1:9901", harness.Loopback(admin), "127.0.0.1:10000", harness.Loopback(port),
		"127.0.0.1:18001", harness.Loopback(served.AdminPort))
	ran, blocks := 0, harness.Blocks(t, troubleshooting)
	for i, block := range blocks {
		if block.NotRun == "" {
			continue
		}
		ran++
		script := exec.Command("bash", "-c", ports.Replace(block.Text))
		script.Env = []string{"PATH=" + filepath.Dir(harness.Find(t).Limpet) + ":" + os.Getenv("PATH")}
		output, _ := script.Output()
		checkPrinted(t, troubleshooting, i+1, string(output))
	}
	if ran < 3 {
		t.Errorf("only %d commands", ran)
	}
}
