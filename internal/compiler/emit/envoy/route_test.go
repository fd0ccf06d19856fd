package envoy_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// serving is a configuration with one listener that has hosts.
func serving(hosts ...ir.Host) *ir.Config {
	return &ir.Config{Listeners: []ir.Listener{{Address: netip.MustParseAddr("0.0.0.0"), Port: 80, Hosts: hosts}}}
}

// routeYAML is what a route becomes among others that have no sessions.
func routeYAML(t *testing.T, r ir.Route) any {
	t.Helper()
	other := ir.Route{Name: "other", Match: ir.Match{Path: "/"}, Status: 404}
	return at(t, bootstrap(t, serving(ir.Host{Domain: "*", Routes: []ir.Route{r, other}}), newSettings()), firstRoute)
}

func pointerTo[T any](v T) *T { return &v }

// TestMatches holds what of a request a route asks for.
func TestMatches(t *testing.T) {
	for name, c := range map[string]struct {
		match ir.Match
		want  string
	}{
		"every path":           {ir.Match{Path: "/"}, `{prefix: /, headers: null, query_parameters: null, grpc: null}`},
		"whole segments":       {ir.Match{Path: "/cart"}, `{path_separated_prefix: /cart, prefix: null, path: null}`},
		"the whole path":       {ir.Match{Path: "/cart", Exact: true}, `{path: /cart, path_separated_prefix: null}`},
		"the whole path, root": {ir.Match{Path: "/", Exact: true}, `{safe_regex: {regex: "//?"}, prefix: null, path: null}`},
		"a regular expression": {ir.Match{Path: "/", Regex: "/[^/]+/Get"}, `{safe_regex: {regex: "/[^/]+/Get"}, prefix: null}`},
		"a method":             {ir.Match{Path: "/", Method: "GET"}, `{headers: [{name: ":method", string_match: {exact: GET}}]}`},
		"headers behind it":    {ir.Match{Path: "/", Method: "GET", Headers: []ir.ValueMatch{{Name: "x-a", Value: "1"}, {Name: "x-b", Value: ""}}}, `{headers: [{name: ":method"}, {name: x-a, string_match: {exact: "1"}}, {name: x-b, string_match: {exact: ""}}]}`},
		"the query":            {ir.Match{Path: "/", Query: []ir.ValueMatch{{Name: "a", Value: "1"}}}, `{query_parameters: [{name: a, string_match: {exact: "1"}}]}`},
		"gRPC":                 {ir.Match{Path: "/a.B", GRPC: true}, `{grpc: {}, path_separated_prefix: /a.B}`},
	} {
		t.Run(name, func(t *testing.T) {
			checkYAML(t, at(t, routeYAML(t, ir.Route{Name: "r", Match: c.match, Cluster: "a"}), "match"), c.want)
		})
	}
}

const (
	enabled  = `{"@type": type.googleapis.com/envoy.config.route.v3.FilterConfig, config: {}}`
	strict   = `{"@type": type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute, stateful_session: {strict: true, status_on_strict_destination_not_found: `
	pinState = `, session_state: {name: envoy.http.stateful_session.header, typed_config: {name: x-limpet-pin}}}}`
)

// TestRoutes holds what becomes of the requests that match.
//
// requirements: 2A.12, 2A.28, S40
func TestRoutes(t *testing.T) {
	root := ir.Match{Path: "/"}
	sessions := func(session string) string {
		return `{envoy.filters.http.header_mutation: ` + enabled + `, limpet: ` + enabled + `, envoy.filters.http.stateful_session: ` + session + `}`
	}
	for name, c := range map[string]struct {
		route ir.Route
		want  string
	}{
		"a status":                    {ir.Route{Name: "r", Match: root, Status: 500}, `{name: r, direct_response: {status: 500}, route: null, typed_per_filter_config: null}`},
		"a cluster without sessions":  {ir.Route{Name: "r", Match: root, Cluster: "a"}, `{name: r, route: {cluster: a, timeout: 0s, retry_policy: null, hash_policy: null}, direct_response: null, typed_per_filter_config: null}`},
		"a cluster with sessions":     {ir.Route{Name: "r", Match: root, Cluster: "a", Sticky: true}, `{route: {cluster: a}, typed_per_filter_config: ` + sessions(enabled) + `}`},
		"sessions that must not move": {ir.Route{Name: "r", Match: root, Cluster: "a", Sticky: true, FailStatus: 503}, `{route: {cluster: a, retry_policy: null}, typed_per_filter_config: ` + sessions(strict+"503"+pinState) + `}`},
		"a split": {
			ir.Route{Name: "r", Match: root, Split: []ir.Share{{Cluster: "a", Weight: 9}, {Cluster: "b", Weight: 1}}},
			`{route: {cluster: null, retry_policy: null, weighted_clusters: {clusters: [{name: a, weight: 9, typed_per_filter_config: null, request_headers_to_add: null}, {name: b, weight: 1}]}}, typed_per_filter_config: null}`,
		},
		"a split, one of whose sessions must not move": {
			ir.Route{Name: "r", Match: root, Sticky: true, Split: []ir.Share{{Cluster: "a", Weight: 9, FailStatus: 502}, {Cluster: "b", Weight: 1}}},
			`
route:
  weighted_clusters:
    clusters:
    - {name: a, typed_per_filter_config: {envoy.filters.http.stateful_session: ` + strict + "502" + pinState + `}, request_headers_to_add: null}
    - {name: b, typed_per_filter_config: null, request_headers_to_add: [{header: {key: x-envoy-retry-on, value: "connect-failure,refused-stream,reset-before-request"}, append_action: OVERWRITE_IF_EXISTS_OR_ADD}]}
  retry_policy: {retry_on: null, num_retries: 3}
typed_per_filter_config: ` + sessions(enabled),
		},
		"a split, none of whose sessions may move": {
			ir.Route{Name: "r", Match: root, Sticky: true, Split: []ir.Share{{Cluster: "a", Weight: 9, FailStatus: 502}, {Cluster: "b", Weight: 1, FailStatus: 503}}},
			`{route: {retry_policy: null, weighted_clusters: {clusters: [{request_headers_to_add: null}, {request_headers_to_add: null, typed_per_filter_config: {envoy.filters.http.stateful_session: ` + strict + "503" + pinState + `}}]}}}`,
		},
		"a timeout": {ir.Route{Name: "r", Match: root, Cluster: "a", Timeout: 90 * time.Second}, `{route: {timeout: 90s, retry_policy: null}}`},
		"hashes": {
			ir.Route{Name: "r", Match: root, Cluster: "a", Hashes: []ir.Hash{
				{Header: "x-user", Terminal: true}, {Cookie: "c", Path: "/"}, {Cookie: "d", TTL: pointerTo(time.Hour), Path: "/p"}, {Cookie: "e", TTL: pointerTo(time.Duration(0)), Path: "/"}, {Query: "q"}, {SourceIP: true},
			}}, `
route:
  hash_policy:
  - {header: {header_name: x-user}, terminal: true}
  - {cookie: {name: c, ttl: null, path: null}, terminal: null}
  - {cookie: {name: d, ttl: 3600s, path: /p}}
  - {cookie: {name: e, ttl: 0s, path: /}}
  - {query_parameter: {name: q}}
  - {connection_properties: {source_ip: true}}`,
		},
	} {
		t.Run(name, func(t *testing.T) { checkYAML(t, routeYAML(t, c.route), c.want) })
	}
}

// TestRetries holds which requests are tried again, how often, and where: never where sessions must not move, for Envoy
// drops the pin on a retry.
//
// requirements: 2A.28, S73
func TestRetries(t *testing.T) {
	const elsewhere = `retry_host_predicate: [{name: envoy.retry_host_predicates.previous_hosts}], host_selection_retry_max_attempts: "5"`
	for name, c := range map[string]struct {
		route ir.Route
		want  string
	}{
		"sessions that may move leave a host that did not get the request": {ir.Route{Sticky: true}, `{retry_policy: {retry_on: "connect-failure,refused-stream,reset-before-request", num_retries: 3, per_try_timeout: null, retriable_status_codes: null, retry_back_off: null, ` + elsewhere + `}}`},
		"neither sessions nor retries":                                     {ir.Route{}, `{retry_policy: null}`},
		"retries without sessions":                                         {ir.Route{Retry: &ir.Retry{}}, `{retry_policy: {retry_on: "connect-failure,refused-stream,reset", num_retries: 3, ` + elsewhere + `}}`},
		"statuses that count as failures, of requests without a session":   {ir.Route{Sticky: true, Retry: &ir.Retry{Codes: []int{502, 504}}}, `{retry_policy: {retry_on: "connect-failure,refused-stream,reset", retriable_status_codes: [502, 504]}}`},
		"statuses that count as failures":                                  {ir.Route{Retry: &ir.Retry{Codes: []int{502, 504}}}, `{retry_policy: {retry_on: "connect-failure,refused-stream,reset,retriable-status-codes", retriable_status_codes: [502, 504]}}`},
		"a number of attempts":                                             {ir.Route{Retry: &ir.Retry{Attempts: pointerTo(uint32(1))}}, `{retry_policy: {num_retries: 1, host_selection_retry_max_attempts: "20"}}`},
		"many attempts, bounded picks of hosts":                            {ir.Route{Retry: &ir.Retry{Attempts: pointerTo(uint32(1000))}}, `{retry_policy: {num_retries: 1000, host_selection_retry_max_attempts: "200"}}`},
		"no attempts":                                                      {ir.Route{Sticky: true, Retry: &ir.Retry{Attempts: pointerTo(uint32(0)), Codes: []int{500}}}, `{retry_policy: null}`},
		"a wait":                                                           {ir.Route{Retry: &ir.Retry{Backoff: pointerTo(200 * time.Millisecond)}}, `{retry_policy: {retry_back_off: {base_interval: 0.200s, max_interval: 2s}}}`},
		"no wait, which Envoy does not have":                               {ir.Route{Retry: &ir.Retry{Backoff: pointerTo(time.Duration(0))}}, `{retry_policy: {retry_back_off: {base_interval: 0.001s, max_interval: 0.010s}}}`},
		"a wait of a century":                                              {ir.Route{Retry: &ir.Retry{Backoff: pointerTo(100 * 365 * 24 * time.Hour)}}, `{retry_policy: {retry_back_off: {base_interval: 3153600000s, max_interval: 4611686018.427387900s}}}`},
		"a limit on each try":                                              {ir.Route{PerTryTimeout: time.Second}, `{retry_policy: {per_try_timeout: 1s, retry_on: null, num_retries: null}}`},
		"a limit on each try, and sessions":                                {ir.Route{Sticky: true, PerTryTimeout: time.Second}, `{retry_policy: {per_try_timeout: 1s, num_retries: 3}}`},
		"sessions that must not move, whatever is said":                    {ir.Route{Sticky: true, FailStatus: 503, Retry: &ir.Retry{Codes: []int{500}}}, `{retry_policy: null}`},
		"and their limit on each try":                                      {ir.Route{Sticky: true, FailStatus: 503, PerTryTimeout: time.Second}, `{retry_policy: {per_try_timeout: 1s, retry_on: null, num_retries: null}}`},
	} {
		t.Run(name, func(t *testing.T) {
			c.route.Name, c.route.Match, c.route.Cluster = "r", ir.Match{Path: "/"}, "a"
			checkYAML(t, at(t, routeYAML(t, c.route), "route"), c.want)
		})
	}
}

// TestHosts holds that each hostname has its own routes in their order, and that one without any answers 404.
func TestHosts(t *testing.T) {
	route := func(name string) ir.Route { return ir.Route{Name: name, Match: ir.Match{Path: "/"}, Cluster: "a"} }
	config := serving(ir.Host{Domain: "b.example.com", Routes: []ir.Route{route("2"), route("1")}}, ir.Host{Domain: "*.example.com"}, ir.Host{Domain: "*", Routes: []ir.Route{route("3")}})
	checkYAML(t, at(t, bootstrap(t, config, newSettings()), firstManager+".route_config"), `
name: listener/0.0.0.0/80
ignore_port_in_host_matching: true
request_headers_to_remove: [x-limpet-pin, x-limpet-pin-backend]
response_headers_to_remove: [x-limpet-pin]
virtual_hosts:
- {name: b.example.com, domains: [b.example.com], routes: [{name: "2"}, {name: "1"}]}
- {name: "*.example.com", domains: ["*.example.com"], routes: null}
- {name: "*", domains: ["*"], routes: [{name: "3"}]}`)
	checkYAML(t, at(t, bootstrap(t, serving(), newSettings()), firstManager+".route_config"), `{name: listener/0.0.0.0/80, virtual_hosts: null}`)
}

// TestLeanTables holds that a table in which most routes have sessions turns the filters on once, and off for the others.
func TestLeanTables(t *testing.T) {
	const disabled = `{"@type": type.googleapis.com/envoy.config.route.v3.FilterConfig, disabled: true, config: null}`
	root := ir.Match{Path: "/"}
	sticky := ir.Route{Name: "s", Match: root, Cluster: "a", Sticky: true}
	strictly := ir.Route{Name: "f", Match: root, Cluster: "a", Sticky: true, FailStatus: 503}
	plain, status := ir.Route{Name: "p", Match: root, Cluster: "a"}, ir.Route{Name: "d", Match: root, Status: 500}
	all := func(config string) string {
		return `{envoy.filters.http.header_mutation: ` + config + `, limpet: ` + config + `, envoy.filters.http.stateful_session: ` + config + `}`
	}
	most := serving(ir.Host{Domain: "a", Routes: []ir.Route{sticky, strictly, plain}}, ir.Host{Domain: "b", Routes: []ir.Route{sticky, status}})
	checkYAML(t, at(t, bootstrap(t, most, newSettings()), firstManager+".route_config"), `
typed_per_filter_config: `+all(enabled)+`
virtual_hosts:
- routes:
  - {name: s, typed_per_filter_config: null}
  - {name: f, typed_per_filter_config: {envoy.filters.http.header_mutation: null, limpet: null, envoy.filters.http.stateful_session: `+strict+"503"+pinState+`}}
  - {name: p, typed_per_filter_config: `+all(disabled)+`}
- routes:
  - {name: s, typed_per_filter_config: null}
  - {name: d, typed_per_filter_config: `+all(disabled)+`}`)
	half := serving(ir.Host{Domain: "a", Routes: []ir.Route{sticky, plain}})
	checkYAML(t, at(t, bootstrap(t, half, newSettings()), firstManager+".route_config"), `
typed_per_filter_config: null
virtual_hosts: [{routes: [{name: s, typed_per_filter_config: `+all(enabled)+`}, {name: p, typed_per_filter_config: null}]}]`)
}

// TestHostsShareRetries holds that what most routes of a host have as their retry policy stands there once, and that
// sessions which must not move say so then.
func TestHostsShareRetries(t *testing.T) {
	root := ir.Match{Path: "/"}
	sticky := ir.Route{Name: "s", Match: root, Cluster: "a", Sticky: true}
	strictly := ir.Route{Name: "f", Match: root, Cluster: "a", Sticky: true, FailStatus: 503}
	own := ir.Route{Name: "o", Match: root, Cluster: "a", Sticky: true, Retry: &ir.Retry{Codes: []int{500}}}
	status := ir.Route{Name: "d", Match: root, Status: 500}
	most := serving(ir.Host{Domain: "a", Routes: []ir.Route{sticky, sticky, sticky, strictly, own, status}})
	checkYAML(t, at(t, bootstrap(t, most, newSettings()), firstManager+".route_config.virtual_hosts.0"), `
retry_policy: {retry_on: "connect-failure,refused-stream,reset-before-request", num_retries: 3, retry_host_predicate: [{name: envoy.retry_host_predicates.previous_hosts}]}
routes:
- {name: s, route: {retry_policy: null}}
- {name: s, route: {retry_policy: null}}
- {name: s, route: {retry_policy: null}}
- {name: f, route: {retry_policy: {retry_on: null, num_retries: null, retry_host_predicate: null}}}
- {name: o, route: {retry_policy: {retriable_status_codes: [500]}}}
- {name: d, route: null, direct_response: {status: 500}}`)
	half := serving(ir.Host{Domain: "a", Routes: []ir.Route{sticky, strictly}})
	checkYAML(t, at(t, bootstrap(t, half, newSettings()), firstManager+".route_config.virtual_hosts.0"), `
retry_policy: null
routes: [{route: {retry_policy: {num_retries: 3}}}, {route: {retry_policy: null}}]`)
}

// TestPoliciesTravel holds that a route's policies are in its metadata, of those that it shares with others only its own, and
// their identity in its name.
func TestPoliciesTravel(t *testing.T) {
	policy := func(name, route string) policyconfig.Policy {
		p := policyconfig.DefaultPolicy()
		p.Name, p.Routes, p.SessionName = name, []string{route}, "cart"
		return p
	}
	r := ir.Route{Name: "httproute/a", Match: ir.Match{Path: "/"}, Cluster: "a", Sticky: true, Policies: []policyconfig.Policy{policy("a", "httproute/a"), policy("b", "other")}}
	config := serving(ir.Host{Domain: "*", Routes: []ir.Route{r}})
	route := at(t, bootstrap(t, config, newSettings()), firstRoute)
	checkYAML(t, route, `{metadata: {filter_metadata: {limpet: {policies: '[{"sessionName":"cart"}]'}}}}`)
	if name, identity, found := policyconfig.CutIdentity(at(t, route, "name").(string)); !found || name != r.Name {
		t.Errorf("the route is %s with the identity %q", name, identity)
	}
	r.Policies[0].SessionName = "c a r t"
	if _, err := emit(config, newSettings()); err == nil || !strings.Contains(err.Error(), "httproute/a: [0].sessionName") {
		t.Errorf("a policy that the filter would refuse is written: %v", err)
	}
}
