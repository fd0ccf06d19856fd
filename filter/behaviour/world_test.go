package behaviour

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/wasmtest"
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

// world is a client and a proxy with the filter: a played one, but for a filter that brings a real one. No fence stands in front, so that
// the filter has to keep the pin header from clients by itself.
type world struct {
	t *testing.T
	*wasmtest.Proxy
	// hosts serve the requests of all routes.
	hosts []string
	// unpoliced says that no policy holds, so that only Envoy's own fence would remove the pin header.
	unpoliced bool
	// cookies is the client's jar: names to values.
	cookies map[string]string
}

func newWorld(t *testing.T, config string, start start) *world {
	t.Helper()
	w := emptyWorld(t, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), "10.0.0.1:8080", "10.0.0.2:8080", "[2001:db8::3]:8080")
	w.restart(config, start, ringA)
	return w
}

// emptyWorld has no filter yet.
func emptyWorld(t *testing.T, now time.Time, hosts ...string) *world {
	t.Helper()
	p := &wasmtest.Proxy{Now: now, PinHeader: pinHeader, Unfenced: true}
	return &world{t: t, Proxy: p, hosts: hosts, cookies: map[string]string{}}
}

// restart loads a configuration as a new proxy would, with the ring in its environment.
func (w *world) restart(config string, start start, ring string) {
	w.t.Helper()
	filter, err := start(w.t, config, map[string]string{"LIMPET_KEYS": ring}, func() time.Time { return w.Now })
	if err != nil {
		w.t.Fatalf("the plugin refused its configuration:\n%v", err)
	}
	w.Filter = filter
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
	r, err := w.exchange(route, cluster, h)
	w.noError(err)
	if v, ok := first(r.headers, pinHeader); ok && !w.unpoliced {
		w.t.Errorf("limpet left the pin header on the response: %q", v)
	}
	w.store(r.setCookies())
	return r
}

// exchange sends a request to the real proxy, or to the played one.
func (w *world) exchange(route, cluster string, h [][2]string) (result, error) {
	if p, is := w.Filter.(realProxy); is {
		return p.exchange(w, route, cluster, h)
	}
	w.Hosts, w.Cluster = map[string][]string{route: w.hosts}, map[string]string{route: cluster}
	r, err := w.Send(route, h)
	code := r.State[policyconfig.OutcomeFilterState]
	delete(r.State, policyconfig.OutcomeFilterState)
	return result{host: r.Host, received: r.Received, headers: r.Headers, log: code, state: r.State}, err
}

func (w *world) noError(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
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

func (w *world) pass(d time.Duration) { w.Now = w.Now.Add(d) }

// want compares one value.
func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// counts are the counters of sessions by "POLICY OUTCOME".
func (w *world) counts() map[string]uint64 { return sessions(w.Filter.Counters()) }

// counted checks a counter and forgets nothing: counters only grow.
func (w *world) counted(policyOutcome string, n uint64) {
	w.t.Helper()
	want(w.t, "counter "+policyOutcome, w.counts()[policyOutcome], n)
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
