package behaviour

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Two rings that share their first key's id but not the key, and the environment that holds the first.
const (
	secretA = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE"
	secretB = "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI"
	ringA   = `{"keys":[{"id":"a","secret":"` + secretA + `"}]}`
)

const pinHeader = "x-limpet-pin"

var backendHeader = policyconfig.BackendHeader(pinHeader)

// world is a client, a proxy with the plugin, and backends. It does what Envoy's stateful_session filter does
// between the plugin and the hosts.
type world struct {
	t      *testing.T
	plugin plugin
	now    time.Time
	// hosts that serve; requests without a pin take them in turn.
	hosts []string
	turn  int
	// backends are the tags in hosts' metadata. A request that names one takes its hosts in turn, if any serves.
	backends map[string]string
	// strict is stateful_session's strict mode: a pinned host that does not serve is not replaced.
	strict bool
	// strictStatus is what Envoy answers then; empty is 503.
	strictStatus string
	// answer makes a backend's response; nil answers 200.
	answer func(req [][2]string) [][2]string
	// details overrides response.code_details, as if the proxy itself had answered.
	details string
	// unpoliced says that no policy holds, so that only Envoy's own fence would remove the pin header.
	unpoliced bool
	// refuses is a host with an IPv4 address that takes no connections: the proxy tries another.
	refuses string
	// cookies is the client's jar: names to values.
	cookies map[string]string
}

func newWorld(t *testing.T, config string, start start) *world {
	t.Helper()
	w := &world{
		t: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), cookies: map[string]string{},
		hosts: []string{"10.0.0.1:8080", "10.0.0.2:8080", "[2001:db8::3]:8080"},
	}
	w.restart(config, start, ringA)
	return w
}

// restart loads a configuration as a new proxy would, with the ring in its environment.
func (w *world) restart(config string, start start, ring string) {
	w.t.Helper()
	p, err := start(w.t, config, map[string]string{"LIMPET_KEYS": ring}, func() time.Time { return w.now })
	if err != nil {
		w.t.Fatalf("the plugin refused its configuration:\n%v", err)
	}
	w.plugin = p
}

// result is what came of one request.
type result struct {
	// host served the request, "" when the proxy answered.
	host string
	// received is what the backend saw, without pseudo-headers.
	received [][2]string
	// headers are the response as the client sees it.
	headers [][2]string
	log     string
	state   map[string]string
}

func (r result) setCookies() []string { return values(r.headers, "set-cookie") }

func (r result) header(name string) string {
	v, _ := first(r.headers, name)
	return v
}

// get sends a request with the jar's cookies and the extra headers given as "name: value".
func (w *world) get(extra ...string) result { w.t.Helper(); return w.send("r", "c", extra...) }

func (w *world) send(route, cluster string, extra ...string) result {
	w.t.Helper()
	h := [][2]string{{":method", "GET"}, {":path", "/"}, {":authority", "shop.example"}, {":scheme", "https"}, {"x-forwarded-proto", "https"}}
	for _, line := range extra {
		name, value, _ := strings.Cut(line, ": ")
		if strings.HasPrefix(name, ":") || name == "x-forwarded-proto" {
			h = without(h, name)
		}
		h = append(h, [2]string{name, value})
	}
	if _, own := first(h, "cookie"); !own && len(w.cookies) > 0 {
		h = append(h, [2]string{"cookie", w.cookieLine()})
	}
	var r result
	var err error
	if p, ok := w.plugin.(proxy); ok {
		r, err = p.exchange(w, route, cluster, h)
	} else {
		r, err = w.exchange(w.plugin.open(route, cluster), h)
	}
	w.check(err)
	if v, ok := first(r.headers, pinHeader); ok && !w.unpoliced {
		w.t.Errorf("limpet left the pin header on the response: %q", v)
	}
	w.store(r.setCookies())
	return r
}

// exchange plays everything around the plugin.
func (w *world) exchange(s stream, h [][2]string) (result, error) {
	defer s.close()
	sent, err := s.request(h)
	if err != nil {
		return result{}, err
	}
	r, reply, details := w.upstream(sent)
	if told, ok := s.(backendStream); ok {
		told.setBackend(w.backends[r.host])
	}
	s.attempted(w.attempts(sent))
	r.headers, err = s.response(reply, details, false)
	r.log, r.state = s.logged(), s.states()
	return r, err
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// upstream plays stateful_session, the load balancer and the backend.
func (w *world) upstream(req [][2]string) (result, [][2]string, string) {
	pin, pinned := first(req, pinHeader)
	r := result{received: without(without(req, pinHeader), backendHeader), host: w.pinned(req)}
	if !slices.Contains(w.hosts, r.host) || r.host == w.refuses {
		if pinned && w.strict {
			r.host = ""
			return r, [][2]string{{":status", cmp.Or(w.strictStatus, "503")}}, "no_healthy_upstream"
		}
		hosts := w.subset(req)
		r.host = hosts[w.turn%len(hosts)]
		w.turn++
	}
	reply := [][2]string{{":status", "200"}}
	if w.answer != nil {
		reply = slices.Clone(w.answer(r.received))
	}
	if chosen := base64.StdEncoding.EncodeToString([]byte(r.host)); chosen != pin {
		reply = append(reply, [2]string{pinHeader, chosen})
	}
	if w.details != "" {
		r.host = ""
		return r, reply, w.details
	}
	return r, reply, "via_upstream"
}

// pinned is the host that the plugin wants, "" for none.
func (w *world) pinned(req [][2]string) string {
	pin, _ := first(req, pinHeader)
	text, err := base64.StdEncoding.DecodeString(pin)
	w.check(err)
	return string(text)
}

// attempts is how often the request is sent.
func (w *world) attempts(req [][2]string) int {
	if w.refuses != "" && w.pinned(req) == w.refuses {
		return 2
	}
	return 1
}

// subset gives the hosts among which the load balancer chooses.
func (w *world) subset(req [][2]string) (hosts []string) {
	backend, named := first(req, backendHeader)
	for _, host := range w.hosts {
		if named && w.backends[host] == backend {
			hosts = append(hosts, host)
		}
	}
	if len(hosts) == 0 {
		return w.hosts
	}
	return hosts
}

func (w *world) cookieLine() string {
	var pairs []string
	for name, value := range w.cookies {
		pairs = append(pairs, name+"="+value)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "; ")
}

// store keeps cookies as a browser would, except that only Max-Age=0 removes them here: time-outs are the
// filter's to enforce.
func (w *world) store(lines []string) {
	for _, line := range lines {
		pair, attributes, _ := strings.Cut(line, ";")
		name, value, _ := strings.Cut(pair, "=")
		if strings.Contains(attributes, "Max-Age=0") {
			delete(w.cookies, name)
		} else {
			w.cookies[name] = value
		}
	}
}

func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }

// want compares one value.
func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// counted checks a counter and forgets nothing: counters only grow.
func (w *world) counted(policyOutcome string, n uint64) {
	w.t.Helper()
	want(w.t, "counter "+policyOutcome, w.plugin.counts()[policyOutcome], n)
}

// config makes a plugin configuration with one policy "p" for route "r"; fields are further JSON members of it.
func config(fields ...string) string { return configs(policy("p", "r", fields...)) }

func policy(name, route string, fields ...string) string {
	all := append([]string{fmt.Sprintf(`"name":%q,"routes":[%q]`, name, route)}, fields...)
	if !strings.Contains(strings.Join(fields, ","), `"sessionName"`) {
		all = append(all, `"sessionName":"sid"`)
	}
	return "{" + strings.Join(all, ",") + "}"
}

func configs(policies ...string) string {
	return `{"version":"limpet.dev/v1","policies":[` + strings.Join(policies, ",") + `]}`
}
