package compiler

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFollowerWorld changes objects of all kinds at random, one or some at a time, and applies each change to a follower. After
// each the result is that of a compilation from scratch, byte for byte.
func TestFollowerWorld(t *testing.T) {
	t.Parallel()
	const worlds = 6
	for seed := range worlds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			o := Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
			followWorld(t, seed, o, newWorld(t, seed == worlds-1))
		})
	}
}

// TestFollowerWorldServed is TestFollowerWorld for a server, which gives each Gateway's part to its own proxies.
func TestFollowerWorldServed(t *testing.T) {
	t.Parallel()
	const worlds = 6
	for seed := range worlds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			served := &Served{Remote: seed%2 == 1, Scopes: newScopeKeys(t, "a"), Own: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.3:8080")}}
			o := Options{Envoy: &EnvoyOptions{ModulePath: "w", ShardModule: "s", Admin: NoAdmin, Served: served}}
			if seed%3 == 1 {
				o.RouteBudget = (4*seed*seed + 8) << 10 // so that there is no room for some routes and copies
			}
			followWorld(t, seed, o, newWorld(t, seed == worlds-1))
		})
	}
}

// newWorld gives objects, with listeners for connections or without.
func newWorld(t *testing.T, streams bool) []*worldObject {
	t.Helper()
	world := loadWorld(t)
	if streams {
		world = append(world, loadStreams(t)...)
	}
	return world
}

// followWorld changes a world at random. All of it is followed.
func followWorld(t *testing.T, seed int, o Options, world []*worldObject) {
	t.Helper()
	rounds := sized(20, 120)
	random := rand.New(rand.NewPCG(uint64(seed), 14))
	o.AllowEmpty, o.AssumeClass = seed != 1, seed%3 == 0
	if seed%2 == 0 {
		o.Zone = "here"
	}
	o.manyRoutes = seed % 2 // groups keep results, however small they are
	f := newFollower(t, o)
	var seen *mirror
	var changed []*worldObject
	changed = append(changed, world...)
	compiled, drains := 0, map[HostKey]time.Time{}
	for round := range rounds {
		o.Time = time.Unix(int64(1000+30*round), 0)
		*drainingOf(o) = drains
		if served := o.Envoy.Served; served.Scopes != nil && round%5 == 4 {
			served.Scopes = newScopeKeys(t, fmt.Sprint("key-", round), "a")
		}
		result, update := applyWorld(t, fmt.Sprintf("round %d", round), f, world, changed, o)
		if result != nil {
			compiled++
			if update.Whole != (compiled == 1) {
				t.Errorf("round %d: it is not followed", round)
			}
			seen = seen.see(t, fmt.Sprintf("round %d", round), update, result)
		}
		if t.Failed() {
			for _, c := range changed {
				t.Logf("changed: %s gone=%t\n%s", c.name, c.gone, c.text)
			}
			t.FailNow()
		}
		if result != nil {
			drains = noteDraining(drains, result.Draining, o.Time)
		}
		changed = nil
		for range 1 + random.IntN(3)*random.IntN(2) {
			object := world[random.IntN(len(world))]
			object.edit(random)
			changed = append(changed, object)
		}
		if result == nil && random.IntN(4) == 0 {
			changed = append(changed, mend(world)...)
		}
	}
	if o.AllowEmpty && compiled < rounds/2 {
		t.Errorf("%d of %d rounds were refused", rounds-compiled, rounds)
	}
}

// noteDraining gives since when hosts drain.
func noteDraining(before map[HostKey]time.Time, hosts []HostKey, now time.Time) map[HostKey]time.Time {
	since := map[HostKey]time.Time{}
	for _, host := range hosts {
		since[host] = now
		if known, is := before[host]; is {
			since[host] = known
		}
	}
	return since
}

// applyWorld applies changes of some objects, and compares. It gives the result and the update, nil for an error.
func applyWorld(t *testing.T, name string, f *Follower, world, changed []*worldObject, o Options) (*Result, *Update) {
	t.Helper()
	var sources []Source
	for _, object := range world {
		if !object.gone {
			sources = append(sources, Source{Name: object.name, Data: []byte(object.text)})
		}
	}
	slices.SortFunc(sources, func(a, b Source) int { return strings.Compare(a.Name, b.Name) }) // as a follower has them
	served := o.served()
	c := Changes{Time: o.Time, Draining: *drainingOf(o), Selection: served.Selection, Scopes: served.Scopes}
	for _, object := range changed {
		if object.gone {
			c.Removed = append(c.Removed, object.name)
		} else {
			c.Set = append(c.Set, Source{Name: object.name, Data: []byte(object.text)})
		}
	}
	want, refused := Compile(sources, o)
	update, err := f.Apply(c)
	if fmt.Sprint(err) != fmt.Sprint(refused) {
		t.Errorf("%s: followed %v\nfrom scratch %v", name, err, refused)
		return nil, nil
	}
	if refused != nil {
		return nil, nil
	}
	got, err := update.Result()
	if err != nil {
		t.Fatal(err)
	}
	compareFollowedResults(t, name, got, want)
	return want, update
}

// TestFollowerStreams brings listeners for the connections of HTTPProxies, changes what they depend on, and takes them away again.
func TestFollowerStreams(t *testing.T) {
	o := Options{AllowEmpty: true, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
	world, more := loadWorld(t), loadStreams(t)
	f := newFollower(t, o)
	applyWorld(t, "without", f, world, world, o)
	world = append(world, more...)
	for step, object := range append(slices.Clone(more), more...) {
		object.gone = !object.gone
		if _, update := applyWorld(t, fmt.Sprintf("step %d", step), f, world, []*worldObject{object}, o); update == nil || update.Whole {
			t.Errorf("step %d: it is not followed", step)
		}
	}
}

// TestFollowerClientCertificates changes what Gateways say of certificates, and what that refers to, one after the other and back.
// All of it is followed.
func TestFollowerClientCertificates(t *testing.T) {
	t.Parallel()
	o := Options{AllowEmpty: true, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
	world := loadWorld(t)
	authorities := world[slices.IndexFunc(world, func(o *worldObject) bool { return strings.Contains(o.text, "metadata: {name: clients,") })]
	authorities.gone = true
	second := world[slices.IndexFunc(world, func(o *worldObject) bool { return strings.Contains(o.text, "{name: second, namespace: infra}") })]
	second.text = strings.Replace(second.text, "  listeners:\n", "  tls: {frontend: {default: {validation: {caCertificateRefs: ["+
		`{group: "", kind: ConfigMap, namespace: keys, name: clients}]}}}}`+"\n  listeners:\n", 1)
	f := newFollower(t, o)
	applyWorld(t, "without authorities", f, world, world, o)
	follow := func(step string, object *worldObject) {
		if _, update := applyWorld(t, step, f, world, []*worldObject{object}, o); update == nil || update.Whole {
			t.Fatalf("%s: not followed", step)
		}
	}
	for _, gone := range []bool{false, true, false} {
		authorities.gone = gone
		follow(fmt.Sprintf("authorities: %t", !gone), authorities)
	}
	for _, words := range [][2]string{
		{"  ca.crt: |\n", "  ca.crt: none\n  other: |\n"},
		{"ca.crt: |\n    -----BEGIN", "ca.crt: |\n    two\n    -----BEGIN"},
		{"mode: AllowValidOnly", "mode: AllowInsecureFallback"},
		{"{port: 8444, tls: {validation", "{port: 8443, tls: {validation"},
		{`limpet.dev/min-tls-version: "1.3"`, `limpet.dev/min-tls-version: "1.0"`},
		{`{group: "", kind: ConfigMap, name: clients}]`, `{group: "", kind: ConfigMap, name: other}]`},
		{`backend: {clientCertificateRef: {group: "", kind: Secret, namespace: keys, name: shop`, `backend: {clientCertificateRef: {group: "", kind: Secret, namespace: keys, name: gone`},
	} {
		at := slices.IndexFunc(world, func(o *worldObject) bool { return strings.Contains(o.text, words[0]) })
		if at < 0 {
			t.Fatalf("no document has %q", words[0])
		}
		before := world[at].text
		for _, text := range []string{strings.Replace(before, words[0], words[1], 1), before} {
			world[at].text = text
			follow(words[1], world[at])
		}
	}
}

// TestFollowerAuthorizers takes a Service away that nothing but a rule's authorization filter leads to, and brings it back otherwise.
func TestFollowerAuthorizers(t *testing.T) {
	o := Options{AllowEmpty: true, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
	service := "apiVersion: v1\nkind: Service\nmetadata: {name: asked, namespace: shop}\nspec: {ports: [{port: 80}]}\n"
	world := append(loadWorld(t), &worldObject{name: "asking.yaml", text: `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: asking, namespace: shop}
spec:
  parentRefs: [{name: web, namespace: infra, sectionName: main}]
  hostnames: [asking.example.com]
  rules:
  - filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: asked, port: 80}, http: {}}}]
    backendRefs: [{name: cart, port: 80}]
`}, &worldObject{name: "asked.yaml", text: service})
	f, asked := newFollower(t, o), world[len(world)-1]
	applyWorld(t, "all", f, world, world, o)
	for step, text := range []string{"", service, strings.Replace(service, "port: 80", "port: 81", 1), service} {
		asked.gone, asked.text = text == "", text
		before := f.last.result.Served[0]
		if _, update := applyWorld(t, fmt.Sprint("step ", step), f, world, []*worldObject{asked}, o); update == nil || update.result.Served[0] == before {
			t.Errorf("step %d: nothing has changed", step)
		}
	}
}

// TestFollowerSteps takes one object through states that random edits seldom reach one after the other.
func TestFollowerSteps(t *testing.T) {
	t.Parallel()
	o := Options{AllowEmpty: true, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
	for name, from := range map[string][2]string{
		"kind: Service\nmetadata: {name: cart": {"port: 80,", "port: 0,"},
		"kind: Gateway\nmetadata: {name: web":  {"port: 8000", "port: 0"},
		"kind: GatewayClass":                   {"limpet.dev/gateway-controller", "'-'"},
	} {
		world := loadWorld(t)
		f := newFollower(t, o)
		applyWorld(t, name+": all", f, world, world, o)
		for _, object := range world {
			if !strings.Contains(object.text, name) {
				continue
			}
			fine, broken := object.text, strings.Replace(object.text, from[0], from[1], 1)
			if fine == broken {
				t.Fatalf("%s: nothing changes", name)
			}
			for step, text := range []string{broken, "", broken, fine, "", fine} {
				object.gone, object.text = text == "", text
				applyWorld(t, fmt.Sprintf("%s: step %d", name, step), f, world, []*worldObject{object}, o)
			}
		}
	}
}
