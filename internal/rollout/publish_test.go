package rollout

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// fakeEnvoy answers for an Envoy that has taken over every file of a folder that it reads, at once; but for those that it
// shall not take. What it does not read has no counters.
type fakeEnvoy struct {
	folder   string
	reads    map[string]string // prefix of counters, by path
	deaf     map[string]bool   // paths
	rejects  map[string]bool
	versions map[string]string
	taken    map[string]int
	// refuses are the names of listeners that it does not take, while it takes the others.
	refuses map[string]bool
	asked   []string // the types of what it was asked for
}

func (e *fakeEnvoy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/listeners" {
		fmt.Fprintf(w, `{"listener_statuses": [%s]}`, strings.Join(e.listeners(), ","))
		return
	}
	filter, _ := url.QueryUnescape(r.URL.Query().Get("filter"))
	asked := regexp.MustCompile(filter)
	kind, used := r.URL.Query().Get("type"), r.URL.Query().Has("usedonly")
	e.asked = append(e.asked, kind)
	for path, prefix := range e.reads {
		rejected := e.read(path)
		lines := []string{fmt.Sprintf("%s.version_text: %q", prefix, e.versions[path])}
		if kind == "Counters" {
			lines = []string{
				fmt.Sprintf("%s.update_success: %d", prefix, e.taken[path]), fmt.Sprintf("%s.update_rejected: %d", prefix, rejected),
				prefix + ".update_failure: 0",
			}
		}
		for _, line := range lines {
			if name, value, _ := strings.Cut(line, ": "); asked.MatchString(name) && (!used || value != "0") {
				fmt.Fprintln(w, line)
			}
		}
	}
}

// listeners are those that it has.
func (e *fakeEnvoy) listeners() (all []string) {
	data, _ := os.ReadFile(filepath.Join(e.folder, envoy.ListenersFile))
	for name := range strings.FieldsSeq(namesIn(File{Data: data})) {
		if !e.refuses[name] {
			all = append(all, fmt.Sprintf(`{"name": %q}`, name))
		}
	}
	return all
}

// read takes a file over, or rejects it once.
func (e *fakeEnvoy) read(path string) (rejected int) {
	data, err := os.ReadFile(filepath.Join(e.folder, path))
	content := &discoveryv3.DiscoveryResponse{}
	err = errors.Join(err, proto.Unmarshal(data, content))
	version := content.GetVersionInfo()
	switch {
	case err != nil || e.deaf[path]:
	case e.rejects[path]:
		return 1
	case path == envoy.ListenersFile && e.refusesOne(string(data)):
		return 1
	case e.versions[path] != version:
		e.versions[path], e.taken[path] = version, e.taken[path]+1
	}
	return 0
}

// newFakeEnvoy runs one on a configuration, and a publisher for it.
func newFakeEnvoy(t *testing.T, from *envoy.Discovery) (*fakeEnvoy, *Publisher) {
	t.Helper()
	e := &fakeEnvoy{
		folder: t.TempDir(), deaf: map[string]bool{}, rejects: map[string]bool{},
		versions: map[string]string{}, taken: map[string]int{},
		reads: map[string]string{
			envoy.ListenersFile: envoy.ListenersCounters, envoy.ClustersFile: envoy.ClustersCounters,
			envoy.ExtensionFile("limpet"): envoy.ExtensionCounters("limpet"),
		},
	}
	for _, r := range from.Routes {
		e.reads[envoy.RoutesFile(r.Name)] = r.Counters
	}
	for _, c := range from.Clusters {
		e.reads[envoy.EndpointsFile(c.Name)] = envoy.EndpointsCounters(c.Name)
	}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	p := &Publisher{
		Folder: Folder{Path: e.folder, Mode: 0o600}, Admin: Admin(strings.TrimPrefix(server.URL, "http://")),
		Patience: 20 * time.Millisecond,
	}
	if err := p.Start(from); err != nil {
		t.Fatal(err)
	}
	for path := range e.reads {
		e.read(path)
	}
	return e, p
}

// on is an input with these ports and this key.
func on(key string, ports ...int) testInput {
	return testInput{ports: ports, paths: map[string]string{"/a": "sa"}, files: 16, key: key}
}

// routesOf is the file of a port's routes.
func routesOf(port string) string { return rds + port + ".pb" }

func (e *fakeEnvoy) refusesOne(text string) bool {
	for name := range e.refuses {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}

// TestRefusedListener: of listeners that Envoy rejects those are named that it does not have, and all is as it was.
func TestRefusedListener(t *testing.T) {
	first, more := on("first", 80).compile(t), on("first", 80, 81, 82).compile(t)
	e, p := newFakeEnvoy(t, first)
	e.refuses = map[string]bool{"listener/0.0.0.0/81": true}
	for _, port := range []string{"81", "82"} {
		e.reads[routesOf(port)] = envoy.RoutesCounters("listener/0.0.0.0/" + port)
	}
	live, _, err := p.Publish(context.Background(), first, more)
	rejected := new(Rejected)
	if !errors.As(err, &rejected) || len(rejected.Missing) != 1 || rejected.Missing[0] != "listener/0.0.0.0/81" || live != first {
		t.Errorf("missing are %q, %v", rejected.Missing, err)
	}
	if got := e.listeners(); len(got) != 1 {
		t.Errorf("the listeners are %s", got)
	}
}

// TestRejectedChange: of listeners that Envoy has, those may be at fault that have changed and that its words name; without words
// all that have changed, unless it lacks a new one.
func TestRejectedChange(t *testing.T) {
	listeners := func(contents ...string) *envoy.Discovery {
		d := &envoy.Discovery{}
		for i, c := range contents {
			d.Listeners = append(d.Listeners, envoy.Resource{Name: fmt.Sprintf("listener/0.0.0.0/%d", 80+i), Content: []byte(c)})
		}
		return d
	}
	from, to := listeners("a", "b", "c"), listeners("A", "b", "C", "new")
	for _, c := range []struct {
		said Rejected
		want string
	}{
		{Rejected{}, "listener/0.0.0.0/80 listener/0.0.0.0/82"},
		{Rejected{Missing: []string{"listener/0.0.0.0/83"}}, ""},
		{Rejected{Reason: "Error adding/updating listener(s) listener/0.0.0.0/82: no"}, "listener/0.0.0.0/82"},
		{Rejected{Reason: "Error adding/updating listener(s) listener/0.0.0.0/81: no"}, ""},
	} {
		if got := strings.Join(findChanged(from, to, &c.said), " "); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.said, got, c.want)
		}
	}
}

// TestDrainingListenerComesBack: Envoy reads routes the moment they are written where a listener of their name drains, and
// so not once more when the listener is there again.
func TestDrainingListenerComesBack(t *testing.T) {
	both, less := on("first", 80, 81).compile(t), on("first", 80).compile(t)
	_, p := newFakeEnvoy(t, both)
	for i, step := range []struct{ from, to *envoy.Discovery }{{both, less}, {less, both}, {both, less}, {less, both}} {
		if _, confirmed, err := p.Publish(context.Background(), step.from, step.to); err != nil || !confirmed {
			t.Fatalf("step %d: confirmed %t, %v", i, confirmed, err)
		}
	}
}

// TestRejectedWhileDraining: when such an Envoy rejects the routes, that is seen, though it comes before the stage that
// awaits them.
func TestRejectedWhileDraining(t *testing.T) {
	both, less := on("first", 80, 81).compile(t), on("first", 80).compile(t)
	e, p := newFakeEnvoy(t, both)
	live, _, err := p.Publish(context.Background(), both, less)
	if err != nil {
		t.Fatal(err)
	}
	e.rejects[routesOf("81")] = true
	_, _, err = p.Publish(context.Background(), live, both)
	if rejected := new(Rejected); !errors.As(err, &rejected) || rejected.File != routesOf("81") {
		t.Errorf("got %v", err)
	}
}

// TestStuck: what Envoy does not take over stays, and holds up what needs it and nothing else; when Envoy takes it, the
// rest follows.
func TestStuck(t *testing.T) {
	first, more := on("first", 80).compile(t), on("first", 80, 81).compile(t)
	e, p := newFakeEnvoy(t, first)
	e.deaf[envoy.ListenersFile] = true
	live, _, err := p.Publish(context.Background(), first, more)
	if late := new(Unconfirmed); !errors.As(err, &late) || !strings.Contains(late.Reason, "has not taken over lds.pb") {
		t.Fatalf("got %v", err)
	}
	if got := len(live.Listeners); got != 2 {
		t.Errorf("%d listeners may be there, want 2", got)
	}
	rotated := on("second", 80, 81).compile(t)
	live, _, err = p.Publish(context.Background(), live, rotated)
	if late := new(Unconfirmed); !errors.As(err, &late) {
		t.Fatalf("got %v", err)
	}
	if want := filterFile(rotated.Filter).Version; e.versions[envoy.ExtensionFile("limpet")] != want {
		t.Errorf("the keys are not live: the filter has version %s, want %s", e.versions[envoy.ExtensionFile("limpet")], want)
	}
	delete(e.deaf, envoy.ListenersFile)
	e.reads[routesOf("81")] = envoy.RoutesCounters("listener/0.0.0.0/81")
	if live, confirmed, err := p.Publish(context.Background(), live, rotated); err != nil || !confirmed || live != rotated {
		t.Errorf("confirmed %t, %v", confirmed, err)
	}
}

// TestStuckClusters: routes that may need clusters which are not there are held up; endpoints and keys are not.
func TestStuckClusters(t *testing.T) {
	first := on("first", 80).compile(t)
	e, p := newFakeEnvoy(t, first)
	e.deaf[envoy.ClustersFile] = true
	next := testInput{
		ports: []int{80}, paths: map[string]string{"/a": "sa", "/b": "sb"}, hosts: map[string]string{"sa": "10.0.0.2"}, files: 16,
		key: "second",
	}.compile(t)
	before := e.versions[routesOf("80")]
	if _, _, err := p.Publish(context.Background(), first, next); !errors.As(err, new(*Unconfirmed)) {
		t.Fatalf("got %v", err)
	}
	if e.versions[routesOf("80")] != before {
		t.Error("routes are live before their clusters")
	}
	if e.taken[eds+"a_80.pb"] < 2 || e.taken[envoy.ExtensionFile("limpet")] < 2 {
		t.Errorf("endpoints and keys wait for clusters: %v", e.taken)
	}
}

// TestPoliciesDoNotWaitForClusters: a change of a policy is live though a cluster's change is stuck.
func TestPoliciesDoNotWaitForClusters(t *testing.T) {
	input := testInput{ports: []int{80}, paths: map[string]string{"/a": "sa"}}
	first := input.compile(t)
	e, p := newFakeEnvoy(t, first)
	e.deaf[envoy.ClustersFile] = true
	input.hosts, input.epoch = map[string]string{"sa": "10.0.0.2"}, "7h" // with no files, the endpoints are in the cluster
	live, _, err := p.Publish(context.Background(), first, input.compile(t))
	if !errors.As(err, new(*Unconfirmed)) || e.taken[routesOf("80")] != 2 {
		t.Fatalf("%v, and the routes were read %d times, want 2", err, e.taken[routesOf("80")])
	}
	input.paths = map[string]string{"/a": "sa", "/b": "sb"}
	live, _, err = p.Publish(context.Background(), live, input.compile(t))
	if !errors.As(err, new(*Unconfirmed)) || e.taken[routesOf("80")] != 2 {
		t.Fatalf("%v, and routes to a cluster that is not there were read %d times", err, e.taken[routesOf("80")])
	}
	_, _, err = p.Publish(context.Background(), live, input.compile(t))
	if !errors.As(err, new(*Unconfirmed)) || e.taken[routesOf("80")] != 2 {
		t.Fatalf("%v, and routes to a cluster that is not there were read %d times", err, e.taken[routesOf("80")])
	}
}

// TestWaiting: a stage makes room for another change, though its own time is not over.
func TestWaiting(t *testing.T) {
	first, more := on("first", 80).compile(t), on("first", 80, 81).compile(t)
	e, p := newFakeEnvoy(t, first)
	e.deaf[envoy.ListenersFile] = true
	p.Patience, p.Waiting = time.Minute, func() bool { return true }
	begin := time.Now()
	if _, _, err := p.Publish(context.Background(), first, more); !errors.As(err, new(*Unconfirmed)) || time.Since(begin) > 20*time.Second {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
}

// TestFilterIsReadWithListeners: an Envoy without listeners does not read the filter's configuration.
func TestFilterIsReadWithListeners(t *testing.T) {
	one := on("first", 80).compile(t)
	none := *one
	none.Listeners, none.Routes = nil, nil
	e, p := newFakeEnvoy(t, &none)
	delete(e.reads, envoy.ExtensionFile("limpet"))
	rotated := on("second", 80).compile(t)
	rotated.Listeners, rotated.Routes = nil, nil
	if _, confirmed, err := p.Publish(context.Background(), &none, rotated); err != nil || !confirmed {
		t.Errorf("confirmed %t, %v", confirmed, err)
	}
}

// TestQuickLooks: of a change like the one before Envoy is asked for nothing but versions, unless it rejects the change.
func TestQuickLooks(t *testing.T) {
	inputs := map[string]*envoy.Discovery{}
	for _, epoch := range []string{"1h", "2h", "3h", "4h"} {
		inputs[epoch] = inputWith(func(w *testInput) { w.epoch = epoch }).compile(t)
	}
	e, p := newFakeEnvoy(t, inputs["1h"])
	short := p.Patience
	p.Patience = time.Minute
	publish := func(from, to string) (string, error) {
		e.asked = nil
		_, _, err := p.Publish(context.Background(), inputs[from], inputs[to])
		return strings.Join(e.asked, " "), err
	}
	const quick = "TextReadouts"
	if asked, err := publish("1h", "2h"); err != nil || !strings.Contains(asked, "Counters") {
		t.Errorf("the first change: asked %s, %v", asked, err)
	}
	if asked, err := publish("2h", "3h"); err != nil || asked != quick {
		t.Errorf("the next one: asked %s, %v", asked, err)
	}
	e.rejects[routesOf("80")], p.Patience = true, short // for the way back, which is rejected, too
	if asked, err := publish("3h", "4h"); !errors.As(err, new(*Rejected)) {
		t.Errorf("one that is rejected: asked %s, %v", asked, err)
	}
	delete(e.rejects, routesOf("80"))
	p.Patience = time.Minute
	if asked, err := publish("3h", "2h"); err != nil || !strings.Contains(asked, "Counters") {
		t.Errorf("after that: asked %s, %v", asked, err)
	}
	if asked, err := publish("2h", "1h"); err != nil || asked != quick {
		t.Errorf("and then: asked %s, %v", asked, err)
	}
}
