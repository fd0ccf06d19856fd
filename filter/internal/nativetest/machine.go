package nativetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// machine is what runs the modules of an architecture: a compiler for the host, and the command in front of it.
type machine struct {
	compiler string
	flags    []string
	emulator []string
}

func machineOf(module string) machine {
	if runtime.GOARCH != "arm64" && filepath.Base(filepath.Dir(module)) == "arm64" {
		return machine{compiler: "aarch64-linux-gnu-gcc", emulator: []string{"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"}}
	}
	if filepath.Base(filepath.Dir(module)) == "sanitized" {
		return machine{compiler: "cc", flags: []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all"}}
	}
	return machine{compiler: "cc"}
}

// programs are the hosts, each built once in a process, by their compilers and flags.
var programs = struct {
	sync.Mutex
	paths map[string]string
}{paths: map[string]string{}}

// build compiles a host, whose source is below the root.
func (m machine) build(t testing.TB, source ...string) string {
	t.Helper()
	for _, tool := range append([]string{m.compiler}, m.emulator[:min(1, len(m.emulator))]...) {
		if _, err := exec.LookPath(tool); err != nil {
			lack(t, tool)
		}
	}
	programs.Lock()
	defer programs.Unlock()
	command := append([]string{m.compiler, "-O1", "-g", "-rdynamic"}, m.flags...)
	file := filepath.Join(append([]string{root(t)}, source...)...)
	name := strings.Join(append(command, file), " ")
	if path, ok := programs.paths[name]; ok {
		return path
	}
	dir, err := os.MkdirTemp("", "limpet-host")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "host")
	if out, err := exec.Command(command[0], append(command[1:], "-o", path, file,
		"-ldl")...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", file, err, out)
	}
	programs.paths[name] = path
	return path
}
