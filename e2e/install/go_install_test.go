package install

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoInstall: "go install" of a version gives limpet with its filter in it, from a module proxy that is a folder: that of a release,
// and for what limpet needs that of Go's own cache. There is no network here.
func TestGoInstall(t *testing.T) {
	folder := t.TempDir()
	output := func(dir string, env []string, words ...string) string {
		t.Helper()
		command := exec.Command(words[0], words[1:]...)
		command.Dir, command.Env = dir, append(os.Environ(), env...)
		return printed(t, command)
	}
	root := absolute(t, "../..")
	output(root, nil, "go", "run", "./tools/release", "-version", "v0.1.0", "-only", "module", "-out", filepath.Join(folder, "release"))
	cache := strings.TrimSpace(output(root, nil, "go", "env", "GOMODCACHE"))
	env := []string{
		"GOPROXY=file://" + filepath.Join(folder, "release/goproxy") + ",file://" + filepath.Join(cache, "cache/download"),
		"GOSUMDB=off", "GOFLAGS=-trimpath -modcacherw -p=2", "GOMODCACHE=" + filepath.Join(folder, "modules"), "GOBIN=" + filepath.Join(folder, "bin"),
		"CGO_ENABLED=0",
	}
	output(folder, env, "go", "install", "github.com/limpet-proxy/limpet/cmd/limpet@v0.1.0")
	limpet := filepath.Join(folder, "bin/limpet")
	filter := readFile(t, filepath.Join(root, "cmd/limpet/filters/limpet.wasm"))
	printed := output(folder, nil, limpet, "version")
	for _, want := range []string{"limpet v0.1.0\n", fmt.Sprintf("limpet.wasm sha256:%x, %d bytes\n", sha256.Sum256([]byte(filter)), len(filter))} {
		if !strings.Contains(printed, want) {
			t.Errorf("limpet version says\n%sand not %s", printed, want)
		}
	}
	output(folder, nil, limpet, "compile", "-f", filepath.Join(root, "examples/quickstart"), "-t", "envoy", "-o", "out")
	if readFile(t, filepath.Join(folder, "out/limpet.wasm")) != filter {
		t.Error("compile writes another filter")
	}
	if strings.Contains(readFile(t, filepath.Join(root, "go.mod")), "\nreplace") {
		t.Error("go.mod replaces modules, which 'go install' refuses")
	}
}
