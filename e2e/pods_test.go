package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// podWorld is two Services under one session, whose pods come and go while clients are at work.
type podWorld struct {
	*harness.Watching
	blue, green []*harness.Backend
	made        int
	// known counts the changes that are live in Envoy, and has an odd number while one is under way.
	known atomic.Int64
	// wrong are requests that a session's token led to another pod than it began with, and early those of them that were sent
	// before Envoy knew of the change; window is how late the latest of these was sent.
	wrong, early atomic.Int64
	// current are the requests that were sent and answered while Envoy knew of all changes.
	current atomic.Int64
	swapped atomic.Int64
	window  atomic.Int64
	// servedBy is the Envoy where limpet does not run it.
	servedBy *harness.Envoy
}

func (w *podWorld) envoy(t *testing.T) *harness.Envoy {
	if w.servedBy != nil {
		return w.servedBy
	}
	return w.Envoy(t)
}

// newPod starts a pod with a uid of its own, at an address that was another's or at a new one.
func (w *podWorld) newPod(t *testing.T, hostname, address string) *harness.Backend {
	t.Helper()
	w.made++
	name := fmt.Sprintf("pod-%d", w.made)
	if hostname != "" {
		name = hostname + "." + name
	}
	if address == "" {
		address = harness.Loopback(harness.FreePort(t))
	}
	pod := harness.NewBackendAt(t, name, address)
	pod.UID, pod.Hostname = fmt.Sprintf("uid-%d", w.made), hostname
	return pod
}

func (w *podWorld) newPods(t *testing.T, hostnames ...string) (pods []*harness.Backend) {
	t.Helper()
	for _, hostname := range hostnames {
		pods = append(pods, w.newPod(t, hostname, ""))
	}
	return pods
}

func (w *podWorld) documents(more string) harness.Documents {
	return harness.Documents{
		Services: []harness.Service{{Name: "blue", Backends: w.blue}, {Name: "green", Backends: w.green}},
		Routes: []harness.Route{{Name: "app", Rules: []harness.Rule{{
			Path: "/cart", Refs: []harness.Ref{{Service: "blue", Weight: 1}, {Service: "green", Weight: 1}},
			Session: &harness.Session{Name: "cart", Type: policyconfig.TypeCookie},
		}}}},
		More: more,
	}
}

// member is a client that knows with which pod its token began, and counts the answers of any other that bring no new token.
func (w *podWorld) member(client *harness.Client) func() (harness.Response, error) {
	home := ""
	return func() (harness.Response, error) {
		before := w.known.Load()
		begun := time.Now()
		r, err := client.Try(http.MethodGet, "/cart", quietly)
		if err != nil || r.Backend == "" {
			if client.Jar.Value("cart") == "" {
				home = ""
			}
			return r, err
		}
		issued := len(r.Header["Set-Cookie"]) > 0
		current := before%2 == 0 && w.known.Load() == before
		if current {
			w.current.Add(1)
		}
		if !issued && home != "" && r.Backend != home {
			w.wrong.Add(1)
			if !current {
				w.early.Add(1)
				late := begun.UnixNano() - w.swapped.Load()
				w.window.Store(max(w.window.Load(), late))
			}
		}
		if issued {
			home = r.Backend
		}
		return r, err
	}
}

// recreate ends a pod of each Service and has others take their addresses at once: in their own Service or, crosswise, in the
// other one.
func (w *podWorld) recreate(t *testing.T, i int, crosswise bool) {
	t.Helper()
	one, two := w.blue[i%len(w.blue)], w.green[i%len(w.green)]
	if crosswise {
		one, two = two, one
	}
	w.known.Add(1)
	w.blue[i%len(w.blue)].Close()
	w.green[i%len(w.green)].Close()
	w.blue = slices.Clone(w.blue)
	w.green = slices.Clone(w.green)
	w.blue[i%len(w.blue)] = w.newPod(t, "", one.Address)
	w.green[i%len(w.green)] = w.newPod(t, "", two.Address)
	w.swapped.Store(time.Now().UnixNano())
	w.Set(t, func(d *harness.Documents) { d.Services[0].Backends, d.Services[1].Backends = w.blue, w.green })
	w.known.Add(1)
}

// TestPodsRecreated: pods are recreated at the same addresses under load, in their own Service and in the other one of a split.
// Once Envoy knows, no session is with another pod than it began with.
//
// requirements: 2A.4, S42
func TestPodsRecreated(t *testing.T) {
	t.Parallel()
	w := &podWorld{}
	w.blue, w.green = w.newPods(t, "", "", ""), w.newPods(t, "", "", "")
	w.Watching = harness.RunWatching(t, w.documents(""), harness.NewRing("a"))
	w.checkRecreated(t, "pods recreated with the same addresses (limpet run)", harness.Size[int64](200, 100_000))
}

// checkRecreated recreates pods, eight times at least, until so many requests have been sent and answered while Envoy knew.
func (w *podWorld) checkRecreated(t *testing.T, scenario string, requests int64) {
	t.Helper()
	rounds := 0
	clients := harness.NewClients(t, harness.Size(12, 24), func(int) func() (harness.Response, error) { return w.member(w.Client()) })
	clients.Every = 4 * time.Millisecond
	tally := clients.During(func() {
		for ; rounds < 8 || w.current.Load() < requests; rounds++ {
			w.recreate(t, rounds, rounds%2 == 1)
			time.Sleep(harness.Size(50*time.Millisecond, 250*time.Millisecond))
		}
	})
	late := w.wrong.Load() - w.early.Load()
	window := time.Duration(w.window.Load()).Round(time.Millisecond)
	if late > 0 {
		t.Errorf("%d of %d requests went to another pod after Envoy knew: %v", late, tally.Requests, tally)
	}
	reused := countReused(t, w.envoy(t))
	harness.RecordResult(t, scenario, harness.Result{
		Requests: tally.Requests, Sessions: clients.Size(), Changes: w.Changes(), Faults: 2 * rounds, Errors: tally.Failed(), Lost: int(late),
		Note: fmt.Sprintf("%d of %d requests on another pod once Envoy knew; %d before, the last of them %v after the pods had changed; "+
			"%d tokens void", late, w.current.Load(), w.early.Load(), window, reused),
	})
}

// countReused is how many tokens were void because their host had become another pod's; none is a failure. With a table for each shard Envoy
// has the session policies later, and a reused address is no endpoint until then: there sessions that moved are enough.
func countReused(t *testing.T, envoy *harness.Envoy) (total uint64) {
	t.Helper()
	counters, isEnough := envoy.Stats(t, `^wasmcustom\.limpet_sessions`), false
	for name, count := range counters {
		if strings.HasSuffix(name, "host-reused") {
			total += count
		}
		isEnough = isEnough || harness.AllShards() && count > 0 && strings.HasSuffix(name, ".outcome.moved")
	}
	if total == 0 && !isEnough {
		t.Errorf("no token was void for a host that was reused: %v", counters)
	}
	return total
}

// TestPodsRecreatedServed is TestPodsRecreated over xDS.
//
// requirements: 2A.4, S42
func TestPodsRecreatedServed(t *testing.T) {
	t.Parallel()
	w := &podWorld{}
	w.blue, w.green = w.newPods(t, "", "", ""), w.newPods(t, "", "", "")
	s := harness.Serve(t, w.documents(""), harness.NewRing("a"))
	w.Watching = s.Watching
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	w.servedBy = envoy
	w.checkRecreated(t, "pods recreated with the same addresses (limpet serve)", harness.Size[int64](200, 100_000))
}

// TestFormerOwnersAreRemembered: limpet is away while a pod takes another's address, and knows when it is back.
//
// requirements: 2A.4, S42
func TestFormerOwnersAreRemembered(t *testing.T) {
	t.Parallel()
	w := &podWorld{}
	w.blue, w.green = w.newPods(t, "", ""), w.newPods(t, "", "")
	memory := t.TempDir()
	s := harness.Serve(t, w.documents(""), harness.NewRing("a"),
		"--state-dir", memory)
	w.Watching = s.Watching
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	var members []func() (harness.Response, error)
	for range 20 {
		members = append(members, w.member(envoy.Client()))
	}
	all := func() {
		for _, get := range members {
			if r, err := get(); err != nil || r.Status != http.StatusOK {
				t.Fatalf("%v, status %d", err, r.Status)
			}
		}
	}
	all()
	w.Terminate(t)
	old := w.blue[0]
	old.Close()
	w.Edit(t, func(d *harness.Documents) {
		w.blue = []*harness.Backend{w.newPod(t, "", old.Address), w.blue[1]}
		d.Services[0].Backends = w.blue
	})
	s.ServeAgain(t)
	s.AwaitEnvoy(t, "e2e", func(harness.ServedEnvoy) bool { return true })
	s.AwaitAcknowledged(t)
	all()
	if wrong := w.wrong.Load(); wrong > 0 {
		t.Errorf("%d of 20 sessions are with a pod that they did not begin with", wrong)
	}
	countReused(t, envoy)
}

const namePolicy = `
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: names, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: app}]
  identity: Name
`

// TestStatefulSetRolled: each pod of a StatefulSet goes and comes back with its name, at another address or at one that a pod
// of another name had; its sessions follow it.
//
// requirements: S42
func TestStatefulSetRolled(t *testing.T) {
	t.Parallel()
	w := &podWorld{}
	w.blue, w.green = w.newPods(t, "web-0", "web-1", "web-2"), w.newPods(t, "web-0")
	w.Watching = harness.RunWatching(t, w.documents(namePolicy), harness.NewRing("a"))
	clients, homes := []*harness.Client{}, []string{}
	for range harness.Size(120, 800) {
		c := w.Client()
		clients, homes = append(clients, c), append(homes, identityOf(w, visit(t, c, "/cart").Backend))
	}
	followed, lost := 0, 0
	check := func(what string, rolled string) {
		t.Helper()
		for i, c := range clients {
			now := identityOf(w, visit(t, c, "/cart").Backend)
			switch {
			case now != homes[i]:
				t.Errorf("%s: a session of %s is with %s", what, homes[i], now)
				lost++
				homes[i] = now
			case now == rolled:
				followed++
			}
		}
	}
	set := func() {
		w.Set(t, func(d *harness.Documents) { d.Services[0].Backends, d.Services[1].Backends = w.blue, w.green })
		w.awaitPods(t)
	}
	for i := range w.blue {
		old := w.blue[i]
		w.blue = slices.Clone(w.blue)
		w.blue = slices.Delete(w.blue, i, i+1)
		old.Close()
		set() // it is gone
		w.blue = slices.Insert(w.blue, i, w.newPod(t, old.Hostname, ""))
		set()
		check("elsewhere", "blue/"+old.Hostname)
	}
	one, two := w.blue[0], w.blue[1]
	one.Close()
	two.Close()
	w.blue = []*harness.Backend{w.newPod(t, "web-0", two.Address), w.newPod(t, "web-1", one.Address), w.blue[2]}
	set()
	check("addresses swapped", "blue/web-0")
	harness.RecordResult(t, "a StatefulSet is rolled, to new addresses and to one another's (identity: Name)", harness.Result{
		Requests: 5 * len(clients), Sessions: len(clients), Changes: w.Changes(), Faults: 5, Lost: lost,
		Note: fmt.Sprintf("%d times a session followed its pod", followed),
	})
}

// awaitPods returns when new sessions have come to each pod: Envoy's main thread confirms endpoints, and its worker has them a little later.
func (w *podWorld) awaitPods(t *testing.T) {
	t.Helper()
	missing := map[string]bool{}
	for _, pod := range slices.Concat(w.blue, w.green) {
		missing[pod.Name] = true
	}
	for range 10_000 {
		if delete(missing, visit(t, w.Client(), "/cart").Backend); len(missing) == 0 {
			return
		}
	}
	t.Fatalf("no new session comes to %v", missing)
}

// identityOf is the Service of a pod and its name.
func identityOf(w *podWorld, name string) string {
	hostname, _, _ := strings.Cut(name, ".")
	for _, pod := range w.green {
		if pod.Name == name {
			return "green/" + hostname
		}
	}
	return "blue/" + hostname
}

// TestRecreatedPodsKeepTheirVersion: the sessions of a pod whose address has passed to another one, of its Service or of the
// other, are over, and their clients go to hosts of the same Service.
//
// requirements: S40, S42
func TestRecreatedPodsKeepTheirVersion(t *testing.T) {
	t.Parallel()
	w := &podWorld{}
	w.blue, w.green = w.newPods(t, "", "", ""), w.newPods(t, "", "", "")
	w.Watching = harness.RunWatching(t, w.documents(withinPolicy), harness.NewRing("a"))
	clients, homes := []*harness.Client{}, []string{}
	for range harness.Size(60, 300) {
		c := w.Client()
		clients, homes = append(clients, c), append(homes, visit(t, c, "/cart").Backend)
	}
	crossed, moved := 0, 0
	for round, crosswise := range []bool{false, true, false, true} {
		blue := w.names(w.blue)
		w.recreate(t, round, crosswise)
		now := w.names(w.blue)
		for i, c := range clients {
			home := visit(t, c, "/cart").Backend
			if home != homes[i] {
				moved++
			}
			if blue[homes[i]] != now[home] {
				crossed++
			}
			homes[i] = home
		}
	}
	if crossed > 0 || moved < len(clients)/4 {
		t.Errorf("%d of %d sessions went to the other Service", crossed, moved)
	}
	countReused(t, w.envoy(t))
	harness.RecordResult(t, "pods of a version are recreated with addresses of both (onHostLost: RebalanceWithin)", harness.Result{
		Requests: 5 * len(clients), Sessions: len(clients), Changes: w.Changes(), Faults: 8, Lost: crossed,
		Note: fmt.Sprintf("%d of %d sessions of pods that had gone stayed in their version", moved-crossed, moved),
	})
}

// names are those of pods.
func (w *podWorld) names(pods []*harness.Backend) map[string]bool {
	names := map[string]bool{}
	for _, pod := range pods {
		names[pod.Name] = true
	}
	return names
}
