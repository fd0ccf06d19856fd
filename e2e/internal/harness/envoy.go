package harness

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// readyWithin is how long Envoy may take to come up, on a machine that is busy with other tests.
const readyWithin = 5 * time.Minute

// Envoy is a running Envoy with a compiled configuration.
type Envoy struct {
	*Compiled

	command *exec.Cmd
	done    chan struct{} // closed when the process has ended
	logs    string
	epoch   int // how many hot restarts came before
}

// Run compiles a deployment and starts Envoy with it.
func Run(t testing.TB, d Deployment) *Envoy {
	t.Helper()
	return Compile(t, d).Start(t)
}

// Start starts Envoy and waits until it is ready. It is stopped when the test ends; if the test failed, the end
// of Envoy's log is shown.
func (c *Compiled) Start(t testing.TB) *Envoy {
	t.Helper()
	e := c.StartAlone(t)
	e.waitReady(t)
	return e
}

// StartAlone starts Envoy without waiting for anything: its server may be away.
func (c *Compiled) StartAlone(t testing.TB) *Envoy {
	t.Helper()
	return c.launch(t, nil, "--use-dynamic-base-id", "--base-id-path", c.baseIDPath())
}

// StartWithoutVMs starts Envoy with room for the VM in which it tries the plugin out and for no worker's: V8 asks for
// 10 GB of address space for each. Envoy says so in its log and serves.
func (c *Compiled) StartWithoutVMs(t testing.TB) *Envoy {
	t.Helper()
	for gigabytes := 16; gigabytes <= 64; gigabytes += 2 {
		limit := []string{"sh", "-c", fmt.Sprintf(`ulimit -v %d && exec "$@"`, gigabytes<<20), "sh"}
		e := c.launch(t, limit, "--use-dynamic-base-id")
		if e.comesUp() && strings.Contains(e.Log(t), "Failed to create new Wasm instance") {
			return e
		}
		e.Kill()
	}
	t.Fatal("Envoy had either no VM at all or one for its worker, with 16 to 64 GB of address space")
	return nil
}

// baseIDPath is the file in which Envoy leaves the id by which a hot restart finds it.
func (c *Compiled) baseIDPath() string { return filepath.Join(c.Dir, "base-id") }

// HotRestart starts a second Envoy that takes the sockets over from this one, which drains and ends (Envoy's
// --restart-epoch). It returns the second one when it serves and the first has ended.
func (e *Envoy) HotRestart(t testing.TB) *Envoy {
	t.Helper()
	id, err := os.ReadFile(e.baseIDPath())
	if err != nil {
		t.Fatal(err)
	}
	next := e.launch(t, nil, "--base-id", strings.TrimSpace(string(id)), "--restart-epoch", strconv.Itoa(e.epoch+1))
	next.epoch = e.epoch + 1
	select {
	case <-e.done:
	case <-time.After(readyWithin):
		t.Fatalf("the old Envoy did not end within %v of a hot restart", readyWithin)
	}
	next.waitReady(t)
	return next
}

// Kill ends Envoy by SIGKILL, and waits until it is gone.
func (e *Envoy) Kill() {
	_ = e.command.Process.Kill() // fails where it has ended already
	<-e.done
}

func (e *Envoy) waitReady(t testing.TB) {
	t.Helper()
	switch {
	case e.comesUp():
	case e.ended():
		t.Fatal("Envoy ended while it started")
	default:
		t.Fatalf("Envoy was not ready within %v", readyWithin)
	}
}

// comesUp waits until Envoy is ready; it tells whether that came before its end and in time.
func (e *Envoy) comesUp() bool {
	for deadline := time.Now().Add(readyWithin); !e.ready(); time.Sleep(20 * time.Millisecond) {
		if e.ended() || time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// StartRefused starts Envoy with a configuration that it must refuse, and returns its log.
func (c *Compiled) StartRefused(t testing.TB) string {
	t.Helper()
	e := c.launch(t, nil, "--use-dynamic-base-id")
	select {
	case <-e.done:
	case <-time.After(readyWithin):
		t.Fatal("Envoy accepted a configuration that it must refuse")
	}
	if e.command.ProcessState.ExitCode() == 0 {
		t.Fatal("Envoy ended with exit code 0")
	}
	return e.Log(t)
}

// launch starts Envoy with further flags, through a command that runs it, if any.
func (c *Compiled) launch(t testing.TB, through []string, flags ...string) *Envoy {
	t.Helper()
	logs, err := os.CreateTemp(t.TempDir(), "envoy.log")
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	e := &Envoy{Compiled: c, done: make(chan struct{}), logs: logs.Name()}
	arguments := slices.Concat(through, []string{c.shipped.Envoy}, flags, []string{
		"-c", filepath.Join(c.Dir, "envoy.yaml"), "--concurrency", strconv.Itoa(max(1, c.deployment.Workers)),
		"--log-level", c.logLevel(), "--service-node", "e2e", "--service-cluster", cmp.Or(c.cluster, "e2e"),
		"--drain-time-s", "1", "--parent-shutdown-time-s", "2", "--file-flush-interval-msec", "20",
	})
	e.command = exec.Command(arguments[0], arguments[1:]...)
	e.command.Dir, e.command.Stdout, e.command.Stderr = c.Dir, logs, logs
	e.command.Env = environment(c.secrets(t)...)
	e.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := e.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = e.command.Wait() // ProcessState has all that it says
		close(e.done)
	}()
	t.Cleanup(func() { e.finish(t) })
	return e
}

func (c *Compiled) logLevel() string {
	if c.deployment.LogLevel == "" {
		return "warning"
	}
	return c.deployment.LogLevel
}

func (c *Compiled) secrets(t testing.TB) []string {
	if c.deployment.Env != nil {
		return c.deployment.Env
	}
	return []string{"LIMPET_KEYS=" + c.deployment.Keys.JSON(t)}
}

func (e *Envoy) finish(t testing.TB) {
	e.Stop()
	if t.Failed() {
		log := e.Log(t)
		t.Logf("Envoy's log ends:\n%s", log[max(0, len(log)-6000):])
	}
}

// Stop ends Envoy by SIGTERM, or by SIGKILL when that takes longer than five seconds.
func (e *Envoy) Stop() {
	_ = e.command.Process.Signal(syscall.SIGTERM) // fails where it has ended already
	select {
	case <-e.done:
	case <-time.After(5 * time.Second):
		_ = e.command.Process.Kill()
		<-e.done
	}
}

func (e *Envoy) ended() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

func (e *Envoy) ready() bool {
	text, err := e.admin("/ready")
	return err == nil && strings.TrimSpace(text) == "LIVE"
}

// Log is all that Envoy has logged.
func (e *Envoy) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(e.logs)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Client returns a client with a cookie jar.
func (e *Envoy) Client() *Client { return NewClient(e.Port) }

// Stranger returns a client that keeps no cookies.
func (e *Envoy) Stranger() *Client {
	client := NewClient(e.Port)
	client.Jar = nil
	return client
}

// Admin reads a page of the admin interface.
func (e *Envoy) Admin(t testing.TB, path string) string {
	t.Helper()
	text, err := e.admin(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (e *Envoy) admin(path string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+Loopback(e.AdminPort)+path, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("admin %s: status %d", path, response.StatusCode)
	}
	return string(body), err
}
