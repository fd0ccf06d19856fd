package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clockTick is the unit of processor times in /proc (USER_HZ): 100 a second on every Linux that Envoy runs on.
const clockTick = 10 * time.Millisecond

// CPU is the processor time that Envoy has used so far, in user and system mode, in steps of a clockTick
// (proc(5): utime and stime of /proc/PID/stat).
func (e *Envoy) CPU(t testing.TB) time.Duration {
	t.Helper()
	text := e.proc(t, "stat")
	// The second field is the program's name in parentheses and may hold anything; utime and stime are 14 and 15.
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatalf("/proc/PID/stat: %v", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick
}

// MainThread is the processor time that Envoy's main thread has used, which builds what it is sent
// (/proc/PID/schedstat, which is that thread's).
func (e *Envoy) MainThread(t testing.TB) time.Duration {
	t.Helper()
	var used int64
	if _, err := fmt.Sscan(e.proc(t, "schedstat"), &used); err != nil {
		t.Fatalf("/proc/PID/schedstat: %v", err)
	}
	return time.Duration(used)
}

// ResidentKB is Envoy's resident memory in kB.
func (e *Envoy) ResidentKB(t testing.TB) int {
	t.Helper()
	return residentKB(t, e.command.Process.Pid)
}

func residentKB(t testing.TB, pid int) int {
	t.Helper()
	kb, err := readKB(pid, "VmRSS")
	if err != nil {
		t.Fatal(err)
	}
	return kb
}

// readKB reads one of the sizes of a process (proc(5): /proc/PID/status); of one that has ended there are none.
func readKB(pid int, name string) (kb int, err error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "\n"+name+":")
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		return 0, fmt.Errorf("%s has no %s: %w", path, name, err)
	}
	return kb, nil
}

// proc reads a file about the Envoy process.
func (e *Envoy) proc(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", e.command.Process.Pid, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
