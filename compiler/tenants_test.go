package compiler

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
	"github.com/limpet-proxy/limpet/internal/compiler/tenanttest"
)

// shared is what a compilation of many namespaces' objects comes to.
type shared struct {
	config   *ir.Config
	statuses []status.Object
	problems []Problem
}

// tenants are namespaces that share a proxy.
type tenants struct {
	*tenanttest.World
	options  Options
	operator Source
	// memory is what limpet remembers that has all of them, and alone that of one which has a single namespace and the
	// operator's objects.
	memory *memory
	alone  map[string]*memory
}

// memory is what limpet remembers of a compilation.
type memory struct {
	holders *Holders
}

func newMemory() *memory { return &memory{&Holders{}} }

func newTenants(seed uint64, honest, hostile int) *tenants {
	w := tenanttest.New(seed, tenanttest.Site{
		Shared: 80, SharedTLS: 443, Admin: 9901, Honest: honest, Hostile: hostile,
		OwnPort: func(i int) int { return 10000 + i }, FreePort: func(i int) int { return 20000 + i },
		Endpoint: func(namespace, n int) (string, int) { return fmt.Sprintf("10.1.%d.%d", namespace, n+1), 8080 + n },
	})
	return &tenants{
		World: w, options: Options{AllowEmpty: true, Time: statusTime, Envoy: &EnvoyOptions{ModulePath: "w"}},
		operator: w.OperatorSource(), memory: newMemory(), alone: map[string]*memory{},
	}
}

// compile compiles sources with what limpet remembers.
func (s *tenants) compile(t *testing.T, sources []Source, m *memory) *shared {
	t.Helper()
	o := s.options
	o.Holders = m.holders
	j, err := analyze(sources, &o)
	if err != nil {
		t.Fatal(err)
	}
	problems := j.rep.Problems()
	m.holders = j.findHolders()
	statuses := status.Build(status.Input{
		Objects: j.objects, Attachments: j.Topology.Attachments, Decisions: j.Decisions, Traffic: j.Traffic, Problems: problems, Now: o.Time,
	})
	return &shared{j.Plan.Proxy, statuses, problems}
}

// compileAll compiles what everybody has. The files of hostile namespaces whose names sort first go before the others.
func (s *tenants) compileAll(t *testing.T) *shared {
	t.Helper()
	sources := []Source{s.operator}
	for _, n := range s.Namespaces {
		if source := n.Source(); len(source.Data) > 0 {
			sources = append(sources, source)
		}
	}
	slices.SortFunc(sources, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	return s.compile(t, sources, s.memory)
}

// compileAlone compiles what a namespace has, and the operator.
func (s *tenants) compileAlone(t *testing.T, n *tenanttest.Namespace) *shared {
	t.Helper()
	if s.alone[n.Name] == nil {
		s.alone[n.Name] = newMemory()
	}
	return s.compile(t, []Source{n.Source(), s.operator}, s.alone[n.Name])
}

// TestTenants changes the objects of 200 namespaces at random, most of them hostile. After each change what the honest ones
// get is what they would get without the others: hosts, routes, sessions, endpoints, status and messages. LIMPET_TENANTS is how
// long it goes on, from ever new seeds; else it is a fixed sample.
//
// requirements: S48, S63, S72, S74, S75
func TestTenants(t *testing.T) {
	t.Parallel()
	span, err := time.ParseDuration(cmp.Or(os.Getenv("LIMPET_TENANTS"), "0s"))
	if err != nil {
		t.Fatal(err)
	}
	if span == 0 {
		newTenants(0, 40, 160).live(t, 10)
		return
	}
	seed, steps := uint64(time.Now().UnixNano()), 0
	for end := time.Now().Add(span); time.Now().Before(end) && !t.Failed(); seed++ {
		t.Logf("seed %d", seed)
		newTenants(seed, 40, 160).live(t, 60)
		steps += 60
	}
	t.Logf("%d steps", steps)
}

// live lets the namespaces change for some steps, of which the honest ones are there first.
func (s *tenants) live(t *testing.T, steps int) {
	t.Helper()
	s.compileAll(t)
	alone := map[string]*shared{}
	for _, n := range s.Namespaces[:s.Honest] {
		alone[n.Name] = s.compileAlone(t, n)
	}
	for step := range steps {
		for _, n := range s.Step(30) {
			if n.Honest {
				alone[n.Name] = s.compileAlone(t, n)
			}
		}
		all := s.compileAll(t)
		for _, n := range s.Namespaces[:s.Honest] {
			for i, what := range compareViews(n.Name, alone[n.Name], all) {
				if i > 1 {
					break // the first ones say enough
				}
				t.Errorf("step %d: %s: %s", step, n.Name, what)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// compareViews says what a namespace gets that it would not get alone.
func compareViews(namespace string, alone, all *shared) []string {
	return slices.Concat(
		compareRequests(namespace, alone.config, all.config),
		compareStatuses(namespace, alone.statuses, all.statuses),
		compareProblems(namespace, alone.problems, all.problems),
	)
}

// compareRequests sends each of a namespace's routes a request.
func compareRequests(namespace string, alone, all *ir.Config) (different []string) {
	for _, l := range alone.Listeners {
		for _, hosts := range listSites(&l) {
			for _, h := range hosts.Hosts {
				for _, route := range h.Routes {
					if !isOf(route.Name, namespace) {
						continue
					}
					r := newRequest(netip.AddrPortFrom(l.Address, l.Port), hosts.Domain, h.Domain, route.Match)
					before, after := r.answer(alone), r.answer(all)
					if !isOf(before.Name, namespace) {
						continue // another of the operator's has it
					}
					if what := compareAnswers(before, after, alone, all); what != "" {
						different = append(different, fmt.Sprintf("%+v: %s", r, what))
					}
				}
			}
		}
	}
	return different
}

// listSites gives the hosts of a listener, by the server name of the connection.
func listSites(l *ir.Listener) []ir.TLSHost {
	if len(l.TLSHosts) > 0 {
		return l.TLSHosts
	}
	return []ir.TLSHost{{Domain: "*", Hosts: l.Hosts}}
}

// isOf tells whether a route is of a namespace.
func isOf(route, namespace string) bool {
	_, rest, _ := strings.Cut(route, "/")
	return strings.HasPrefix(rest, namespace+"/")
}

// tenantRequest is one that a route matches.
type tenantRequest struct {
	at           netip.AddrPort
	server, host string
	match        ir.Match
}

func newRequest(at netip.AddrPort, server, domain string, m ir.Match) tenantRequest {
	host := domain
	if label, rest, _ := strings.Cut(domain, "*"); label == "" {
		host = "some" + rest
	}
	if server != "*" {
		server = host
	}
	return tenantRequest{at, server, host, m}
}

// answer finds the route that takes the request; one without a name for none.
func (r tenantRequest) answer(c *ir.Config) ir.Route {
	for _, l := range c.Listeners {
		if netip.AddrPortFrom(l.Address, l.Port) != r.at {
			continue
		}
		sites := listSites(&l)
		site := findDomain(r.server, sites, func(s ir.TLSHost) string { return s.Domain })
		if site < 0 {
			continue
		}
		hosts := sites[site].Hosts
		if host := findDomain(r.host, hosts, func(h ir.Host) string { return h.Domain }); host >= 0 {
			for _, route := range hosts[host].Routes {
				if r.isMatched(route.Match) {
					return route
				}
			}
		}
	}
	return ir.Route{}
}

// findDomain finds the most specific domain for a host; -1 for none.
func findDomain[T any](host string, all []T, domain func(T) string) int {
	found, longest := -1, -1
	for i, item := range all {
		d := domain(item)
		switch suffix, wild := strings.CutPrefix(d, "*"); {
		case d == host:
			return i
		case wild && strings.HasSuffix(host, suffix) && len(host) > len(suffix) && len(suffix) > longest:
			found, longest = i, len(suffix)
		}
	}
	return found
}

// isMatched tells whether a route takes the request, which has what its own match asks for.
func (r tenantRequest) isMatched(m ir.Match) bool {
	if m.Regex != "" || m.GRPC != r.match.GRPC && m.GRPC || m.Method != "" && m.Method != r.match.Method {
		return false
	}
	within := m.Path == "/" || r.match.Path == m.Path || strings.HasPrefix(r.match.Path, m.Path+"/")
	if m.Exact && r.match.Path != m.Path || !within {
		return false
	}
	has := func(want []ir.ValueMatch, all []ir.ValueMatch) bool {
		return !slices.ContainsFunc(want, func(w ir.ValueMatch) bool { return !slices.Contains(all, w) })
	}
	return has(m.Headers, r.match.Headers) && has(m.Query, r.match.Query)
}

// compareAnswers says how a request's answer differs from what it is where its namespace is alone.
func compareAnswers(before, after ir.Route, alone, all *ir.Config) string {
	if !reflect.DeepEqual(before, after) {
		return fmt.Sprintf("alone\n\t%+v\nwith others\n\t%+v", before, after)
	}
	for _, name := range envoy.ListClusters([]ir.Host{{Routes: []ir.Route{before}}}) {
		if b, a := findCluster(alone, name), findCluster(all, name); !reflect.DeepEqual(a, b) {
			return fmt.Sprintf("cluster alone\n\t%+v\nwith others\n\t%+v", b, a)
		}
	}
	return ""
}

func findCluster(c *ir.Config, name string) ir.Cluster {
	return c.Clusters[slices.IndexFunc(c.Clusters, func(c ir.Cluster) bool { return c.Name == name })]
}

// compareStatuses compares the statuses of a namespace's objects.
func compareStatuses(namespace string, alone, all []status.Object) (different []string) {
	after := writeStatuses(namespace, all)
	for key, was := range writeStatuses(namespace, alone) {
		if is := after[key]; is != was {
			different = append(different, fmt.Sprintf("status alone\n\t%s\nwith others\n\t%s", was, is))
		}
	}
	return different
}

// writeStatuses gives the statuses of a namespace's objects, by their kind and name.
func writeStatuses(namespace string, all []status.Object) map[string]string {
	texts := map[string]string{}
	for _, o := range all {
		if o.Metadata.Namespace == namespace {
			text, err := json.Marshal(o)
			texts[o.Kind+"/"+o.Metadata.Name] = fmt.Sprint(string(text), err)
		}
	}
	return texts
}

// compareProblems compares what there is to say of a namespace's objects.
func compareProblems(namespace string, alone, all []Problem) (different []string) {
	list := func(problems []Problem) (texts []string) {
		for _, p := range problems {
			if strings.Contains(p.Object, " "+namespace+"/") {
				texts = append(texts, fmt.Sprint(newFaultOf(p).Statement))
			}
		}
		slices.Sort(texts)
		return texts
	}
	if a, b := list(all), list(alone); !slices.Equal(a, b) {
		return []string{fmt.Sprintf("said alone\n\t%s\nwith others\n\t%s", strings.Join(b, "\n\t"), strings.Join(a, "\n\t"))}
	}
	return nil
}
