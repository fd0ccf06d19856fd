package xds

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statusv3 "google.golang.org/genproto/googleapis/rpc/status"
)

// fakeEnvoy does what an Envoy does with what a client sends: it asks for what it has been led to, and takes or rejects
// what comes. It fails the test where a request would have met something that is not there.
type fakeEnvoy struct {
	t      *testing.T
	client *client
	now    time.Time
	has    [typeCount]map[string]*discoveryv3.Resource
	asked  [typeCount]map[string]bool
	seen   []*Snapshot
	// offered is what the client has yet to look at, and latest the last of it.
	offered inbox
	latest  *Snapshot
	// absent are the names that it was told to be of nothing since it asked for them.
	absent [typeCount]map[string]bool
	inbox  []*discoveryv3.DeltaDiscoveryResponse
	// refused is the last filter that it did not take.
	refused string
	// mended are filters that are bad no more, as if their file had come.
	mended map[string]bool
	// warming are clusters that were made, also again, and have got no endpoints since. Until there are none it keeps its
	// answers about clusters.
	warming map[string]bool
	kept    []*discoveryv3.DeltaDiscoveryRequest
	// log has a word for each message that was taken, and nacks counts those that were not.
	log   []string
	nacks int
	// scoped says that a listener looks for scopes, and protocol are those that were ever sent, with their versions.
	scoped   bool
	protocol map[string]string
	// draining are the versions of scopes that stay for listeners that drain, whatever becomes of what they lead to, if
	// their sites have gone.
	draining map[string]string
	// everScoped are the sites whose scopes a listener has ever looked for.
	everScoped map[string]bool
	// initial are the scopes that came first of all: the listeners wait for their tables.
	initial map[string]bool
	// rejects says that there are clusters that it rejects from the start, to which routes may lead.
	rejects bool
}

func newFakeEnvoy(t *testing.T) *fakeEnvoy {
	e := &fakeEnvoy{t: t, now: time.Unix(1000, 0), initial: map[string]bool{}, protocol: map[string]string{}, draining: map[string]string{}, everScoped: map[string]bool{}}
	for i := range e.has {
		e.has[i], e.asked[i], e.absent[i] = map[string]*discoveryv3.Resource{}, map[string]bool{}, map[string]bool{}
	}
	e.connect()
	return e
}

// connect begins a connection; an Envoy that comes back says what it has.
func (e *fakeEnvoy) connect() { e.connectTo(nil) }

// connectTo connects to a server that has a snapshot already, if it is not nil, and looks at each request before the next.
func (e *fakeEnvoy) connectTo(s *Snapshot) {
	e.client = newClient(10*time.Second, silent{}, e.now)
	e.inbox, e.offered, e.latest, e.warming, e.kept = nil, inbox{}, nil, map[string]bool{}, nil
	if s != nil {
		e.offer(s)
	}
	for _, t := range []Type{Cluster, Listener, Endpoint, Secret, Filter, Routes, ScopedRoutes} {
		clear(e.absent[t])
		if t != Cluster && t != Listener && len(e.asked[t]) == 0 && (t != ScopedRoutes || len(e.protocol) == 0) {
			continue
		}
		versions := map[string]string{}
		for name, r := range e.has[t] {
			versions[name] = r.GetVersion()
		}
		if t == ScopedRoutes {
			versions = maps.Clone(e.protocol)
		}
		e.client.take(&discoveryv3.DeltaDiscoveryRequest{
			TypeUrl: t.URL(), InitialResourceVersions: versions, ResourceNamesSubscribe: slices.Sorted(maps.Keys(e.asked[t])),
		}, e.now)
		if s != nil {
			e.pull()
		}
	}
	e.pull()
}

// silent observes nothing.
type silent struct{}

func (silent) staged(stage, time.Time, time.Duration) {}
func (silent) rejected(Rejection)                     {}
func (silent) tried(bool)                             {}

func (e *fakeEnvoy) set(s *Snapshot) {
	e.offer(s)
	e.pull()
}

// offer has a snapshot lie ready for the client.
func (e *fakeEnvoy) offer(s *Snapshot) {
	e.offered.put(s, s.changesSince(e.latest))
	e.latest = s
	e.seen = append(e.seen, s)
}

// pull has the client look at what is offered, and gets what it sends.
func (e *fakeEnvoy) pull() {
	if latest, changed := e.offered.take(); latest != nil {
		e.client.see(latest, changed)
	}
	e.inbox = append(e.inbox, e.client.next(e.now)...)
}

// step takes the next message, if there is one.
func (e *fakeEnvoy) step() bool {
	if len(e.inbox) == 0 {
		return false
	}
	message := e.inbox[0]
	e.inbox = e.inbox[1:]
	t, _ := findType(message.GetTypeUrl())
	answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: t.URL(), ResponseNonce: message.GetNonce()}
	var bad []string
	isInitial := t == ScopedRoutes && (len(e.has[t]) == 0 || e.client.firstScopes)
	for _, r := range message.GetResources() {
		seen := r.GetName() + string(r.GetResource().GetValue())
		if t == Filter && e.refused == seen {
			continue // it does not look at it again, and says yes
		}
		isBad := func(word string) bool { return word == "bad" || strings.HasSuffix(word, "=bad") }
		if slices.ContainsFunc(strings.Fields(string(r.GetResource().GetValue())), isBad) && !e.mended[r.GetName()] {
			bad = append(bad, r.GetName())
			if t == Filter {
				e.refused = seen
			}
			continue
		}
		if t == ScopedRoutes {
			e.protocol[r.GetName()] = r.GetVersion()
		}
		if t == Cluster || t == Listener || t == ScopedRoutes && e.scoped || e.asked[t][r.GetName()] {
			e.put(t, r)
			if t == ScopedRoutes {
				delete(e.initial, r.GetName())
			}
			if isInitial {
				e.initial[r.GetName()] = true
			}
		}
	}
	if len(bad) > 0 {
		e.nacks++
		answer.ErrorDetail = &statusv3.Status{Message: "not taken: " + strings.Join(bad, ", ")}
		if t == Endpoint {
			clear(e.warming)
		}
	}
	for _, name := range message.GetRemovedResources() {
		if delete(e.has[t], name); t == ScopedRoutes {
			delete(e.protocol, name)
		}
		e.absent[t][name] = true
		if t == Cluster || t == Endpoint {
			delete(e.warming, name)
		}
	}
	e.log = append(e.log, fmt.Sprintf("%s+%d-%d", t, len(message.GetResources()), len(message.GetRemovedResources())))
	e.check()
	if t == Cluster {
		e.kept = append(e.kept, answer)
	} else {
		e.client.take(answer, e.now)
	}
	e.ask()
	if len(e.warming) == 0 {
		e.answerKept()
	}
	e.now = e.now.Add(time.Millisecond)
	e.pull()
	return true
}

// answerKept answers what is kept.
func (e *fakeEnvoy) answerKept() {
	for _, answer := range e.kept {
		e.client.take(answer, e.now)
	}
	e.kept = nil
}

// put takes a resource. A cluster that is made, or made again, waits for endpoints, also if there were some.
func (e *fakeEnvoy) put(t Type, r *discoveryv3.Resource) {
	was := e.has[t][r.GetName()]
	switch {
	case t == Cluster && (was == nil || was.GetVersion() != r.GetVersion()):
		e.warming[r.GetName()] = true
	case t == Endpoint:
		delete(e.warming, r.GetName())
	}
	e.has[t][r.GetName()] = r
}

// run takes messages until there are none.
func (e *fakeEnvoy) run() {
	e.t.Helper()
	for n := 0; e.step(); n++ {
		if n > 10_000 {
			e.t.Fatalf("it does not end: %q", e.log[len(e.log)-20:])
		}
	}
}

// drain is the end of all listeners that have left.
func (e *fakeEnvoy) drain() {
	e.t.Helper()
	e.log = append(e.log, "drained")
	e.now = e.now.Add(drainTime)
	e.pull()
	e.run()
}

// words are those of what it has of a type that begin so.
func (e *fakeEnvoy) words(t Type, prefix string) map[string]bool {
	all := map[string]bool{}
	for _, r := range e.has[t] {
		for _, word := range strings.Fields(string(r.GetResource().GetValue())) {
			if rest, found := strings.CutPrefix(word, prefix); found {
				all[rest] = true
			}
		}
	}
	return all
}

// ask subscribes to what is referred to, and drops what is not any more.
func (e *fakeEnvoy) ask() {
	endpoints := map[string]bool{}
	for name := range e.has[Cluster] {
		endpoints[name] = true
	}
	wanted := map[Type]map[string]bool{
		Endpoint: endpoints, Routes: e.words(Listener, "routes:"), Filter: e.words(Listener, "filter:"),
		Secret: e.words(Listener, "secret:"),
	}
	maps.Copy(wanted[Routes], e.words(ScopedRoutes, "table:"))
	e.askScopes()
	for _, t := range slices.Sorted(maps.Keys(wanted)) {
		want := wanted[t]
		request := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: t.URL()}
		for name := range want {
			if !e.asked[t][name] {
				request.ResourceNamesSubscribe = append(request.ResourceNamesSubscribe, name)
				delete(e.absent[t], name)
			}
		}
		for name := range e.asked[t] {
			if !want[name] {
				request.ResourceNamesUnsubscribe = append(request.ResourceNamesUnsubscribe, name)
				delete(e.has[t], name)
			}
		}
		e.asked[t] = want
		if len(request.GetResourceNamesSubscribe())+len(request.GetResourceNamesUnsubscribe()) > 0 {
			e.client.take(request, e.now)
		}
	}
}

// askScopes asks for all of them when a listener first needs some. It drops them with the last one, and neither says so nor asks again for
// another, as Envoy does: only its protocol knows what it has.
func (e *fakeEnvoy) askScopes() {
	e.scoped = len(e.words(Listener, "scoped:")) > 0
	switch {
	case !e.scoped:
		clear(e.has[ScopedRoutes])
		clear(e.initial)
	case !e.client.types[ScopedRoutes].asked:
		e.client.take(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ScopedRoutes.URL()}, e.now)
	}
}

// check holds that requests meet no hole: the routes of each listener have their clusters, with endpoints, and their
// policies.
func (e *fakeEnvoy) check() {
	e.t.Helper()
	for name := range e.words(Listener, "routes:") {
		if e.has[Routes][name] == nil {
			continue // the listener is warming
		}
		e.checkClusters("table "+name, e.has[Routes][name])
	}
	whole, scoped := e.words(Listener, "routes:"), e.words(Listener, "scoped:")
	maps.Copy(e.everScoped, scoped)
	for name, scope := range e.has[ScopedRoutes] {
		site, _, _ := strings.Cut(name, "#")
		target := e.client.target
		if (target == nil || target.findResource(ScopedRoutes, name) == nil) && !whole[site] && !scoped[site] {
			e.draining[name] = scope.GetVersion()
		}
		if !e.everScoped[site] || e.draining[name] == scope.GetVersion() {
			continue
		}
		content := string(scope.GetResource().GetValue())
		for _, word := range strings.Fields(content) {
			switch kind, what, _ := strings.Cut(word, ":"); {
			case kind == "table" && e.has[Routes][what] != nil:
				delete(e.initial, name)
				if !strings.HasSuffix(name, "#") {
					e.checkClusters(fmt.Sprintf("scope %s, table %s", name, what), e.has[Routes][what])
				}
			case kind == "table" && !strings.HasSuffix(name, "#") && !e.initial[name]:
				e.t.Errorf("after %q: scope %s leads to table %s, which is not there", e.tail(), name, what)
			}
		}
		e.checkClusters("scope "+name, scope)
	}
	for move := range e.words(Endpoint, "moved:") {
		for name := range e.has[Routes] {
			r := e.has[Routes][name]
			lacks := func(s *Snapshot) bool { return s.findResource(Routes, name) == nil } // those of a listener that goes are not waited for
			if !slices.ContainsFunc(e.seen, lacks) && !slices.Contains(strings.Fields(string(r.GetResource().GetValue())), "knows:"+move) {
				e.t.Errorf("after %q: routes %s do not know of move %s, and there are endpoints after it", e.tail(), name, move)
			}
		}
	}
}

// checkClusters holds that routes lead to clusters with endpoints.
func (e *fakeEnvoy) checkClusters(of string, routes *discoveryv3.Resource) {
	for _, word := range strings.Fields(string(routes.GetResource().GetValue())) {
		what, is := strings.CutPrefix(word, "cluster:")
		if is && !e.rejects && (e.has[Cluster][what] == nil || e.has[Endpoint][what] == nil) {
			e.t.Errorf("after %q: %s leads to cluster %s, which is not there", e.tail(), of, what)
		}
	}
}

func (e *fakeEnvoy) tail() []string { return e.log[max(0, len(e.log)-8):] }

// holds tells whether it has a snapshot, all of it and nothing else.
func (e *fakeEnvoy) holds(s *Snapshot) error {
	for i := range e.has {
		t := Type(i)
		for _, r := range s.Resources(t) {
			if r = e.client.form(t, r); r == nil || t == ScopedRoutes && !e.scoped {
				continue
			}
			if e.has[t][r.Name] == nil || e.has[t][r.Name].GetVersion() != r.Version {
				return fmt.Errorf("%s %s is not there as it should be", t, r.Name)
			}
		}
		for name := range e.has[t] {
			if s.findResource(t, name) == nil {
				return fmt.Errorf("%s %s is still there", t, name)
			}
		}
		for name := range e.asked[t] {
			if e.has[t][name] == nil && !e.absent[t][name] {
				return fmt.Errorf("it waits for %s %s, of which there is nothing", t, name)
			}
		}
	}
	for name := range e.warming {
		return fmt.Errorf("cluster %s waits for endpoints", name)
	}
	if e.client.live != s {
		return fmt.Errorf("the snapshot is not taken for live; stage %v", e.client.reached)
	}
	return nil
}
