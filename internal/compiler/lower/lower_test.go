package lower

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// firstRoutes are the routes of the first host of the first listener.
func firstRoutes(t *testing.T, config *ir.Config) []ir.Route {
	t.Helper()
	if len(config.Listeners) == 0 || len(config.Listeners[0].Hosts) == 0 {
		t.Fatalf("no routes: %+v", config)
	}
	return config.Listeners[0].Hosts[0].Routes
}

func findCluster(t *testing.T, config *ir.Config, name string) ir.Cluster {
	t.Helper()
	i := slices.IndexFunc(config.Clusters, func(c ir.Cluster) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no cluster %s in %+v", name, config.Clusters)
	}
	return config.Clusters[i]
}

func TestMatches(t *testing.T) {
	for written, want := range map[string]ir.Match{
		`{}`: {Path: "/"},
		`{path: {type: PathPrefix, value: /cart/}}`:                 {Path: "/cart"},
		`{path: {type: Exact, value: /cart/}}`:                      {Path: "/cart/", Exact: true},
		`{method: GET, queryParams: [{name: a, value: b}]}`:         {Path: "/", Method: "GET", Query: []ir.ValueMatch{{Name: "a", Value: "b"}}},
		`{headers: [{name: X-A, value: "1"}, {name: X, value: v}]}`: {Path: "/", Headers: []ir.ValueMatch{{Name: "x-a", Value: "1"}, {Name: "x", Value: "v"}}},
	} {
		config, _, _ := lowerDocuments(t, nil, routeDocument("HTTPRoute", `{matches: [`+written+`], backendRefs: [{name: a, port: 80}]}`), serviceDocuments("a", "10.0.0.1"))
		if got := firstRoutes(t, config)[0].Match; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", written, got, want)
		}
	}
}

// What a rule without sessions does with its requests, by its backends.
func TestActionsWithoutSessions(t *testing.T) {
	services := serviceDocuments("a", "10.0.0.1") + serviceDocuments("b", "10.0.0.2")
	for refs, want := range map[string]ir.Route{
		``:                               {Status: 500},
		`{name: a, port: 80}`:            {Cluster: "service/default/a/80"},
		`{name: missing, port: 80}`:      {Status: 500},
		`{name: a, port: 80, weight: 0}`: {Status: 500},
		`{name: a, port: 80}, {name: a, port: 80}`:            {Cluster: "service/default/a/80"},
		`{name: a, port: 80, weight: 3}, {name: b, port: 80}`: {Split: []ir.Share{{Cluster: "service/default/a/80", Weight: 3}, {Cluster: "service/default/b/80", Weight: 1}}},
		`{name: a, port: 80}, {name: missing, port: 80}`:      {Split: []ir.Share{{Cluster: "service/default/a/80", Weight: 1}, {Cluster: "answer/500", Weight: 1}}},
	} {
		config, _, _ := lowerDocuments(t, nil, routeDocument("HTTPRoute", `{backendRefs: [`+refs+`]}`), services)
		got := firstRoutes(t, config)[0]
		got.Name, got.Match = "", ir.Match{}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", refs, got, want)
		}
	}
}

// One session for several backends needs one cluster, in which each backend has its share and weight 0 keeps its sessions.
func TestSharedSession(t *testing.T) {
	config, _, _ := lowerDocuments(t, nil,
		routeDocument("HTTPRoute", `{backendRefs: [{name: a, port: 80, weight: 9}, {name: b, port: 80, weight: 0}, {name: empty, port: 80, weight: 1}]}`),
		serviceDocuments("a", "10.0.0.1"), serviceDocuments("b", "10.0.0.2"), serviceDocuments("empty"), sessionDocument("HTTPRoute", "r", ", onHostLost: Fail"))
	route := firstRoutes(t, config)[0]
	if !route.Sticky || route.Cluster != "httproute/default/r/rule/0" || route.FailStatus != 503 || len(route.Policies) != 1 {
		t.Errorf("got %+v, want a route with a session in a cluster of the rule's own", route)
	}
	var got []string
	for _, l := range findCluster(t, config, route.Cluster).Localities {
		got = append(got, fmt.Sprint(l.Name, " ", l.Weight, " ", len(l.Endpoints), " ", l.DirectStatus))
	}
	if want := []string{"default/a:80 9 1 0", "default/b:80 0 1 0", "default/empty:80 1 0 503"}; !slices.Equal(got, want) {
		t.Errorf("got the localities %q, want %q", got, want)
	}
}

// Policies stay with their routes, those of each backend restricted to its cluster; the configuration lists each once.
// What was decided does not change by that.
func TestPoliciesStayWithTheirRoutes(t *testing.T) {
	config, _, s := lowerDocuments(t, nil,
		routeDocument("HTTPRoute", `{name: first, backendRefs: [{name: a, port: 80}, {name: b, port: 80, weight: 0}]}, {backendRefs: [{name: a, port: 80}]}`),
		strings.ReplaceAll(serviceDocuments("a", "10.0.0.1"), "{port: 80}", "{port: 80, appProtocol: http}"),
		strings.ReplaceAll(serviceDocuments("b", "10.0.0.2"), "{port: 80}", "{port: 80, appProtocol: kubernetes.io/h2c}"),
		sessionDocument("HTTPRoute", "r", ""))
	routes := firstRoutes(t, config)
	var got []string
	for _, r := range routes {
		for _, p := range r.Policies {
			got = append(got, fmt.Sprint(r.Name, " ", p.Name, " ", p.Clusters))
		}
	}
	want := []string{
		"httproute/default/r/rule/0 default/r/rule/first/backend/Service/default/a/80 [service/default/a/80]",
		"httproute/default/r/rule/0 default/r/rule/first/backend/Service/default/b/80 [service/default/b/80/h2c]",
		"httproute/default/r/rule/1 default/r/rule/1 []",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	all := slices.Concat(routes[0].Policies, routes[1].Policies)
	if !reflect.DeepEqual(config.Policies, all) {
		t.Errorf("got the policies %+v, want %+v", config.Policies, all)
	}
	for _, d := range s.decisions.Paths {
		if slices.ContainsFunc(d.Policies, func(p policyconfig.Policy) bool { return p.Clusters != nil }) {
			t.Errorf("a decision has changed: %+v", d.Policies)
		}
	}
}

// Hosts that terminate serve their sessions as long as the limit says, and as long as there is no other host.
func TestDrainLimit(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	draining := ir.HostKey{Namespace: "default", Address: netip.MustParseAddrPort("10.0.0.2:8080")}
	for name, c := range map[string]struct {
		hosts []string
		since time.Duration
		want  int
		until time.Time
	}{
		"within the limit": {[]string{"10.0.0.1", "-10.0.0.2"}, time.Minute, 2, now.Add(4 * time.Minute)},
		"beyond it":        {[]string{"10.0.0.1", "-10.0.0.2"}, time.Hour, 1, time.Time{}},
		"no other host":    {[]string{"-10.0.0.2"}, time.Hour, 1, time.Time{}},
	} {
		known := &Draining{Now: now, Since: map[ir.HostKey]time.Time{draining: now.Add(-c.since)}}
		config, _, _ := lowerDocuments(t, known, routeDocument("HTTPRoute", `{backendRefs: [{name: a, port: 80}]}`),
			serviceDocuments("a", c.hosts...), sessionDocument("HTTPRoute", "r", ", drainTimeout: 5m"))
		cluster := findCluster(t, config, "service/default/a/80/drain-5m")
		if got := len(cluster.Localities[0].Endpoints); got != c.want || !config.Until.Equal(c.until) {
			t.Errorf("%s: got %d hosts until %v, want %d until %v", name, got, config.Until, c.want, c.until)
		}
		if !slices.Equal(config.Draining, []ir.HostKey{draining}) {
			t.Errorf("%s: got %v, want the host that terminates", name, config.Draining)
		}
	}
}

func TestRetries(t *testing.T) {
	rule := `{backendRefs: [{name: a, port: 80}], timeouts: {request: 10s, backendRequest: 250ms}, retry: {codes: [503, 500], attempts: 2, backoff: 0s}}`
	config, traffic, _ := lowerDocuments(t, nil, routeDocument("HTTPRoute", rule), serviceDocuments("a", "10.0.0.1"))
	route, attempts, backoff := firstRoutes(t, config)[0], uint32(2), time.Duration(0)
	want := &ir.Retry{Codes: []int{500, 503}, Attempts: &attempts, Backoff: &backoff}
	if route.Timeout != 10*time.Second || route.PerTryTimeout != 250*time.Millisecond || !reflect.DeepEqual(route.Retry, want) {
		t.Errorf("got %+v, want the rule's times and retries", route)
	}
	if len(traffic) != 1 || !traffic[0].Retries.Effective || len(traffic[0].Paths) != 2 {
		t.Errorf("got %+v, want retries that are in effect on both listeners", traffic)
	}
	config, traffic, s := lowerDocuments(t, nil, routeDocument("HTTPRoute", rule), serviceDocuments("a", "10.0.0.1"), sessionDocument("HTTPRoute", "r", ", onHostLost: Fail"))
	if route := firstRoutes(t, config)[0]; route.Retry != nil || traffic[0].Retries.Effective {
		t.Errorf("got %+v, want no retries for sessions that fail with their host", route)
	}
	if !slices.ContainsFunc(s.rep.Warnings(), func(p problem) bool { return p.Path == "spec.rules[0].retry" }) {
		t.Errorf("got %v, want a warning about the retries", s.rep.Warnings())
	}
}

func TestGRPCNeedsHTTP2(t *testing.T) {
	config, _, _ := lowerDocuments(t, nil, routeDocument("GRPCRoute", `{backendRefs: [{name: a, port: 80}]}`), serviceDocuments("a", "10.0.0.1"))
	if route := firstRoutes(t, config)[0]; !route.Match.GRPC || !findCluster(t, config, route.Cluster).HTTP2 {
		t.Errorf("got %+v in %+v, want gRPC over HTTP/2", route, config.Clusters)
	}
	old := strings.ReplaceAll(serviceDocuments("a", "10.0.0.1"), "{port: 80}", "{port: 80, appProtocol: http}")
	config, _, _ = lowerDocuments(t, nil, routeDocument("GRPCRoute", `{backendRefs: [{name: a, port: 80}]}`), old)
	if route := firstRoutes(t, config)[0]; route.Status != 503 {
		t.Errorf("got %+v, want 503 for a backend that speaks HTTP/1.1", route)
	}
}
