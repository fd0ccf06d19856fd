package compiler

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
)

// newFollower makes a follower for some options.
func newFollower(t *testing.T, o Options) *Follower {
	t.Helper()
	f, err := NewFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// compareFollowed brings a follower up to date with the sources, and compares what that comes to with a compilation from
// scratch. It gives the error of both.
func compareFollowed(t *testing.T, name string, f *Follower, sources []Source, o Options) error {
	t.Helper()
	want, refused := Compile(sources, o)
	c := Changes{Keys: o.Keys, Time: o.Time}
	if o.Envoy.Dynamic != nil {
		c.Draining = o.Envoy.Dynamic.Draining
	}
	update, err := f.Replace(sources, c)
	if fmt.Sprint(err) != fmt.Sprint(refused) {
		t.Errorf("%s: followed %v\nfrom scratch %v", name, err, refused)
		return refused
	}
	if refused != nil {
		return refused
	}
	got, err := update.Result()
	if err != nil {
		t.Fatal(err)
	}
	compareDiscoveries(t, name, got, want)
	return nil
}

func compareDiscoveries(t *testing.T, name string, got, want *Result) {
	t.Helper()
	g, w := got.Discovery, want.Discovery
	for i := range w.Routes {
		if i >= len(g.Routes) || string(g.Routes[i].JSON) != string(w.Routes[i].JSON) {
			t.Errorf("%s: the routes differ\nfollowed %s\nfrom scratch %s", name, g.Routes[min(i, len(g.Routes)-1)].JSON, w.Routes[i].JSON)
		}
	}
	if !reflect.DeepEqual(g.Clusters, w.Clusters) {
		t.Errorf("%s: the clusters differ:\nfollowed %v\nfrom scratch %v", name, listClusters(g), listClusters(w))
	}
	if !slices.Equal(got.Warnings, want.Warnings) {
		t.Errorf("%s: the warnings differ:\nfollowed %v\nfrom scratch %v", name, got.Warnings, want.Warnings)
	}
	if !t.Failed() && !reflect.DeepEqual(got, want) {
		t.Errorf("%s: the results differ:\nfollowed %+v\nfrom scratch %+v", name, got, want)
	}
}

func listClusters(d *envoy.Discovery) (all []string) {
	for _, c := range d.Clusters {
		all = append(all, fmt.Sprintf("%s %s %s %t\n", c.Name, c.Settings, c.Endpoints, c.Inline))
	}
	return all
}

// TestFollower edits many routes at random, again and again.
func TestFollower(t *testing.T) {
	const rounds = 25
	random := rand.New(rand.NewPCG(8, 5))
	o := Options{Envoy: &EnvoyOptions{WasmPath: "w", Dynamic: &Dynamic{Folder: "discovery", EndpointFiles: 38}}}
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
	const rounds = 10
	compiled := 0
	for _, g := range loadGoldens(t) {
		o, source := g.parseOptions(t), g.source
		if o.Envoy == nil {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(len(g.source.Data)), 8))
			o.Envoy.Dynamic = &Dynamic{Folder: "discovery", EndpointFiles: 1}
			f := newFollower(t, o)
			for round := range rounds {
				if compareFollowed(t, fmt.Sprintf("%s, round %d", g.name, round), f, []Source{source}, o) == nil {
					compiled++
				}
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
