// Package nativetest runs the native module that ships, liblimpet.so, without Envoy: in a process of its own whose host
// (host.c) has Envoy's side of the dynamic module ABI. That host is stricter than Envoy: what the module reads of it
// can't be touched any more once Envoy would be allowed to take it back.
package nativetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Host is a process with a loaded module. It is for one goroutine.
type Host struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     io.Reader
	errors  bytes.Buffer
	last    uint32
	over    bool  // the process has ended
	err     error // what ended it
}

// Module returns the path of a build of the module: "liblimpet.so", or one below dist/native, if it was built.
func Module(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(root(t), "dist", name)
	if _, err := os.Stat(path); err != nil {
		lack(t, path)
	}
	return path
}

// lack is for what make native builds or installs: without it the test fails if LIMPET_REQUIRE_NATIVE=1 is in the
// environment, as make test-native has it, and is skipped otherwise.
func lack(t testing.TB, what string) {
	t.Helper()
	end := t.Skipf
	if os.Getenv("LIMPET_REQUIRE_NATIVE") == "1" {
		end = t.Fatalf
	}
	end("%s is missing: run make native", what)
}

// root is the folder of go.mod.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no go.mod above %s: %v", dir, err)
	return ""
}

// Start starts a host with a module, until the test ends. A module for another architecture runs in qemu.
func Start(t testing.TB, module string) *Host {
	t.Helper()
	m := machineOf(module)
	arguments := append(m.emulator, m.build(t, "filter", "internal", "nativetest", "host", "host.c"), module)
	h := &Host{command: exec.Command(arguments[0], arguments[1:]...)}
	h.command.Stderr = &h.errors
	var err error
	if h.in, err = h.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if h.out, err = h.command.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := h.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// NewShardCommand is the command that runs limpet-shard.so, for a site, without Envoy: filter/shard/host.
func NewShardCommand(t testing.TB, module, site string) *exec.Cmd {
	t.Helper()
	m := machineOf(module)
	arguments := append(m.emulator, m.build(t, "filter", "shard", "host", "host.c"), module, site)
	return exec.Command(arguments[0], arguments[1:]...)
}

// Close has the module free all that it has, and ends the process. It returns an error when that went wrong.
func (h *Host) Close() error {
	if h.over {
		return nil // the call during which it ended has returned the error
	}
	_ = h.in.Close()
	return h.ended(h.command.Wait())
}

func (h *Host) ended(err error) error {
	h.over = true
	if err != nil {
		h.err = fmt.Errorf("the module's host ended: %w\n%s", err, h.errors.Bytes())
	}
	return h.err
}

// call sends a message and returns the answer.
func (h *Host) call(m message) (*answer, error) {
	if h.err != nil {
		return nil, h.err
	}
	binary.LittleEndian.PutUint32(m, uint32(len(m)-4))
	if _, err := h.in.Write(m); err != nil {
		return nil, h.ended(h.command.Wait())
	}
	var size [4]byte
	if _, err := io.ReadFull(h.out, size[:]); err != nil {
		return nil, h.ended(h.command.Wait())
	}
	a := make(answer, binary.LittleEndian.Uint32(size[:]))
	if _, err := io.ReadFull(h.out, a); err != nil {
		return nil, h.ended(h.command.Wait())
	}
	return &a, nil
}

// Configure loads a configuration in place of the one before, with these variables in Envoy's environment. The error
// has what the module logged.
func (h *Host) Configure(config string, env map[string]string) error {
	m := newMessage('c').text(config).number(uint32(len(env)))
	for name, value := range env {
		m = m.text(name).text(value)
	}
	a, err := h.call(m)
	if err != nil {
		return err
	}
	if good := a.number() != 0; !good {
		return fmt.Errorf("the module refused its configuration:\n%s", a.text())
	}
	return nil
}

// SetClock sets the module's clock.
func (h *Host) SetClock(now time.Time) error {
	_, err := h.call(append(newMessage('t'), strconv.FormatInt(now.Unix(), 10)...))
	return err
}

// Stream is one request and its response.
type Stream struct {
	host *Host
	id   uint32
	// Pin is the host that the module named, "" for none; Strict says that no other will do.
	Pin    string
	Strict bool
	// State is the filter state for access logs, "" where there is none.
	State string
	// States is all other filter state, by name.
	States map[string]string
	// Answered is the status with which the module itself answered, 0 where it did not, and Details are that answer's.
	Answered uint32
	Details  string
	// Within is the backend among whose hosts Envoy looks for another, "" for all.
	Within string
	// Rerouted says that the route is chosen again.
	Rerouted bool
}

// SetPolicies sets what the metadata of the next requests' route has as policies, "" for none.
func (h *Host) SetPolicies(text string) error {
	_, err := h.call(newMessage('p').text(text))
	return err
}

// Request sends a request and returns what the next filter gets.
func (h *Host) Request(route, cluster string, headers [][2]string) (*Stream, [][2]string, error) {
	h.last++
	s := &Stream{host: h, id: h.last}
	a, err := h.call(newMessage('q').number(s.id).text(route).text(cluster).headers(headers))
	if err != nil {
		return s, nil, err
	}
	headers = a.headers()
	s.Pin, s.Strict = a.text(), a.number() != 0
	s.Answered, s.Details = a.number(), a.text()
	s.Within, s.Rerouted = a.text(), a.number() != 0
	return s, headers, nil
}

// Reply is a response on its way to the client.
type Reply struct {
	Headers [][2]string
	// Cluster is the name of the one that the request went to.
	Cluster string
	// Details is response.code_details.
	Details string
	// Upstream is the host that answered or should have, "" where none was chosen.
	Upstream string
	// Backend is the tag in that host's metadata, "" for none.
	Backend     string
	HeadersOnly bool
	// Attempts is how often the request was sent.
	Attempts int
}

// Response answers the request and returns what the client gets.
func (s *Stream) Response(r Reply) ([][2]string, error) {
	m := newMessage(
		'r',
	).number(s.id).
		text(r.Cluster).
		text(r.Details).
		text(r.Upstream).
		boolean(r.Upstream != "").
		text(r.Backend)
	m = m.boolean(r.HeadersOnly).number(uint32(r.Attempts))
	a, err := s.host.call(m.headers(r.Headers))
	if err != nil {
		return nil, err
	}
	headers := a.headers()
	a.number()
	s.State, s.States = a.text(), map[string]string{}
	for line := range strings.Lines(a.text()) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		s.States[name] = value
	}
	return headers, nil
}

// Close ends the stream, with a response or without.
func (s *Stream) Close() error {
	_, err := s.host.call(newMessage('e').number(s.id))
	return err
}

// Metrics are the values of all counters and gauges that were used.
func (h *Host) Metrics() (map[string]uint64, error) {
	a, err := h.call(newMessage('m'))
	if err != nil {
		return nil, err
	}
	values := map[string]uint64{}
	for range a.number() {
		name := a.text()
		values[name], _ = strconv.ParseUint(a.text(), 10, 64)
	}
	return values, nil
}

// Repeated is what Repeat saw.
type Repeated struct {
	Pinned int
	// Warm and End are the bytes in use after a tenth of the requests and after all.
	Warm, End int
}

// Repeat sends so many requests, with the cookies in turn, and answers them from that upstream.
func (h *Host) Repeat(times int, route, upstream string, cookies []string) (Repeated, error) {
	m := newMessage('n').number(uint32(times)).text(route).text(upstream).number(uint32(len(cookies)))
	for _, cookie := range cookies {
		m = m.text(cookie)
	}
	a, err := h.call(m)
	if err != nil {
		return Repeated{}, err
	}
	r := Repeated{Pinned: int(a.number())}
	r.Warm, _ = strconv.Atoi(a.text())
	r.End, _ = strconv.Atoi(a.text())
	return r, nil
}
