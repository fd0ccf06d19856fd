package behaviour

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/internal/nativetest"
	"github.com/limpet-proxy/limpet/internal/freeport"
)

// envoy is a running Envoy. It serves one test after the other, which each give it a configuration of their own.
type envoy struct {
	dir, module, reply string
	port, admin        int
	process            *exec.Cmd
	ended              chan struct{}
	generation         int
	hosts              []string
	backend            *backend
	clock              *os.File
}

func (e *envoy) path(name string) string { return filepath.Join(e.dir, name) }

// envoys are the running ones, by their environment; the one used last is the last.
var envoys = struct {
	names []string
	all   map[string]*envoy
}{all: map[string]*envoy{}}

// drainSeconds is how long an old configuration serves the connections that it has.
const drainSeconds = 5

// mostEnvoys is how many run at a time.
const mostEnvoys = 2

func TestMain(m *testing.M) {
	code := m.Run()
	for _, e := range envoys.all {
		e.stop()
	}
	os.Exit(code)
}

// envoyFor returns an Envoy with that environment.
func envoyFor(t *testing.T, env map[string]string) *envoy {
	t.Helper()
	text, err := json.Marshal(env)
	noError(t, err)
	name := string(text)
	if i := slices.Index(envoys.names, name); i >= 0 {
		envoys.names = append(slices.Delete(envoys.names, i, i+1), name)
		return envoys.all[name]
	}
	if len(envoys.names) == mostEnvoys {
		oldest := envoys.names[0]
		envoys.all[oldest].stop()
		delete(envoys.all, oldest)
		envoys.names = envoys.names[1:]
	}
	e := launch(t, env)
	envoys.names = append(envoys.names, name)
	envoys.all[name] = e
	return e
}

// program is Envoy, which the environment variable ENVOY names.
func program(t *testing.T) string {
	t.Helper()
	path := os.Getenv("ENVOY")
	if path == "" {
		if os.Getenv("CI") == "true" || os.Getenv("LIMPET_REQUIRE_ENVOY") == "1" {
			t.Fatal("the environment variable ENVOY names no program")
		}
		t.Skip("the environment variable ENVOY names no program")
	}
	return path
}

// launch starts Envoy.
func launch(t *testing.T, env map[string]string) *envoy {
	t.Helper()
	module, program := nativetest.Module(t, "liblimpet.so"), program(t)
	dir, err := os.MkdirTemp("", "limpet-envoy")
	noError(t, err)
	e := &envoy{dir: dir, module: module, ended: make(chan struct{}), port: freePort(t), admin: freePort(t)}
	e.reply = e.compile(t, "reply.c")
	e.backend = newBackend(t)
	e.clock, err = os.Create(e.path("clock"))
	noError(t, err)
	noError(t, e.clock.Truncate(4096))
	e.setClock(t, time.Now())
	e.write(t, "listeners.json", discovery(0))
	e.write(t, "hosts.json", discovery(0, assignment(nil)))
	environment := []string{
		"LD_PRELOAD=" + e.compile(t, "elsewhere.c"), "LIMPET_TEST_CLOCK=" + e.path("clock"),
		"LIMPET_TEST_BACKEND=" + strconv.Itoa(e.backend.port),
	}
	for name, value := range env {
		environment = append(environment, name+"="+value)
	}
	e.start(t, program, e.bootstrap(), environment, "--concurrency", "2")
	return e
}

// start starts the process and waits until it serves.
func (e *envoy) start(t *testing.T, program string, bootstrap object, env []string, arguments ...string) {
	t.Helper()
	text, err := json.Marshal(bootstrap)
	noError(t, err)
	e.write(t, "envoy.json", text)
	log, err := os.Create(e.path("log"))
	noError(t, err)
	defer log.Close()
	e.process = exec.Command(program, append(arguments, "-c", e.path("envoy.json"), "--use-dynamic-base-id",
		"--log-level", "warning", "--file-flush-interval-msec", "10", "--drain-time-s", strconv.Itoa(drainSeconds))...)
	e.process.Stdout, e.process.Stderr = log, log
	e.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	e.process.Env = env
	noError(t, e.process.Start())
	go func() { _ = e.process.Wait(); close(e.ended) }()
	e.until(t, "Envoy to be ready", func() bool { return strings.HasPrefix(e.get("/ready"), "LIVE") })
}

// compile makes a shared object of a source in testdata.
func (e *envoy) compile(t *testing.T, source string) string {
	t.Helper()
	path := e.path(strings.TrimSuffix(source, ".c") + ".so")
	out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", path, filepath.Join("testdata", source)).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", source, err, out)
	}
	return path
}

func (e *envoy) stop() {
	_ = e.process.Process.Kill() // it may have ended
	<-e.ended
	if e.backend != nil { // of one that plays the hosts
		e.backend.listener.Close()
		e.clock.Close()
	}
	os.RemoveAll(e.dir)
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := freeport.Find()
	noError(t, err)
	return port
}

// write puts a file in place at once, which is what Envoy watches for.
func (e *envoy) write(t *testing.T, name string, text []byte) {
	t.Helper()
	noError(t, os.WriteFile(e.path(name+".new"), text, 0o600))
	noError(t, os.Rename(e.path(name+".new"), e.path(name)))
}

func (e *envoy) setClock(t *testing.T, now time.Time) {
	t.Helper()
	var text [8]byte
	binary.NativeEndian.PutUint64(text[:], uint64(now.Unix()))
	_, err := e.clock.WriteAt(text[:], 0)
	noError(t, err)
}

// setRefusing has a host take no connections; empty for none.
func (e *envoy) setRefusing(t *testing.T, host string) {
	t.Helper()
	var text [8]byte
	if address, err := netip.ParseAddrPort(host); err == nil {
		four := address.Addr().As4()
		binary.NativeEndian.PutUint64(text[:], 1<<32|uint64(binary.BigEndian.Uint32(four[:])))
	}
	_, err := e.clock.WriteAt(text[:], int64(len(text)))
	noError(t, err)
}

// until waits for something, as long as Envoy lives.
func (e *envoy) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		select {
		case <-e.ended:
			t.Fatalf("Envoy ended:\n%s", e.log(t))
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("no sign of %s; Envoy's log:\n%s", what, e.log(t))
		}
	}
}

func (e *envoy) log(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(e.path("log"))
	noError(t, err)
	return string(text)
}

// get reads a page of the admin interface, "" while there is none.
func (e *envoy) get(path string) string {
	response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", e.admin, path))
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return string(text)
}

// stats are the counters whose names match.
func (e *envoy) stats(filter string) map[string]uint64 {
	values := map[string]uint64{}
	for line := range strings.Lines(e.get("/stats?filter=" + filter)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		values[name], _ = strconv.ParseUint(value, 10, 64)
	}
	return values
}

// setHosts changes the hosts of all clusters.
func (e *envoy) setHosts(t *testing.T, hosts []string) {
	t.Helper()
	if slices.Equal(hosts, e.hosts) {
		return
	}
	before := e.stats("^cluster.c.*update_success")
	e.hosts = slices.Clone(hosts)
	e.generation++
	e.write(t, "hosts.json", discovery(e.generation, assignment(hosts)))
	e.until(t, "the hosts", func() bool {
		now := e.stats("^cluster.c.*update_success")
		for name, n := range before {
			if now[name] == n {
				return false
			}
		}
		return true
	})
}

// configure has Envoy take new filters, and returns what it logged when it refuses.
func (e *envoy) configure(t *testing.T, filters []any) error {
	t.Helper()
	refused, logged := e.stats("lds.update_rejected"), len(e.log(t))
	e.generation++
	e.write(t, "listeners.json", discovery(e.generation, e.listener(filters, e.generation)))
	var err error
	e.until(t, "the configuration", func() bool {
		if now := e.stats("lds.update_rejected"); now["listener_manager.lds.update_rejected"] > refused["listener_manager.lds.update_rejected"] {
			err = errors.New(e.log(t)[logged:])
			return true
		}
		return e.serves(e.generation)
	})
	return err
}

// serves tells whether new connections get that configuration.
func (e *envoy) serves(generation int) bool {
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", e.port))
	if err != nil {
		return false
	}
	defer func() { _ = connection.Close() }()
	if _, err := io.WriteString(connection, "GET / HTTP/1.1\r\nhost: test\r\n\r\n"); err != nil {
		return false
	}
	head, err := readHead(bufio.NewReader(connection))
	value, _ := first(head, "x-test-generation")
	return err == nil && value == fmt.Sprint(generation)
}
