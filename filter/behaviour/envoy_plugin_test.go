package behaviour

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/wasmtest"
)

// envoyPlugin is the shipped native module in a real Envoy.
type envoyPlugin struct {
	t          *testing.T
	envoy      *envoy
	before     map[string]uint64
	logging    bool
	config     string
	connection net.Conn
	reader     *bufio.Reader
	requests   int
}

func startEnvoy(t *testing.T, config string, env map[string]string, _ func() time.Time) (wasmtest.Filter, error) {
	t.Helper()
	e := envoyFor(t, env)
	if err := e.configure(t, e.native(config)); err != nil {
		return nil, err
	}
	p := &envoyPlugin{t: t, envoy: e, config: config, before: e.stats("limpet_sessions"), logging: strings.Contains(config, `"accessLog`)}
	var err error
	if p.connection, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", e.port)); err != nil {
		return nil, err
	}
	p.reader = bufio.NewReaderSize(p.connection, 128<<10)
	t.Cleanup(func() { _ = p.connection.Close() })
	return p, nil
}

func (p *envoyPlugin) Open(map[string]string) wasmtest.Exchange { panic("Envoy takes whole requests") }

func (p *envoyPlugin) Counters() map[string]uint64 {
	changed := map[string]uint64{}
	for name, n := range p.envoy.stats("limpet_sessions") {
		if n > p.before[name] {
			changed[strings.TrimPrefix(name, "dynamicmodulescustom.")] = n - p.before[name]
		}
	}
	return changed
}

// exchange sends a request through Envoy to the world's hosts.
func (p *envoyPlugin) exchange(w *world, route, cluster string, h [][2]string) (result, error) {
	e, next := p.envoy, w.hosts[w.Turn%len(w.hosts)]
	e.setHosts(p.t, w.hosts)
	e.setClock(p.t, w.Now)
	e.setRefusing(p.t, w.Refuses)
	e.backend.answer, e.backend.host, e.backend.received = w.Answer, "", nil
	p.requests++
	id := fmt.Sprintf("%d-%d", e.generation, p.requests)
	h = append(h, [][2]string{{"x-test-route", route}, {"x-test-cluster", cluster}, {"x-test-host", next}, {"x-test-id", id}}...)
	if _, err := p.connection.Write(requestText(w, h)); err != nil {
		return result{}, err
	}
	head, err := readHead(p.reader)
	if err != nil {
		return result{}, err
	}
	method, _ := first(h, ":method")
	size, _ := first(head, "content-length")
	if n, _ := strconv.Atoi(size); n > 0 && method != "HEAD" {
		if _, err := p.reader.Discard(n); err != nil {
			return result{}, err
		}
	}
	r := result{host: e.backend.host, received: e.backend.received, headers: head[1:]}
	r.headers = append(r.headers, [2]string{":status", strings.Fields(head[0][1])[1]})
	if r.host == next {
		w.Turn++
	}
	if p.logging {
		r.log, r.state = p.logged(id)
	}
	return r, nil
}

// requestText is a request on the wire; where the world has the proxy answer itself, it asks module reply for that.
func requestText(w *world, h [][2]string) []byte {
	var out bytes.Buffer
	pseudo := func(name string) string { value, _ := first(h, name); return value }
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nhost: %s\r\n", pseudo(":method"), pseudo(":path"), pseudo(":authority"))
	for _, line := range h {
		if !strings.HasPrefix(line[0], ":") {
			fmt.Fprintf(&out, "%s: %s\r\n", line[0], line[1])
		}
	}
	if w.Details != "" && w.Details != "via_upstream" {
		reply := w.Answer("", nil)
		status, _ := first(reply, ":status")
		fmt.Fprintf(&out, "x-test-details: %s\r\nx-test-status: %s\r\n", w.Details, status)
		for _, line := range without(reply, ":status") {
			fmt.Fprintf(&out, "x-test-header: %s: %s\r\n", line[0], line[1])
		}
	}
	out.WriteString("\r\n")
	return out.Bytes()
}

// logged waits for the line of a request in the access log.
func (p *envoyPlugin) logged(id string) (code string, states map[string]string) {
	var line string
	p.envoy.until(p.t, "the access log", func() bool {
		text, err := os.ReadFile(p.envoy.path("access.log"))
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut("\n"+string(text), "\n"+id+" ")
		var whole bool
		line, _, whole = strings.Cut(rest, "\n")
		return whole
	})
	values := strings.Split(line, "\t")
	states = map[string]string{}
	for i, name := range loggedStates {
		if value := values[i+1]; value != "-" {
			states[name] = value
		}
	}
	if code = values[0]; code == "-" && !strings.Contains(p.config, `"accessLog":true`) {
		code = ""
	}
	return code, states
}
