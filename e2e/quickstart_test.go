package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestEnvoyYAMLIsCurrent: the envoy.yaml in the root is what the compiler makes of the quick start.
func TestEnvoyYAMLIsCurrent(t *testing.T) {
	harness.WasmOnly(t, "the file has the default filter")
	t.Parallel()
	code, stdout, stderr := harness.Limpet(t, nil, "compile", "-f", "examples/quickstart", "-t", "envoy",
		"--bind", "127.0.0.1", "--filter-path", "dist/limpet.wasm")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	file, err := os.ReadFile(filepath.Join(harness.Find(t).Root, "envoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if stdout != string(file) {
		t.Error("envoy.yaml is stale: run 'make golden' and commit it")
	}
}

// TestEnvoyYAMLIsValid: Envoy's own check accepts the envoy.yaml in the root, with the plugin started.
func TestEnvoyYAMLIsValid(t *testing.T) {
	t.Parallel()
	shipped := harness.Find(t)
	for name, c := range map[string]struct {
		keys  string
		valid bool
	}{"with keys": {harness.NewRing("first").JSON(t), true}, "without keys": {"", false}} {
		validate := exec.Command(shipped.Envoy, "--mode", "validate", "-c", "envoy.yaml", "--use-dynamic-base-id")
		validate.Dir, validate.Env = shipped.Root, []string{"LIMPET_KEYS=" + c.keys}
		output, err := validate.CombinedOutput()
		if (err == nil) != c.valid {
			t.Errorf("%s: %v\n%s", name, err, output)
		}
	}
}

// demoAddresses are those that examples/demo and examples/quickstart name.
var demoAddresses = []string{"127.0.0.1:10000", "127.0.0.1:9901", "127.0.0.1:18081", "127.0.0.1:18082", "127.0.0.1:18083"}

// TestDemo is make run without its set-up: one program starts everything, says what to try, serves, and takes all
// of it along when it ends.
func TestDemo(t *testing.T) {
	shipped := harness.Find(t)
	wantPortsFree(t)
	demo := exec.Command(filepath.Join(shipped.Root, "bin", "demo"))
	demo.Dir = shipped.Root
	mark := "TMPDIR=" + t.TempDir()
	demo.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "ENVOY=" + shipped.Envoy, mark}
	demo.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	var complaints bytes.Buffer
	demo.Stderr = &complaints
	stdout, err := demo.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = demo.Process.Kill() }()
	printed, done := readUntil(stdout, "Ctrl-C")
	if !done {
		t.Fatalf("the demo said nothing about Ctrl-C: %q; stderr: %s", printed, complaints.String())
	}
	t.Logf("serving after %.1f s", time.Since(begin).Seconds())
	if strings.Contains(complaints.String(), "warning:") {
		t.Errorf("the quick start warns: %s", complaints.String())
	}
	checkDemoServes(t, printed)
	checkREADMEShows(t, printed)

	if err := demo.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Error(err)
	}
	if err := demo.Wait(); err != nil {
		t.Errorf("the demo ended with %v: %s", err, complaints.String())
	}
	wantPortsFree(t)
	wantNoProcess(t, mark)
}

// checkDemoServes does what the demo's curl lines do.
func checkDemoServes(t *testing.T, printed string) {
	t.Helper()
	if strings.Count(printed, "curl") < 2 {
		t.Errorf("the demo shows no curl lines: %s", printed)
	}
	withJar, without := map[string]bool{}, map[string]bool{}
	client, stranger := harness.NewClient(10000), harness.NewClient(10000)
	stranger.Jar = nil
	for range 6 {
		withJar[client.Get(t, "/cart").Body] = true
		without[stranger.Get(t, "/cart").Body] = true
	}
	if len(withJar) != 1 || len(without) != 3 {
		t.Errorf("six requests with a jar brought %v, six without %v", withJar, without)
	}
}

// checkREADMEShows wants every line that README.md shows of the demo's words to be among them. README.md may leave
// lines out.
func checkREADMEShows(t *testing.T, printed string) {
	t.Helper()
	shown := 0
	for _, block := range harness.Blocks(t, "README.md") {
		if block.Language != "text" || !strings.HasPrefix(block.Text, "Envoy serves ") {
			continue
		}
		for line := range strings.Lines(block.Text) {
			shown++
			if !strings.Contains("\n"+printed, "\n"+line) {
				t.Errorf("README.md says that the demo prints %q; it prints %q", line, printed)
			}
		}
	}
	if shown < 5 {
		t.Errorf("README.md shows only %d lines of what the demo prints", shown)
	}
}

// readUntil reads until the text has come, or time is up.
func readUntil(from io.Reader, text string) (string, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(from); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
			if strings.Contains(scanner.Text(), text) {
				return
			}
		}
	}()
	var all strings.Builder
	for line := range lines {
		fmt.Fprintln(&all, line)
	}
	return all.String(), strings.Contains(all.String(), text)
}

func wantPortsFree(t *testing.T) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Log("does 'make run' run still? It has these addresses")
		}
	}()
	for _, address := range demoAddresses {
		harness.Listen(t, address).Close()
	}
}

// wantNoProcess fails if any process has that variable in its environment, as all that the demo started have.
func wantNoProcess(t *testing.T, variable string) {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(environments) == 0 {
		t.Fatalf("no processes in /proc: %v", err)
	}
	for _, path := range environments {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(variable)) {
			t.Errorf("still running: %s", path)
		}
	}
}
