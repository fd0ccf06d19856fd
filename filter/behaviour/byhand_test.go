package behaviour

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/filter/internal/nativetest"
	"github.com/limpet-proxy/limpet/filter/wasmtest"
)

// handwritten is an Envoy whose configuration is written by hand: a listener for each test of it, with its own filters and routes.
type handwritten struct {
	*envoy
	clusters  []any
	listeners []any
	ports     map[string]int // by the listener's name
	up        []string       // addresses of backends that answer with their own
	down      string         // an address that nobody listens at
}

func newHandwritten(t *testing.T) *handwritten {
	t.Helper()
	dir, err := os.MkdirTemp("", "limpet-envoy") // t's own name would be too long for a Unix socket
	noError(t, err)
	h := &handwritten{envoy: &envoy{dir: dir, ended: make(chan struct{}), admin: freePort(t)}, ports: map[string]int{}}
	for range 2 {
		h.up = append(h.up, h.serve(t, "tcp", "127.0.0.1:0"))
	}
	h.down = fmt.Sprintf("127.0.0.1:%d", freePort(t))
	h.cluster("both", tcp(h.up[0]), tcp(h.up[1]))
	h.cluster("first", tcp(h.up[0]))
	h.cluster("second", tcp(h.up[1]))
	h.cluster("broken", tcp(h.down), tcp(h.up[1]))
	return h
}

// serve starts a backend that says in x-backend where it is, and in x-got which of limpet's headers it got.
func (h *handwritten) serve(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	noError(t, err)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-backend", l.Addr().String())
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			if strings.Contains(strings.ToLower(name), "limpet") {
				w.Header().Add("x-got", name)
			}
		}
	}))
	noError(t, s.Listener.Close())
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return l.Addr().String()
}

func tcp(host string) object {
	address, port := splitHost(host)
	return object{"socket_address": object{"address": address, "port_value": port}}
}

func (h *handwritten) cluster(name string, addresses ...object) {
	var endpoints []any
	for _, a := range addresses {
		endpoints = append(endpoints, object{"endpoint": object{"address": a}})
	}
	h.clusters = append(h.clusters, object{
		"name": name, "common_lb_config": object{"healthy_panic_threshold": object{"value": 0}},
		"load_assignment": object{"cluster_name": name, "endpoints": []any{object{"lb_endpoints": endpoints}}},
	})
}

// listen adds a listener.
func (h *handwritten) listen(t *testing.T, name string, filters, routes []any) {
	t.Helper()
	h.ports[name] = freePort(t)
	router := object{"name": "router", "typed_config": typed("extensions.filters.http.router.v3.Router", object{})}
	h.listeners = append(h.listeners, object{
		"name": name, "address": loopback(h.ports[name]),
		"filter_chains": []any{object{"filters": []any{object{
			"name": "http", "typed_config": typed("extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", object{
				"stat_prefix": "test", "http_filters": append(slices.Clone(filters), router),
				"route_config": object{"virtual_hosts": []any{object{"name": "all", "domains": []any{"*"}, "routes": routes}}},
			}),
		}}}},
	})
}

// listenBoth adds a listener for each build, with what that needs around it.
func (h *handwritten) listenBoth(t *testing.T, name, config string, routes []any) {
	t.Helper()
	h.listen(t, "wasm/"+name, []any{fence(), limpetWasm(t, config), pinnedBy(pinHeader)}, routes)
	h.listen(t, "native/"+name, []any{limpetNative(t, config)}, routes)
}

// serveAll starts Envoy with one worker.
func (h *handwritten) serveAll(t *testing.T) {
	t.Helper()
	h.start(t, program(t), object{
		"node":             object{"id": "test", "cluster": "test"},
		"admin":            object{"address": loopback(h.admin)},
		"static_resources": object{"listeners": h.listeners, "clusters": h.clusters},
	}, []string{"LIMPET_KEYS=" + ringA}, "--concurrency", "1", "--component-log-level", "wasm:info,dynamic_modules:info")
	t.Cleanup(h.stop)
}

// answer is what a client gets.
type answer struct {
	status int
	http.Header
}

func (a answer) backend() string { return a.Get("x-backend") }

// cookie is what the client sends back, "" for none.
func (a answer) cookie() string {
	pair, _, _ := strings.Cut(a.Get("set-cookie"), ";")
	return pair
}

// request sends a request to a listener, with headers as "name: value".
func (h *handwritten) request(t *testing.T, listener string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", h.ports[listener]), nil)
	noError(t, err)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		if name == "host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	noError(t, err)
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	noError(t, err)
	return answer{response.StatusCode, response.Header}
}

// counter is a counter of a build's.
func (h *handwritten) counter(listener, name string) uint64 {
	return h.stats("limpet_")[counterPrefix(listener)+name]
}

// counterPrefix is what Envoy puts before the names of a build's counters.
func counterPrefix(listener string) string {
	if strings.HasPrefix(listener, "wasm/") {
		return "wasmcustom."
	}
	return "dynamicmodulescustom."
}

// The filters, as one writes them by hand.

func fence() object {
	remove := []any{object{"remove": pinHeader}}
	return object{"name": "fence", "typed_config": typed("extensions.filters.http.header_mutation.v3.HeaderMutation", object{
		"mutations": object{"request_mutations": remove, "response_mutations": remove},
	})}
}

func limpetWasm(t *testing.T, config string) object {
	t.Helper()
	wasmtest.Require(t)
	path, _ := wasmtest.Find()
	return wasm(path, config)[0].(object)
}

func limpetNative(t *testing.T, config string) object {
	t.Helper()
	return dynamicModule("limpet", nativetest.Module(t, "liblimpet.so"), config)
}

func pinnedBy(name string) object {
	return statefulSession("header", typed("extensions.http.stateful_session.header.v3.HeaderBasedSessionState", object{"name": name}))
}

func statefulSession(kind string, state object) object {
	return object{"name": "pin", "typed_config": typed("extensions.filters.http.stateful_session.v3.StatefulSession", object{
		"session_state": object{"name": "envoy.http.stateful_session." + kind, "typed_config": state},
	})}
}

func envoysCookie() object {
	return statefulSession("cookie", typed("extensions.http.stateful_session.cookie.v3.CookieBasedSessionState",
		object{"cookie": object{"name": "plain", "path": "/"}}))
}

// routeTo is a route with retries on another host.
func routeTo(name string, action object) []any {
	action["retry_policy"] = object{
		"retry_on": "connect-failure", "num_retries": 3, "host_selection_retry_max_attempts": 5,
		"retry_host_predicate": []any{object{
			"name":         "envoy.retry_host_predicates.previous_hosts",
			"typed_config": typed("extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate", object{}),
		}},
	}
	r := object{"match": object{"prefix": "/"}, "route": action}
	if name != "" {
		r["name"] = name
	}
	return []any{r}
}

func to(cluster string) object { return object{"cluster": cluster} }

// unixSocket is the path of a socket.
func (h *handwritten) unixSocket(name string) string { return filepath.Join(h.dir, name) }
