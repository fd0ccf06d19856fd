package harness

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Running is a "limpet run" under way.
type Running struct {
	// Port is the listener's, AdminPort the admin interface's.
	Port, AdminPort int

	command *exec.Cmd
	done    chan struct{} // closed when limpet has ended
	output  outputBuffer
}

// outputBuffer collects what a program writes while it runs.
type outputBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *outputBuffer) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// RunLimpet starts "limpet run" on a file of documents whose listener has that port, with more variables in its
// environment, and waits until its Envoy serves. It is ended with the test, if it has not ended before.
func RunLimpet(t testing.TB, path string, port, adminPort int, env ...string) *Running {
	t.Helper()
	return startLimpet(t, []string{"-f", path}, port, adminPort, time.Second, env, nil)
}

// startLimpet is RunLimpet with flags. Drain is how long connections go on whose listener has changed, in whole
// seconds.
func startLimpet(
	t testing.TB,
	flags []string,
	port, adminPort int,
	drain time.Duration,
	env []string,
	stdin io.Reader,
) *Running {
	t.Helper()
	args := append([]string{"run", "--bind", "127.0.0.1", "--admin", Loopback(adminPort)}, flags...)
	args = append(args, "--", "--concurrency", "1", "--log-level", "warning",
		"--drain-time-s", fmt.Sprint(int(drain.Seconds())), "--parent-shutdown-time-s", "2")
	r := launchLimpet(t, args, port, adminPort, env, stdin)
	r.waitReady(t)
	return r
}

// launchLimpet starts limpet, which is ended with the test if it has not ended before.
func launchLimpet(t testing.TB, args []string, port, adminPort int, env []string, stdin io.Reader) *Running {
	t.Helper()
	shipped := Find(t)
	r := &Running{Port: port, AdminPort: adminPort, done: make(chan struct{})}
	r.command = contained(shipped.Limpet, withFilter(args))
	r.command.Dir, r.command.Stdin, r.command.Stdout, r.command.Stderr = shipped.Root, stdin, &r.output, &r.output
	r.command.Env = append(environment("ENVOY="+shipped.Envoy), env...)
	r.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = r.command.Wait() // ProcessState has all that it says
		close(r.done)
	}()
	t.Cleanup(func() { r.Terminate(t) })
	return r
}

func (r *Running) waitReady(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(readyWithin)
	for !r.ready() {
		select {
		case <-r.done:
			t.Fatalf("limpet run ended while it started:\n%s", r.Output())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("limpet run was not ready within %v:\n%s", readyWithin, r.Output())
		}
	}
}

func (r *Running) ready() bool {
	response, err := http.Get("http://" + Loopback(r.AdminPort) + "/ready")
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// endsWithin is how long limpet may take to end, on such a machine.
const endsWithin = 2 * time.Minute

// Terminate sends SIGTERM and returns limpet's exit code once it has ended.
func (r *Running) Terminate(t testing.TB) int {
	t.Helper()
	_ = r.command.Process.Signal(syscall.SIGTERM) // fails where it has ended already
	select {
	case <-r.done:
	case <-time.After(endsWithin):
		t.Errorf("limpet run did not end within %v of SIGTERM:\n%s", endsWithin, r.Output())
		_ = r.command.Process.Kill()
		<-r.done
	}
	return r.command.ProcessState.ExitCode()
}

// Output is what limpet and Envoy have written to stdout and stderr so far.
func (r *Running) Output() string {
	r.output.mu.Lock()
	defer r.output.mu.Unlock()
	return r.output.text.String()
}
