package follow

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/pipeline"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// loadWorld gives documents of all kinds that are followed, each in a source of its own.
func loadWorld(t *testing.T) (sources []read.Source) {
	t.Helper()
	for _, name := range []string{"effects.yaml", "follower.yaml", "effects-stream.yaml"} {
		data, err := os.ReadFile(filepath.Join("../../../compiler/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range strings.Split(string(data), "\n---\n") {
			if !strings.Contains(text, "kind: ExtensionService") && !strings.Contains(text, "tcpproxy:") {
				sources = append(sources, read.Source{Name: name + "/" + strconv.Itoa(i), Data: []byte(text)})
			}
		}
	}
	return sources
}

// newWorld makes a state of all of them.
func newWorld(t *testing.T, apart bool) *State {
	t.Helper()
	s := New(Settings{Steps: pipeline.Settings{Bind: netip.MustParseAddr("0.0.0.0"), Apart: apart}})
	if err := s.store.Set(loadWorld(t)); err != nil {
		t.Fatal(err)
	}
	files := func() []string { return slices.Sorted(s.Store().Names()) }
	if err := s.Update(Environment{Files: files}); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPartsAskForWhatTheySee holds that each object which a part is made from has a key that the part asked for: else the object could
// change and the part would stay what it was. Certificates of listeners, and grants for them, are not asked for: the base has them, and
// groups see what changes of its listeners.
func TestPartsAskForWhatTheySee(t *testing.T) {
	for _, apart := range []bool{false, true} {
		s, seen := newWorld(t, apart), map[string]int{}
		for g := range s.groups.all {
			all, asked := s.gather(g.routes)
			visitSingly(all, func(list string, one *resource.Objects) {
				seen[list]++
				covered := false
				s.visitKeys(one, func(k key) { covered = covered || slices.Contains(asked, k) })
				if !covered {
					t.Errorf("the group of %s has one of %s that it did not ask for: %+v", g.routes[0], list, one)
				}
			})
		}
		for _, list := range []string{
			"Classes", "Gateways", "Services", "Slices", "Namespaces", "SessionPolicies", "LoadBalancers", "TrafficPolicies", "Backends",
		} {
			if seen[list] == 0 {
				t.Errorf("apart: %t: no group has any %s, so that nothing is shown of them", apart, list)
			}
		}
	}
}

// seenElsewhere are the lists of objects that a part has and need not ask for by themselves.
var seenElsewhere = []string{"Routes", "HostRoutes", "Secrets", "ConfigMaps", "Grants"}

// visitSingly visits the objects of a part one by one, with the name of the list that each is in.
func visitSingly(all *resource.Objects, visit func(list string, one *resource.Objects)) {
	lists := reflect.ValueOf(all).Elem()
	for i := range lists.NumField() {
		list, name := lists.Field(i), lists.Type().Field(i).Name
		if list.Kind() != reflect.Slice || slices.Contains(seenElsewhere, name) {
			continue
		}
		for at := range list.Len() {
			one := &resource.Objects{}
			reflect.ValueOf(one).Elem().Field(i).Set(list.Slice(at, at+1))
			visit(name, one)
		}
	}
}

// TestAskersAreForgotten holds that nothing is kept of what parts asked for once their routes are gone.
func TestAskersAreForgotten(t *testing.T) {
	s := newWorld(t, true)
	if len(s.askers) == 0 {
		t.Fatal("no part asked for anything")
	}
	for _, name := range slices.Collect(s.Store().Names()) {
		s.store.Remove(name)
	}
	if err := s.Update(Environment{Files: func() []string { return nil }}); err != nil {
		t.Fatal(err)
	}
	if n := len(s.askers); n != 0 {
		t.Errorf("%d keys are kept", n)
	}
}
