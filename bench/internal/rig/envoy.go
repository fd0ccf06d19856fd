package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// readyWithin is how long Envoy may take to start with every contestant's VM, under valgrind too.
const readyWithin = 5 * time.Minute

// Envoy is a running Envoy with one worker and one listener for each contestant, so that all share a process: its
// memory layout, which alone moves costs by a percent or two, is the same for all.
type Envoy struct {
	ports   map[string]int
	admin   int
	command *exec.Cmd
	done    chan struct{}
	log     string
	worker  string
	server  *exec.Cmd // of its configuration; nil for none
}

// launch starts Envoy in a folder on a configuration, and waits until it serves. program is Envoy with what runs it.
func launch(program []string, dir string, config object, keys string, cpu int) (*Envoy, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "envoy.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	e := &Envoy{done: make(chan struct{}), log: filepath.Join(dir, "envoy.log")}
	log, err := os.Create(e.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	arguments := append(program[1:len(program):len(program)],
		"-c", path, "--concurrency", "1", "--use-dynamic-base-id", "--log-level", "warning")
	e.command = exec.Command(program[0], arguments...)
	e.command.Dir, e.command.Stdout, e.command.Stderr = dir, log, log
	e.command.Env = []string{"LIMPET_KEYS=" + keys}
	e.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := runOnCore(cpu, e.command, e.done); err != nil {
		return nil, err
	}
	e.admin = at(config, "admin", "address", "socket_address", "port_value").(int)
	return e, e.wait()
}

func (e *Envoy) wait() error {
	deadline := time.Now().Add(readyWithin)
	for {
		if text, err := e.Admin("/ready"); err == nil && strings.TrimSpace(text) == "LIVE" {
			e.worker, err = worker(e.command.Process.Pid)
			return err
		}
		select {
		case <-e.done:
			return e.failure("Envoy ended while it started")
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			e.Stop()
			return e.failure(fmt.Sprintf("Envoy was not ready within %v", readyWithin))
		}
	}
}

func (e *Envoy) failure(what string) error {
	text, _ := os.ReadFile(e.log)
	return fmt.Errorf("%s; its log ends:\n%s", what, text[max(0, len(text)-4000):])
}

// Stop ends Envoy, and its server.
func (e *Envoy) Stop() {
	if e.server != nil {
		defer func() {
			_ = e.server.Process.Kill()
			_ = e.server.Wait()
		}()
	}
	_ = e.command.Process.Signal(syscall.SIGTERM) // fails where it has ended already
	select {
	case <-e.done:
	case <-time.After(10 * time.Second):
		_ = e.command.Process.Kill()
		<-e.done
	}
}

// Admin reads a page of the admin interface.
func (e *Envoy) Admin(path string) (string, error) {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get("http://" + loopback(e.admin) + path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var body bytes.Buffer
	_, err = io.Copy(&body, response.Body)
	return body.String(), err
}

// Stat reads a counter or gauge; 0 if there is none of that name.
func (e *Envoy) Stat(name string) (int64, error) {
	text, err := e.Admin("/stats?filter=^" + regexp.QuoteMeta(name) + "$")
	if err != nil {
		return 0, err
	}
	_, value, found := strings.Cut(strings.TrimSpace(text), ": ")
	if !found {
		return 0, nil
	}
	return strconv.ParseInt(value, 10, 64)
}

// Address is where a contestant listens.
func (e *Envoy) Address(contestant string) string { return loopback(e.ports[contestant]) }

// CPU is the processor time that the worker has used so far.
func (e *Envoy) CPU() (time.Duration, error) { return ReadCPU(e.worker) }

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
