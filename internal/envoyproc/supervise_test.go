package envoyproc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runSupervised runs a shell script under Supervise, with a signal as soon as the script has made the file "ready".
func runSupervised(t *testing.T, script string, s os.Signal) (dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	signals := make(chan os.Signal, 1)
	go func() {
		if await(func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil }) {
			signals <- s
		}
	}()
	return dir, Supervise(cmd, signals, 300*time.Millisecond)
}

// TestStubborn: a program that does not end when asked is killed after the grace.
func TestStubborn(t *testing.T) {
	start := time.Now()
	_, err := runSupervised(t, `trap "" TERM; >ready; while :; do sleep 0.1; done`, syscall.SIGTERM)
	var e ExitError
	if !errors.As(err, &e) || e.Code != 137 {
		t.Errorf("got %#v, want exit code 137", err)
	}
	if took := time.Since(start); took < 300*time.Millisecond {
		t.Errorf("took %s", took)
	}
}

// TestTerminalGone: SIGHUP is passed on as SIGTERM.
func TestTerminalGone(t *testing.T) {
	const script = `trap "exit 5" TERM; trap "exit 6" HUP; >ready; while :; do sleep 0.1; done`
	_, err := runSupervised(t, script, syscall.SIGHUP)
	var e ExitError
	if !errors.As(err, &e) || e.Code != 5 {
		t.Errorf("got %#v, want exit code 5", err)
	}
}

// TestWrapper: what a wrapper script around Envoy leaves behind ends with it.
func TestWrapper(t *testing.T) {
	dir, _ := runSupervised(t, `sleep 60 & echo $! >pid; >ready; trap "exit 0" TERM; wait`, syscall.SIGTERM)
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	ended := await(func() bool {
		status, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/status")
		return err != nil || strings.Contains(string(status), "State:\tZ")
	})
	if !ended {
		t.Error("the child of the wrapper is still there")
	}
}

// await repeats a check until it holds, on a machine that is busy.
func await(holds func() bool) bool {
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
