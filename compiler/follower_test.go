package compiler

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
)

// TestFollower edits many routes at random, again and again.
func TestFollower(t *testing.T) {
	const rounds = 25
	random := rand.New(rand.NewPCG(8, 5))
	o := Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
	f := newFollower(t, o)
	sources, failed := scaletest.MakeRoutes(40), 0
	for round := range rounds {
		if refused := compareFollowed(t, fmt.Sprint("round ", round), f, sources, o); refused != nil {
			if !errors.As(refused, &Errors{}) {
				t.Fatal(refused)
			}
			failed++
		}
		if t.Failed() {
			t.FailNow()
		}
		sources = editSources(sources, random)
		if round%10 == 0 { // or faults pile up
			sources = scaletest.MakeRoutes(40)
		}
	}
	if failed < rounds/10 || failed > rounds*9/10 {
		t.Errorf("%d of %d rounds were refused: too few of one sort", failed, rounds)
	}
}

// TestFollowerGolden edits every case for Envoy at random, again and again.
func TestFollowerGolden(t *testing.T) {
	t.Parallel()
	rounds, compiled := sized(6, 40), 0
	for _, g := range loadGoldens(t) {
		o, source := g.parseOptions(t), g.source
		if o.Envoy == nil {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(len(g.source.Data)), 8))
			together, apart := o, o
			together.Envoy, apart.Envoy = new(*o.Envoy), new(*o.Envoy)
			together.Envoy.Served, apart.Envoy.Served = &Served{Together: true}, &Served{}
			apart.manyRoutes = 1 // or no group here keeps results
			f, s := newFollower(t, together), newFollower(t, apart)
			for round := range rounds {
				name := fmt.Sprintf("%s, round %d", g.name, round)
				if compareFollowed(t, name, f, []Source{source}, together) == nil {
					compiled++
				}
				_ = compareFollowed(t, name+", apart", s, []Source{source}, apart)
				if t.Failed() {
					t.Fatalf("%s", source.Data)
				}
				if source = scribble(source, random); round%2 == 1 {
					source = scribble(g.source, random) // or faults pile up
				}
			}
		})
	}
	if compiled < minGoldens*rounds/4 {
		t.Errorf("only %d of the edited cases could be compiled", compiled)
	}
}

// TestFollowerHoldsUnreadableFiles leaves out what could not be read at the beginning, as Compile does, and takes no change over
// that brings more of it.
func TestFollowerHoldsUnreadableFiles(t *testing.T) {
	broken := func(name string) Source { return Source{Name: name, Data: []byte("a: b\n\tc: d\n")} }
	o := Options{HoldInvalid: true, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
	scratch := o
	scratch.HoldInvalid = false
	f := newFollower(t, o)
	first := append(scaletest.MakeRoutes(3), broken("old.yaml"))
	compare := func(name string, sources []Source) {
		t.Helper()
		update, err := f.Replace(sources, Changes{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := update.Result()
		want, err2 := Compile(sources, scratch)
		if err != nil || err2 != nil || Worst(want.Warnings) != Refused {
			t.Fatal(err, err2, want)
		}
		compareFollowedResults(t, name, got, want)
	}
	compare("at the beginning", first)
	var problems Errors
	both := append(slices.Clone(first), broken("new.yaml"))
	if _, err := f.Replace(both, Changes{}); !errors.As(err, &problems) || problems[0].File != "new.yaml" {
		t.Errorf("got %v", err)
	}
	more := []byte("apiVersion: v1\nkind: Service\nmetadata: {name: more}\nspec: {ports: [{port: 80}]}\n")
	compare("held", append(slices.Clone(first), Source{Name: "new.yaml", Data: more}))
	if _, err := Compile(first, o); !errors.As(err, &problems) || len(problems) != 1 {
		t.Errorf("who holds what was before is not told: %v", err)
	}
	o.Strict = true
	if _, err := newFollower(t, o).Replace(first, Changes{}); !errors.As(err, &problems) || len(problems) != 1 {
		t.Errorf("strictly: %v", err)
	}
}

// TestFollowerHoldsInvalidDocuments leaves out what was no good at the beginning, and takes no change over that brings
// more of it: what was there keeps serving. What limpet does not support is left out at any time.
func TestFollowerHoldsInvalidDocuments(t *testing.T) {
	o := Options{HoldInvalid: true, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
	f := newFollower(t, o)
	first := append(scaletest.MakeRoutes(3), Source{Name: "old.yaml", Data: []byte(invalidService("old"))})
	if _, err := f.Replace(first, Changes{}); err != nil {
		t.Fatal(err)
	}
	broken := append(slices.Clone(first), Source{Name: "new.yaml", Data: []byte(invalidService("new"))})
	for range 2 {
		var problems Errors
		if _, err := f.Replace(broken, Changes{}); !errors.As(err, &problems) || len(problems) != 1 || problems[0].Object != "Service default/new" {
			t.Fatalf("got %v", err)
		}
	}
	unsupported := "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: {useDefaultGateways: All}}"
	update, err := f.Replace(append(slices.Clone(first), Source{Name: "new.yaml", Data: []byte(unsupported)}), Changes{})
	if err != nil || Worst(update.NewWarnings) != Refused {
		t.Errorf("got %v, %v", update, err)
	}
}

func invalidService(name string) string {
	return "{apiVersion: v1, kind: Service, metadata: {name: " + name + "}, spec: {ports: [{port: 70000}]}}"
}

// TestFollowerFollowsMirrors changes the Service of a mirror, which no rule leads to.
func TestFollowerFollowsMirrors(t *testing.T) {
	o := Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
	f, sources := newFollower(t, o), func(address string) []Source {
		return []Source{
			{Name: "web.yaml", Data: []byte(`
{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: limpet}, spec: {controllerName: limpet.dev/gateway-controller}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: web}, spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 80}]}}
`)},
			{Name: "route.yaml", Data: []byte(`
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r}, spec: {parentRefs: [{name: web}], rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: copy, port: 80}}}]}]}}
`)},
			{Name: "service.yaml", Data: []byte(`{apiVersion: v1, kind: Service, metadata: {name: copy}, spec: {ports: [{port: 80}]}}`)},
			{Name: "slice.yaml", Data: []byte(`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: copy, labels: {kubernetes.io/service-name: copy}}, addressType: IPv4, ports: [{port: 80}], endpoints: [{addresses: [` + address + `]}]}`)},
		}
	}
	for _, address := range []string{"10.0.0.1", "10.0.0.2"} {
		if err := compareFollowed(t, address, f, sources(address), o); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFollowerSharesXBackends has routes of different hosts that lead to one XBackend with a session of its own. That session has
// one name for all of them: where an older route has it at one of the hosts, all routes get another.
func TestFollowerSharesXBackends(t *testing.T) {
	text, err := os.ReadFile("testdata/xbackend-rules-share-its-sessions.in.yaml")
	if err != nil {
		t.Fatal(err)
	}
	route := func(name, rules string) Source {
		return Source{Name: name, Data: fmt.Appendf(nil, `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute,
metadata: {name: %s}, spec: {parentRefs: [{name: web}], hostnames: [%[1]s.example.com], rules: [%s]}}`, name, rules)}
	}
	const shared = `{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: v1}]}`
	all := []Source{
		{Name: "all.yaml", Data: bytes.Replace(text, []byte("  rules:\n"), []byte("  hostnames: [cart.example.com]\n  rules:\n"), 1)},
		route("a", shared), route("b", shared),
	}
	older := route("older", `{backendRefs: [{name: v1, port: 80}], sessionPersistence: {sessionName: session-v1}}`)
	older.Data = bytes.Replace(older.Data, []byte("name: older"), []byte(`name: older, creationTimestamp: "2020-01-01T00:00:00Z"`), 1)
	older.Data = bytes.Replace(older.Data, []byte("older.example.com"), []byte("a.example.com"), 1)
	o := Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
	f := newFollower(t, o)
	for step, sources := range [][]Source{all, append(slices.Clip(all), older), all} {
		if err := compareFollowed(t, fmt.Sprintf("step %d", step), f, sources, o); err != nil {
			t.Fatal(err)
		}
		if step == 1 && !strings.Contains(fmt.Sprint(f.last.NewWarnings), "session-v1-") {
			t.Errorf("no session is renamed: %v", f.last.NewWarnings)
		}
	}
}

// followedRoute is an HTTPRoute with a host of its own, a backend of that name and a SessionPersistencePolicy, if it has any.
func followedRoute(name, host, created, policy string) Source {
	text := fmt.Sprintf(`
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: %[1]s, creationTimestamp: "%[3]s"},
spec: {parentRefs: [{name: web}], hostnames: [%[2]s], rules: [{backendRefs: [{name: %[1]s, port: 80}]}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: %[1]s}, spec: {ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: %[1]s, labels: {kubernetes.io/service-name: %[1]s}}, addressType: IPv4,
ports: [{port: 80}], endpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2], conditions: {ready: false, serving: true, terminating: true}}]}
`, name, host, created)
	if policy != "" {
		text += followedPolicy("HTTPRoute", name, policy)
	}
	return Source{Name: name + ".yaml", Data: []byte(text)}
}

func followedPolicy(kind, name, fields string) string {
	return fmt.Sprintf(`---
{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: %[2]s},
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: %[1]s, name: %[2]s}], %[3]s}}
`, kind, name, fields)
}

const followedGateway = `
{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: limpet}, spec: {controllerName: limpet.dev/gateway-controller}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: web}, spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 80}]}}
`

// TestFollowerSeesTimePass compiles nothing but hosts that terminate again when there is no change but of the time.
func TestFollowerSeesTimePass(t *testing.T) {
	host := hostOf("default", "10.0.0.2:80")
	o := Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true, Draining: map[HostKey]time.Time{host: time.Unix(1000, 0)}}}}
	sources := []Source{
		{Name: "web.yaml", Data: []byte(followedGateway)},
		followedRoute("a", "a.org", "2020-01-01T00:00:00Z", "sessionName: a, drainTimeout: 90s"), followedRoute("b", "b.org", "2020-01-01T00:00:00Z", "sessionName: b"),
	}
	f := newFollower(t, o)
	var before *envoy.Served
	for _, second := range []int64{1000, 1089, 1090} {
		o.Time = time.Unix(second, 0)
		if err := compareFollowed(t, fmt.Sprint(second), f, sources, o); err != nil {
			t.Fatal(err)
		}
		served := f.last.result.Served[0]
		var changed []string
		for i, endpoints := range served.Endpoints.Slice() {
			if before != nil && !endpoints.Equal(before.Endpoints.Slice()[i]) {
				changed = append(changed, endpoints.Name)
			}
		}
		if got := strings.Join(changed, ", "); got != map[bool]string{true: "service/default/a/80/drain-1m30s"}[second == 1090] {
			t.Errorf("at %d changed: %s", second, got)
		}
		if before != nil && &served.Routes[0].Content[0] != &before.Routes[0].Content[0] {
			t.Errorf("at %d the routes were written again", second)
		}
		before = served
	}
}

// TestFollowerCouplesNewNames has a cookie that gets the name of a cookie of a route which it did not meet under its own name.
func TestFollowerCouplesNewNames(t *testing.T) {
	const domain = "sessionName: s, cookie: {domain: example.com}"
	o := Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
	for name, c := range map[string]struct{ ofGateway, ofRoutes string }{
		"for an older route's sake (S28)":   {"", domain},
		"of a policy above the rules (S26)": {followedPolicy("Gateway", "web", domain), ""},
	} {
		two := []Source{
			{Name: "web.yaml", Data: []byte(followedGateway + c.ofGateway)},
			followedRoute("a", "a.example.com", "2020-01-01T00:00:00Z", c.ofRoutes),
			followedRoute("b", "b.example.com", "2021-01-01T00:00:00Z", c.ofRoutes),
		}
		result, err := Compile(two, o)
		if err != nil {
			t.Fatal(err)
		}
		renamed := regexp.MustCompile(`s-[0-9a-f]{12}`).FindString(fmt.Sprint(carriedPolicies(t, result)))
		if renamed == "" {
			t.Fatalf("%s: no cookie has another name: %v", name, result.Warnings)
		}
		third := followedRoute("c", "c.example.com", "2019-01-01T00:00:00Z", strings.Replace(domain, "s,", renamed+",", 1))
		f := newFollower(t, o)
		for step, sources := range [][]Source{two, append(slices.Clip(two), third), two} {
			if err := compareFollowed(t, fmt.Sprintf("%s: step %d", name, step), f, sources, o); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestFollowerCountsAncestors has a policy whose status has no room for all Gateways of its routes, which have no host in common:
// no group of routes sees that alone.
func TestFollowerCountsAncestors(t *testing.T) {
	const target = "{group: gateway.networking.k8s.io, kind: HTTPRoute, name: %s}"
	policy := func(absent int) Source {
		targets := []string{fmt.Sprintf(target, "a"), fmt.Sprintf(target, "b")}
		for i := range absent {
			targets = append(targets, fmt.Sprintf(target, fmt.Sprint("absent-", i)))
		}
		return Source{Name: "policy.yaml", Data: []byte(`{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: p},
spec: {sessionName: p, targetRefs: [` + strings.Join(targets, ", ") + `]}}`)}
	}
	b := followedRoute("b", "b.org", "2020-01-01T00:00:00Z", "")
	b.Data = bytes.Replace(b.Data, []byte("[{name: web}]"), []byte("[{name: web-2}, {name: web-3}]"), 1)
	sources := []Source{{Name: "web.yaml", Data: []byte(followedGateway)}, followedRoute("a", "a.org", "2020-01-01T00:00:00Z", ""), b}
	for i := range 2 {
		_, gateway, _ := strings.Cut(followedGateway, "---\n")
		gateway = strings.NewReplacer("name: web", fmt.Sprintf("name: web-%d", i+2), "port: 80", fmt.Sprintf("port: %d", 81+i)).Replace(gateway)
		sources = append(sources, Source{Name: fmt.Sprintf("web-%d.yaml", i+2), Data: []byte(gateway)})
	}
	o := Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
	f := newFollower(t, o)
	for step, absent := range []int{13, 14, 13} {
		if err := compareFollowed(t, fmt.Sprintf("step %d", step), f, append(slices.Clip(sources), policy(absent)), o); err != nil {
			t.Fatal(err)
		}
		if reached := strings.Contains(fmt.Sprint(f.last.result.Warnings), "has no room for another ancestor"); reached != (absent == 14) {
			t.Errorf("step %d: no room: %t", step, reached)
		}
	}
}

// TestFollowerSeesDuplicates has a Service in several files for a while, whose first is at another place at times, and comes in
// another order.
func TestFollowerSeesDuplicates(t *testing.T) {
	service := func(file, before, labels string) Source {
		return Source{Name: file, Data: []byte(before + `{apiVersion: v1, kind: Service, metadata: {name: of-a` + labels + `}, spec: {ports: [{port: 80}]}}`)}
	}
	sources := []Source{
		{Name: "web.yaml", Data: []byte(followedGateway)}, followedRoute("a", "a.org", "2020-01-01T00:00:00Z", "sessionName: a"),
	}
	o := Options{HoldInvalid: true, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
	f := newFollower(t, o)
	one, other := service("x.yaml", "", ""), service("y.yaml", "", ", annotations: {a: b}")
	third := service("z.yaml", "{apiVersion: v1, kind: Service, metadata: {name: more}, spec: {ports: [{port: 81}]}}\n---\n", "")
	moved, bad := service("x.yaml", "\n# moved\n", ""), service("x.yaml", "", ", labels: {'a b': c}")
	for step, some := range [][]Source{
		{one},
		{one, other},
		{other},
		{one, other},
		{moved, other},
		{other, moved},
		{other, moved, third},
		{third, one},
		{one, third, other},
		{bad, third},
		{one},
		{},
	} {
		o.HoldInvalid = false // that is the follower's, which knows what was there before
		if step == 9 {
			if _, err := f.Replace(append(slices.Clip(sources), some...), Changes{}); err == nil {
				t.Error("a bad Service is not held back")
			}
			continue
		}
		if err := compareFollowed(t, fmt.Sprintf("step %d", step), f, append(slices.Clip(sources), some...), o); err != nil {
			t.Fatal(err)
		}
		if twice := strings.Count(fmt.Sprint(f.last.result.Warnings), "the first object of this name is at"); twice != max(len(some)-1, 0) {
			t.Errorf("step %d: of %d Services %d are refused: %v", step, len(some), twice, f.last.result.Warnings)
		}
	}
}
