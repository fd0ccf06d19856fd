package behaviour

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/internal/nativetest"
	"github.com/limpet-proxy/limpet/filter/wasmtest"
)

// crowd are clients that each keep to a session while Envoy's configuration changes.
type crowd struct {
	envoy   *envoy
	clients sync.WaitGroup
	done    atomic.Bool
	// follow counts the requests that came with a token.
	follow atomic.Uint64
	mu     sync.Mutex
	errs   []error
}

const (
	crowdSize = 8
	// perConnection is how many requests a client sends before it connects again: only new connections see a new configuration.
	perConnection = 20
)

func newCrowd(e *envoy) *crowd {
	c := &crowd{envoy: e}
	for i := range crowdSize {
		c.clients.Go(func() {
			if err := c.client(); err != nil {
				c.mu.Lock()
				c.errs = append(c.errs, fmt.Errorf("client %d: %w", i, err))
				c.mu.Unlock()
			}
		})
	}
	return c
}

// stop ends all clients and returns what went wrong.
func (c *crowd) stop() error {
	c.done.Store(true)
	c.clients.Wait()
	return errors.Join(c.errs...)
}

func (c *crowd) client() error {
	home, cookie := "", ""
	for !c.done.Load() {
		connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", c.envoy.port))
		if err != nil {
			return err
		}
		reader := bufio.NewReader(connection)
		for range perConnection {
			host, token, err := request(connection, reader, cookie)
			switch {
			case err != nil:
				return err
			case cookie == "":
				home, cookie = host, token
			case host != home:
				return fmt.Errorf("answered by %q, the session is on %q", host, home)
			case token != "":
				return errors.New("a new token in the middle of a session")
			default:
				c.follow.Add(1)
			}
		}
		_ = connection.Close()
	}
	return nil
}

// request sends one request with a cookie, or without, and returns who answered and the cookie that came with that.
func request(connection net.Conn, reader *bufio.Reader, cookie string) (host, token string, err error) {
	text := "GET / HTTP/1.1\r\nhost: test\r\nx-test-route: r\r\nx-test-cluster: c\r\n"
	if cookie != "" {
		text += "cookie: " + cookie + "\r\n"
	}
	if _, err := io.WriteString(connection, text+"\r\n"); err != nil {
		return "", "", err
	}
	head, err := readHead(reader)
	if err != nil {
		return "", "", err
	}
	if !strings.Contains(head[0][1], " 200 ") {
		return "", "", errors.New(head[0][1])
	}
	host, _ = first(head, "x-test-backend")
	line, _ := first(head, "set-cookie")
	token, _, _ = strings.Cut(line, ";")
	return host, token, nil
}

// crowded is an Envoy with three hosts and a first configuration.
func crowded(t *testing.T) *envoy {
	t.Helper()
	e := envoyFor(t, map[string]string{"LIMPET_KEYS": ringA})
	e.setClock(t, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	e.setHosts(t, []string{"10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080"})
	e.backend.answer = nil
	noError(t, e.configure(t, e.native(config())))
	return e
}

// TestReloadsUnderLoad loads configurations under load: no request fails, no session moves, and no count is lost.
func TestReloadsUnderLoad(t *testing.T) {
	e := crowded(t)
	before := e.stats("limpet_sessions.policy.p")
	c := newCrowd(e)
	for i := range 30 {
		noError(t, e.configure(t, e.native(configs(policy("p", "r"), policy(fmt.Sprintf("q%d", i), "r2")))))
		if err := e.configure(t, e.native("{")); err == nil {
			t.Fatal("Envoy took a configuration that is no JSON")
		}
	}
	noError(t, c.stop())
	after := e.stats("limpet_sessions.policy.p")
	for outcome, n := range map[string]uint64{"new": crowdSize, "pinned": c.follow.Load()} {
		name := "dynamicmodulescustom.limpet_sessions.policy.p.outcome." + outcome
		want(t, "counted as "+outcome, after[name]-before[name], n)
	}
	t.Logf("%d requests", c.follow.Load())
}

// TestWarningsGoOn: what was counted as a warning is still there when a new configuration has taken the place of the one before.
func TestWarningsGoOn(t *testing.T) {
	const name = "dynamicmodulescustom.limpet_warnings.policy.p.cause.insecure-cookie"
	w := newWorld(t, config(), startEnvoy)
	e := w.Filter.(*envoyPlugin).envoy
	w.get("x-forwarded-proto: http")
	counted := e.stats(name)[name]
	want(t, "a warning is counted", counted > 0, true)
	w.restart(config(`"idleTimeout":"1h"`), startEnvoy, ringA)
	const draining = "listener_manager.total_filter_chains_draining"
	e.until(t, "the end of the configuration before", func() bool {
		n, known := e.stats(draining)[draining]
		return known && n == 0
	})
	want(t, "counted in all", e.stats(name)[name], counted)
	clear(w.cookies)
	w.get("x-forwarded-proto: http")
	want(t, "counted with one more", e.stats(name)[name], counted+1)
}

// TestBetweenWasmAndNative changes from one build of the filter to the other and back, under load: sessions go on.
func TestBetweenWasmAndNative(t *testing.T) {
	wasmtest.Require(t)
	path, _ := wasmtest.Find()
	e := crowded(t)
	c := newCrowd(e)
	for range 10 {
		noError(t, e.configure(t, wasm(path, config())))
		noError(t, e.configure(t, e.native(config())))
	}
	noError(t, c.stop())
	t.Logf("%d requests", c.follow.Load())
}

// TestMissingModuleChangesNothing: Envoy refuses a listener whose module is not there, or is none, and goes on with the
// one before; it never serves without the filter.
func TestMissingModuleChangesNothing(t *testing.T) {
	e := crowded(t)
	c := newCrowd(e)
	noModule := e.path("none.so")
	noError(t, os.WriteFile(noModule, []byte("no shared object"), 0o600))
	for _, path := range []string{e.path("missing.so"), noModule} {
		if err := e.configure(t, []any{dynamicModule("limpet", path, config())}); err == nil {
			t.Errorf("Envoy took the module %s", path)
		}
	}
	noError(t, c.stop())
}

// TestNewFileTakesOver: a build under another name is loaded beside the one before, and sessions go on.
func TestNewFileTakesOver(t *testing.T) {
	e := crowded(t)
	text, err := os.ReadFile(nativetest.Module(t, "native/poisoned/liblimpet.so"))
	noError(t, err)
	path := e.path("liblimpet-next.so")
	noError(t, os.WriteFile(path, text, 0o700))
	c := newCrowd(e)
	noError(t, e.configure(t, []any{dynamicModule("limpet", path, config())}))
	noError(t, e.configure(t, e.native(config())))
	noError(t, c.stop())
}

// TestEnvoyMemoryStaysFlat sends requests of all sorts through Envoy. LIMPET_LONG=1 sends a million more.
func TestEnvoyMemoryStaysFlat(t *testing.T) {
	e := crowded(t)
	time.Sleep((drainSeconds + 1) * time.Second) // configurations of other tests go
	rounds, each := 10, 20_000
	if os.Getenv("LIMPET_LONG") == "1" {
		each = 120_000
	}
	gauge := "dynamicmodulescustom.limpet_memory_bytes"
	var held, envoy []uint64
	for range rounds {
		flood(t, e, each)
		held = append(held, e.stats(gauge)[gauge])
		envoy = append(envoy, e.stats("server.memory_allocated")["server.memory_allocated"])
	}
	t.Logf("the module holds %d bytes, Envoy %d", held, envoy)
	// Each thread has room for the lines of the most headers that it has seen, so the first rounds may add some.
	if held[0] == 0 || held[rounds-1] != held[rounds/2] || held[rounds-1] > held[0]+4<<10 {
		t.Errorf("the module holds %d bytes after each round", held)
	}
	if limit := envoy[rounds/2] + 512<<10; envoy[rounds-1] > limit {
		t.Errorf("Envoy holds %d bytes after each round", envoy)
	}
}

// flood sends requests over some connections: new sessions, good ones, forged ones and many forged ones at once.
func flood(t *testing.T, e *envoy, requests int) {
	t.Helper()
	var group sync.WaitGroup
	errs := make([]error, crowdSize)
	for i := range crowdSize {
		group.Go(func() {
			connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", e.port))
			if err != nil {
				errs[i] = err
				return
			}
			defer func() { _ = connection.Close() }()
			reader, good := bufio.NewReader(connection), ""
			for n := range requests / crowdSize {
				cookie := []string{"", "sid=" + forged, good, good, strings.Repeat("sid="+forged+"; ", 40), good, "sid=x", good}[n%8]
				_, token, err := request(connection, reader, cookie)
				if err != nil {
					errs[i] = err
					return
				}
				if token != "" {
					good = token
				}
			}
		})
	}
	group.Wait()
	noError(t, errors.Join(errs...))
}
