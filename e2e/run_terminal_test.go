package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// sickEnvoy says more than fits a screen, and ends before it serves.
const sickEnvoy = `#!/bin/sh
echo '{"access": "log"}'
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "[info] line $i" >&2; done
exit 7
`

// TestRunOnTerminal: where standard error is a terminal, Envoy's log goes to a file that is there after the run, the access log to standard
// output, and the terminal has the last lines of an Envoy that can't be started.
func TestRunOnTerminal(t *testing.T) {
	folder := t.TempDir()
	envoy, input := filepath.Join(folder, "envoy"), filepath.Join(folder, "in.yaml")
	documents := harness.OneRoute(harness.Backends(t, "a"), harness.CookieRule("cart", "pods"))
	documents.Port = harness.FreePort(t)
	for name, text := range map[string]string{envoy: sickEnvoy, input: documents.YAML(t)} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.Command(harness.Find(t).Limpet, "run", "-f", input, "--bind", "127.0.0.1", "--admin", "none")
	run.Env = append(os.Environ(), "TMPDIR="+folder, "ENVOY="+envoy)
	var stdout strings.Builder
	run.Stdout = &stdout
	ours, theirs := openTerminal(t)
	run.Stderr = theirs
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	printed, _ := io.ReadAll(ours) // it ends with an error when nobody has the terminal any more
	_ = run.Wait()
	shown := strings.ReplaceAll(string(printed), "\r\n", "\n")
	match := regexp.MustCompile(`Envoy's log goes to (\S+)`).FindStringSubmatch(shown)
	if match == nil {
		t.Fatalf("the terminal has\n%s", shown)
	}
	log, err := os.ReadFile(match[1])
	if err != nil || strings.Count(string(log), "[info] line") != 12 {
		t.Errorf("the log has\n%s%v", log, err)
	}
	if run.ProcessState.ExitCode() != 7 || !strings.Contains(shown, "[info] line 3\n  [info] line 4") || strings.Contains(shown, "[info] line 2\n") {
		t.Errorf("exit code %d, the terminal has\n%s", run.ProcessState.ExitCode(), shown)
	}
	if stdout.String() != "{\"access\": \"log\"}\n" {
		t.Errorf("standard output has %q", stdout.String())
	}
}

// openTerminal makes a terminal: what is written to theirs is read from ours.
func openTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	number, err := unix.IoctlGetUint32(int(ours.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}
