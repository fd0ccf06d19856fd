package compiler

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
)

// TestStatusesFromPartsEqualCheck changes objects of all kinds at random, and compares after each change the statuses of a whole check with
// those of which a follower says that they are others now, and of the rest those that it gave before.
//
// requirements: S59, S60, S61, S62, S63, S64
func TestStatusesFromPartsEqualCheck(t *testing.T) {
	t.Parallel()
	const worlds = 4
	for seed := range worlds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			o := Options{AllowEmpty: true, AssumeClass: seed%3 == 0, Envoy: &EnvoyOptions{ModulePath: "w", Admin: NoAdmin, Served: &Served{
				Together: seed%2 == 1, Own: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.3:8080")},
				Rejected: map[string]string{"shop/web": "some words"},
			}}}
			followStatuses(t, o, seed, append(loadWorld(t), loadApart()...))
		})
	}
}

// loadApart gives routes that have nothing to do with each other.
func loadApart() (world []*worldObject) {
	for _, file := range scaletest.MakeRoutes(12) {
		for i, text := range strings.Split(strings.TrimPrefix(string(file.Data), "---\n"), "---\n") {
			world = append(world, &worldObject{name: fmt.Sprintf("apart-%s-%03d.yaml", file.Name, i), original: text, text: text})
		}
	}
	return world
}

// followStatuses edits a world for some rounds.
func followStatuses(t *testing.T, o Options, seed int, world []*worldObject) {
	t.Helper()
	random, compared := rand.New(rand.NewPCG(uint64(seed), 31)), 0
	now, asked := map[object.Ref]json.RawMessage{}, 0
	o.CurrentStatus = func(ref object.Ref) json.RawMessage { return now[ref] }
	f, changed := newFollower(t, o), slices.Clone(world)
	for round := range sized(15, 120) {
		o.Time = time.Unix(int64(1000+30*round), 0)
		sources, changes := listWorld(world, changed)
		changes.Time = o.Time
		if _, err := f.Apply(changes); err == nil {
			if d := f.TakeDecided(nil, false); d != nil {
				compared++
				got := d.Statuses(o)
				asked += len(got.Objects)
				after := noteStatuses(t, now, got)
				checkStatuses(t, fmt.Sprintf("round %d", round), after, sources, o)
				now = after
			}
		}
		if t.Failed() {
			for _, c := range changed {
				t.Logf("changed: %s gone=%t\n%s", c.name, c.gone, c.text)
			}
			t.FailNow()
		}
		changed = mend(world)
		for range 1 + random.IntN(3) {
			one := world[random.IntN(len(world))]
			one.edit(random)
			changed = append(changed, one)
		}
	}
	if compared < sized(15, 120)/2 {
		t.Errorf("%d rounds were compared", compared)
	}
	if !o.Envoy.Served.Together && asked > compared*len(now)*3/4 {
		t.Errorf("%d statuses are others in %d rounds, of %d objects: that is no choice", asked, compared, len(now))
	}
}

// TestStatusesOfOneChange holds that a changed route has its own status made again, with those of its policy and its Service, and those of
// its Gateway where that counts other routes then.
func TestStatusesOfOneChange(t *testing.T) {
	o := Options{Time: time.Unix(1000, 0), Envoy: &EnvoyOptions{ModulePath: "w", Admin: NoAdmin, Served: &Served{}}}
	f, world := newFollower(t, o), loadApart()
	take := func(changed []*worldObject) (kinds []string) {
		_, changes := listWorld(world, changed)
		changes.Time = o.Time
		if _, err := f.Apply(changes); err != nil {
			t.Fatal(err)
		}
		for _, s := range f.TakeDecided(nil, false).Statuses(o).Objects {
			kinds = append(kinds, s.Kind)
		}
		return kinds
	}
	if first := take(world); len(first) < 3*12 {
		t.Fatalf("there are %d statuses", len(first))
	}
	at := slices.IndexFunc(world, func(w *worldObject) bool { return strings.Contains(w.text, "kind: HTTPRoute\n") })
	for _, step := range []struct{ from, to, want string }{
		{"value: /cart", "value: /basket", "HTTPRoute SessionPersistencePolicy Service"},
		{"name: web", "name: none", "Gateway HTTPRoute SessionPersistencePolicy"},
		{"name: none", "name: web", "Gateway HTTPRoute SessionPersistencePolicy Service"},
		{"PathPrefix\n        value: /basket", "RegularExpression\n        value: '('", "Gateway HTTPRoute SessionPersistencePolicy"},
		{"RegularExpression\n        value: '('", "PathPrefix\n        value: /basket", "Gateway HTTPRoute SessionPersistencePolicy Service"},
	} {
		world[at].text = strings.Replace(world[at].text, step.from, step.to, 1)
		if got := strings.Join(take(world[at:at+1]), " "); got != step.want {
			t.Errorf("%s: the statuses are others of %s, want %s", step.to, got, step.want)
		}
	}
}

// TestStatusesOfEachChange has each object of a small world go and come back, and words in it become others and what they were. After each
// of these the statuses that a follower says are others now, and of the rest those that it gave before, are those of a whole check. At the
// end it gives that of each object once more, as where somebody else has written something there.
//
// requirements: S59, S60, S61, S62, S63, S64
func TestStatusesOfEachChange(t *testing.T) {
	t.Parallel()
	now := map[object.Ref]json.RawMessage{}
	o := Options{Time: time.Unix(1000, 0), AllowEmpty: true, Envoy: &EnvoyOptions{ModulePath: "w", Admin: NoAdmin, Served: &Served{}}}
	o.CurrentStatus = func(ref object.Ref) json.RawMessage { return now[ref] }
	f, world := newFollower(t, o), loadStatuses(t)
	var sources []Source
	follow := func(name string, changed []*worldObject) {
		t.Helper()
		var changes Changes
		sources, changes = listWorld(world, changed)
		changes.Time = o.Time
		if _, err := f.Apply(changes); err != nil {
			t.Fatal(name, err)
		}
		now = noteStatuses(t, now, f.TakeDecided(nil, false).Statuses(o))
		checkStatuses(t, name, now, sources, o)
	}
	follow("first", world)
	for i, one := range world {
		for _, gone := range []bool{true, false} {
			one.gone = gone
			follow(fmt.Sprintf("%s gone=%t", one.original, gone), world[i:i+1])
		}
		for _, words := range statusWords {
			if one.text = strings.Replace(one.original, words[0], words[1], 1); one.text != one.original {
				follow(fmt.Sprintf("%s now %s", one.original, words[1]), world[i:i+1])
				one.text = one.original
				follow(fmt.Sprintf("%s no more %s", one.original, words[1]), world[i:i+1])
			}
		}
	}
	want := maps.Clone(now)
	for ref := range want {
		now[ref] = json.RawMessage(`{"conditions":[]}`)
		now = noteStatuses(t, now, f.TakeDecided([]object.Ref{ref}, false).Statuses(o))
	}
	checkStatuses(t, "overwritten", now, sources, o)
}

// statusWords are what becomes of words.
var statusWords = [][2]string{
	{"name: cart, port", "name: none, port"},
	{"name: own, port", "name: cart, port"},
	{"kind: XBackend, name: outside", "kind: XBackend, name: none"},
	{"parentRefs: [{name: web}]", "parentRefs: [{name: lone}]"},
	{"example.com", "example.org"},
	{"allowedRoutes: {namespaces: {from: All}}", "hostname: x.org"},
	{"kind: Service, name: cart}", "kind: Service, name: own}"},
	{"kind: Gateway, name: web}", "kind: Gateway, name: lone}"},
	{"port: 8082", "port: 8080"},
	{"port: 9000", "port: 8081"},
	{"sessionName: OWN", "sessionName: 'no good'"},
	{"port: 80}", "port: 81}"},
	{"name: tcp, namespace", "labels: {a: b}, name: tcp, namespace"},
	{"sessionPersistence", "name: one, sessionPersistence"},
	{"limpet.dev/gateway-controller", "example.com/other"},
	{"rules: [{backendRefs", "rules: [{matches: [{path: {type: RegularExpression, value: '('}}], backendRefs"},
	{"rules: [{", "rules: [{name: a, matches: [{path: {type: Exact, value: x}}]}, {"},
}

// loadStatuses gives the world of that test, with a policy for a Service that more Gateways lead to than its status can list.
func loadStatuses(t *testing.T) []*worldObject {
	t.Helper()
	world := loadObjects(t, "statuses.yaml")
	for i := range 17 {
		name := fmt.Sprintf("many-%02d", i)
		text := strings.ReplaceAll("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: NAME, namespace: many}\n"+
			"spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 80}]}\n---\n"+
			"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: NAME, namespace: many}\n"+
			"spec: {parentRefs: [{name: NAME}], hostnames: [NAME.example.com], rules: [{backendRefs: [{name: many, port: 80}]}]}\n", "NAME", name)
		if i == 0 {
			text += "---\n{apiVersion: v1, kind: Service, metadata: {name: many, namespace: many}, spec: {ports: [{port: 80}]}}\n---\n" +
				"{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: of-many, namespace: many}, " +
				"spec: {targetRefs: [{group: '', kind: Service, name: many}], sessionName: MANY}}\n"
		}
		world = append(world, &worldObject{name: name + ".yaml", original: text, text: text})
	}
	return world
}

// listWorld gives the sources of a world by their names, and what has changed of them.
func listWorld(world, changed []*worldObject) (sources []Source, c Changes) {
	for _, one := range world {
		if !one.gone {
			sources = append(sources, Source{Name: one.name, Data: []byte(one.text)})
		}
	}
	slices.SortFunc(sources, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	for _, one := range changed {
		if one.gone {
			c.Removed = append(c.Removed, one.name)
		} else {
			c.Set = append(c.Set, Source{Name: one.name, Data: []byte(one.text)})
		}
	}
	return sources, c
}

// checkStatuses compares statuses with those of a whole check.
func checkStatuses(t *testing.T, name string, got map[object.Ref]json.RawMessage, sources []Source, o Options) {
	t.Helper()
	checked, err := Check(sources, o)
	if err != nil {
		t.Fatal(err)
	}
	want := noteStatuses(t, nil, checked)
	for ref, text := range want {
		if string(got[ref]) != string(text) {
			t.Errorf("%s: %s has\n%s\nwant\n%s", name, ref, got[ref], text)
		}
	}
	for ref := range got {
		if want[ref] == nil {
			t.Errorf("%s: %s has a status, and is to have none", name, ref)
		}
	}
}

// noteStatuses gives what objects have once some statuses are written.
func noteStatuses(t *testing.T, now map[object.Ref]json.RawMessage, checked *CheckResult) map[object.Ref]json.RawMessage {
	t.Helper()
	written := map[object.Ref]json.RawMessage{}
	if !checked.All {
		maps.Copy(written, now)
	}
	for _, ref := range checked.Without {
		delete(written, ref)
	}
	for _, o := range checked.Objects {
		text, err := json.Marshal(o.Status)
		if err != nil {
			t.Fatal(err)
		}
		if written[o.Ref()] = text; string(text) == `{"conditions":[]}` { // of a Service that no policy affects any more
			delete(written, o.Ref())
		}
	}
	return written
}
