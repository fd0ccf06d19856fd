package envoygateway

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mark stands before the blocks of the document that run here.
const mark = "<!-- not run: TestDocument of e2e/envoygateway runs it -->\n```sh\n"

// TestDocument runs the commands of docs/envoy-gateway.md as they stand there, with Envoy Gateway on this host in place of
// the cluster: between compiling and asking it gets the manifest.
func TestDocument(t *testing.T) {
	startRegistry(t)
	startBackends(t)
	dir := t.TempDir()
	if err := os.Symlink(abs("../../examples"), filepath.Join(dir, "examples")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/envoy-gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), mark)[1:]
	if len(blocks) != 4 {
		t.Fatalf("%d blocks to run, want 4", len(blocks))
	}
	for i, block := range blocks {
		script, _, _ := strings.Cut(block, "```")
		if i == len(blocks)-1 {
			applyDocument(t, dir)
		}
		out := shell(t, dir, script)
		if i == len(blocks)-1 {
			checkOneHost(t, out)
		}
	}
}

func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "-eu", "-o", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(limpetProgram)+":"+os.Getenv("PATH"), "GATEWAY="+entrance)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, script)
	}
	return string(out)
}

// applyDocument starts Envoy Gateway on the manifest. What stands in for the cluster: Backends for Services, and Envoy on
// this host, on the tests' port and with the root secret in its environment.
func applyDocument(t *testing.T, dir string) {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	manifest := edited(t, read("limpet.yaml"), "EnvoyProxy", "limpet-web", func(d object) {
		d["spec"].(object)["provider"] = object{"type": "Host", "host": object{"envoyVersion": envoyVersion}}
	})
	manifest = edited(t, manifest, "HTTPRoute", "shop", func(d object) {
		for _, rule := range rulesOf(d) {
			for _, ref := range rule.(object)["backendRefs"].([]any) {
				r := ref.(object)
				r["group"], r["kind"], r["name"] = "gateway.envoyproxy.io", "Backend", "blue"
				delete(r, "port")
			}
		}
	})
	manifest = edited(t, manifest, "Gateway", "web", func(d object) {
		d["spec"].(object)["listeners"].([]any)[0].(object)["port"] = 10080
	})
	own, others := parted(t, manifest, func(d object) bool { return d["kind"] == "EnvoyProxy" })
	class, _, _ := strings.Cut(base, entry)
	p := &controlPlane{home: t.TempDir()}
	p.write(t, "res/own.yaml", own)
	p.start(t, others+class+"---\n"+backends(map[string][]string{"blue": backendHosts["blue"]}, ""), "LIMPET_ROOT="+read("root.txt"))
	p.serves(t, "shop.example.com/")
	p.serves(t, "shop.example.com/cart")
}

// checkOneHost wants five answers of one backend.
func checkOneHost(t *testing.T, out string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d answers: %s", len(lines), out)
	}
	host, _, _ := strings.Cut(lines[0], ",")
	for _, line := range lines {
		if !strings.HasPrefix(line, host) || !strings.Contains(host, "127.0.1.") {
			t.Errorf("one answer is of %s, another %s", host, line)
		}
	}
}
