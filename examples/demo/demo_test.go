package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/freeport"
)

// freeAddress is a loopback address that no other process is given.
func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := freeport.Find()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// screen is what the demo prints. It knows when the explanation is complete.
type screen struct {
	bytes.Buffer
	complete chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("Ctrl-C ends all of it")) {
		defer close(s.complete)
	}
	return s.Buffer.Write(p)
}

// wait returns when the explanation is there.
func (s *screen) wait(t *testing.T) {
	t.Helper()
	select {
	case <-s.complete:
	case <-time.After(patience):
		t.Fatal("no explanation")
	}
}

// fake is a demo with a fake limpet that ends as told; it returns the file with that limpet's process id.
func fake(t *testing.T, end string) (d demo, out *screen, pidFile string) {
	t.Helper()
	dir := t.TempDir()
	address := freeAddress(t)
	pidFile = filepath.Join(dir, "pid")
	for name, value := range map[string]string{part: "limpet", "FAKE_END": end, "FAKE_SERVE": address, "FAKE_PID": pidFile} {
		t.Setenv(name, value)
	}
	out = &screen{complete: make(chan struct{})}
	return demo{
		limpet:   os.Args[0],
		config:   "some/folder",
		log:      filepath.Join(dir, "logs", "envoy.log"),
		url:      "http://" + address,
		admin:    "http://admin.example",
		backends: []string{freeAddress(t), freeAddress(t)},
		patience: patience,
		out:      out,
	}, out, pidFile
}

// readPID waits for the file that a fake limpet writes.
func readPID(t *testing.T, file string) (pid int) {
	t.Helper()
	written := await(func() bool {
		data, _ := os.ReadFile(file)
		var err error
		pid, err = strconv.Atoi(string(data))
		return err == nil
	})
	if !written {
		t.Fatalf("%s was not written", file)
	}
	return pid
}

func TestServesUntilStopped(t *testing.T) {
	d, out, pidFile := fake(t, "")
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- d.run(ctx) }()
	pid := readPID(t, pidFile)
	waitFor200(t, "http://"+d.backends[1])
	out.wait(t)
	cancel()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if !gone(pid) {
		t.Error("limpet is still there")
	}
	for _, want := range []string{"Envoy serves " + d.url, "in front of 2 backends", "some/folder", d.log, d.url + "/cart; done", "http://admin.example/stats", "Ctrl-C"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the explanation lacks %q:\n%s", want, out.String())
		}
	}
	if _, err := http.Get("http://" + d.backends[0]); err == nil {
		t.Error("a backend is still there")
	}
}

func waitFor200(t *testing.T, url string) {
	t.Helper()
	client := &http.Client{Timeout: time.Second}
	if !await(func() bool { return succeeds(client, url) }) {
		t.Fatalf("%s does not answer", url)
	}
}

func TestLimpetEnds(t *testing.T) {
	for end, want := range map[string]string{
		"at-once":  "limpet has said why it ended",
		"with-log": "limpet ended before it served anything; Envoy's log: ",
		"later":    "limpet has ended; Envoy's log: ",
	} {
		t.Run(end, func(t *testing.T) {
			d, _, _ := fake(t, end)
			err := d.run(context.Background())
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

func TestPatienceEnds(t *testing.T) {
	d, _, pidFile := fake(t, "")
	d.url = "http://" + freeAddress(t) // where no server is
	d.patience = time.Second
	err := d.run(context.Background())
	if err == nil || err.Error() != "no request succeeded within 1s; Envoy's log: "+d.log {
		t.Errorf("got %v", err)
	}
	if !gone(readPID(t, pidFile)) {
		t.Error("limpet is still there")
	}
}

func TestPortsInUse(t *testing.T) {
	d, _, _ := fake(t, "")
	d.backends = append(d.backends, freeAddress(t))
	for _, address := range d.backends[1:] {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	const inUse = " is in use by another process; stop it and try again (the demo's backends need this port)"
	want := d.backends[1] + inUse + "\n" + d.backends[2] + inUse
	if err := d.run(context.Background()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestLimpetMissing(t *testing.T) {
	d, _, _ := fake(t, "")
	d.limpet = "bin/no-such-limpet"
	err := d.run(context.Background())
	if err == nil || err.Error() != "bin/no-such-limpet is missing; run 'make build' in the repository's root first" {
		t.Errorf("got %v", err)
	}
}

// TestKilled: where the demo is killed outright, limpet ends too (which ends Envoy).
func TestKilled(t *testing.T) {
	d, _, pidFile := fake(t, "")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), part+"=demo")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := readPID(t, pidFile)
	waitFor200(t, d.url) // limpet's own handler for SIGTERM is in place by then
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if !gone(pid) {
		t.Error("limpet has outlived the demo")
	}
}

// TestSameAddresses: the demo starts what the quick start's files speak of.
func TestSameAddresses(t *testing.T) {
	d := quickstart()
	backends, err := os.ReadFile("../quickstart/backends.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range regexp.MustCompile(`(?s)port: (\d+)\nendpoints:\n  - addresses: \[([0-9.]+)\]`).FindAllStringSubmatch(string(backends), -1) {
		found = append(found, m[2]+":"+m[1])
	}
	if got, want := strings.Join(found, " "), strings.Join(d.backends, " "); got != want {
		t.Errorf("backends.yaml says %q, the demo %q", got, want)
	}
	gateway, err := os.ReadFile("../quickstart/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, port, _ := strings.Cut(d.url, "127.0.0.1:"); !strings.Contains(string(gateway), "port: "+port+"\n") {
		t.Errorf("gateway.yaml does not say port %s", port)
	}
}
