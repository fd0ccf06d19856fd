package compiler

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
	"github.com/limpet-proxy/limpet/internal/processor"
)

// TestRouteBudgets lays out what a tenant who may write a Gateway and HTTPRoutes makes as large as it can: it is served or refused in
// status, it is no more than its share, another tenant has all of its own, and a change of it is followed.
//
// requirements: S87
func TestRouteBudgets(t *testing.T) {
	const (
		share = 16 << 20
		most  = 20 * time.Second // of processor time: forty times what it takes
	)
	victim := copiesGateway + copiesRoute("mine", 1000000, "hostnames: [mine.example], rules: [{backendRefs: [{name: app, port: 80}]}]")
	for name, c := range map[string]struct {
		attack   string
		reported string
		status   string
	}{
		"copies for many wildcards":      {scaletest.MakeWideRoutes(1, 24, 250), "those that go first leave no room for this one's matches in the 16 MiB of namespace evil", ""},
		"the same on 48 listeners":       {scaletest.MakeWideRoutes(48, 12, 100), "HTTPRoute evil/wide-0: spec.parentRefs[0]: Too long: its matches come to 4.479 MiB", "OverBudget"},
		"one route on 48 listeners":      {scaletest.MakeBigRoute(48, 16, 20), "HTTPRoute evil/big: spec.parentRefs[0]: Too long: its matches come to 59.7", "OverBudget"},
		"that route on fewer listeners":  {scaletest.MakeBigRoute(16, 2, 20), "HTTPRoute evil/big: spec.parentRefs[0]: Too long: its matches come to 19", "OverBudget"},
		"as much of it as there is room": {scaletest.MakeBigRoute(12, 16, 20), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{}}}
			f := newFollower(t, o)
			for _, text := range []string{victim, victim + c.attack, victim} {
				if err := compareFollowed(t, name, f, []Source{{Name: "all.yaml", Data: []byte(text)}}, o); err != nil {
					t.Fatal(err)
				}
			}
			sources := []Source{{Name: "all.yaml", Data: []byte(victim + c.attack)}}
			used := processor.Time()
			result, err := Compile(sources, o)
			if err != nil {
				t.Fatal(err)
			}
			if used = processor.Time() - used; used > most {
				t.Errorf("the answer took %v of processor time", used)
			}
			checkShares(t, result, share)
			if reported := fmt.Sprint(result.Warnings); !strings.Contains(reported, c.reported) {
				t.Errorf("nothing says %q: %.1500s", c.reported, reported)
			}
			statuses, err := Check(sources, o)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(statuses.Objects)
			if err != nil || c.status != "" != strings.Contains(string(text), `"reason":"OverBudget"`) {
				t.Errorf("%v: OverBudget in status or not", err)
			}
		})
	}
}

// checkShares checks that one tenant has no more than its share, and that the other has its route.
func checkShares(t *testing.T, result *Result, share int) {
	t.Helper()
	for _, s := range result.Served {
		size, mine := 0, false
		for _, routes := range s.Routes {
			size += len(routes.Content)
			mine = mine || strings.Contains(string(routes.Content), "httproute/default/mine/rule/0")
		}
		t.Logf("%s has %d bytes of routes", s.Gateway, size)
		if size > share {
			t.Errorf("%s has %d bytes of routes, more than %d", s.Gateway, size, share)
		}
		if mine != (s.Gateway == "default/web") {
			t.Errorf("%s has another's route, or lacks its own", s.Gateway)
		}
	}
}

// TestUsualRoutesFit: 10,000 usual routes have room in the default budget of a Gateway and a namespace, and 30,000 in what "make bench-serve"
// gives; what is reckoned is not less than what Envoys are sent. Their fiftieth part has room in that part of the budget.
//
// requirements: S87
func TestUsualRoutesFit(t *testing.T) {
	const part = 50
	for name, c := range map[string]struct {
		sources []Source
		budget  int
	}{
		"10,000 with hosts of their own": {scaletest.MakeRoutes(10_000 / part), DefaultRouteBudget},
		"10,000 of one host":             {scaletest.MakeRoutesOfOneHost(10_000 / part), DefaultRouteBudget},
		"30,000":                         {scaletest.MakeRoutes(30_000 / part), 100 << 20},
	} {
		o := Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{}}, RouteBudget: c.budget / part, AssumeAdmitted: true}
		result, err := Compile(c.sources, o)
		if err != nil {
			t.Fatal(err)
		}
		if reported := fmt.Sprint(result.Warnings); strings.Contains(reported, "Too long") {
			t.Errorf("%s: %.500s", name, reported)
		}
		d, err := Describe(c.sources, o, "gateway/web", "")
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, routes := range result.Served[0].Routes {
			size += len(routes.Content)
		}
		if reckoned := d.Budgets[0].Bytes; size < reckoned/3 || size > reckoned {
			t.Errorf("%s: reckoned are %d bytes, and Envoys are sent %d", name, reckoned, size)
		}
	}
}

// TestUncountedTakesNoMemory: what there is no room for is counted and not laid out, so a follower holds no more for it than for what is served.
//
// requirements: S87
func TestUncountedTakesNoMemory(t *testing.T) {
	const most = 48 << 20
	f := newFollower(t, Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{}}})
	apply := func(text string) int {
		if _, err := f.Apply(Changes{Set: []Source{{Name: "all.yaml", Data: []byte(copiesGateway + text)}}}); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := apply("")
	if more := apply(scaletest.MakeWideRoutes(48, 24, 250)) - before; more > most {
		t.Errorf("the attacker's routes take %d bytes", more)
	}
	runtime.KeepAlive(f)
}

// TestNearBudgets: check tells of the budgets of which half is taken, and describe how much of those that a Gateway or a route takes from.
//
// requirements: S87
func TestNearBudgets(t *testing.T) {
	sources := []Source{{Name: "all.yaml", Data: []byte(copiesGateway +
		copiesRoute("mine", 1000000, "hostnames: [mine.example], rules: [{backendRefs: [{name: app, port: 80}]}]"))}}
	for budget, near := range map[int][]string{2500: {"of Gateway default/web", "of namespace default"}, DefaultRouteBudget: nil} {
		o := Options{RouteBudget: budget}
		checked, err := Check(sources, o)
		if err != nil {
			t.Fatal(err)
		}
		var reported []string
		for _, r := range checked.Rows {
			if strings.HasPrefix(r.Message, "routes take ") {
				_, of, _ := strings.Cut(r.Message, " MiB of the ")
				reported = append(reported, of[strings.Index(of, "of "):])
				if r.Severity != "advice" || r.Code == "" {
					t.Errorf("%s: severity %q and code %q: nobody is told", r.Message, r.Severity, r.Code)
				}
			}
		}
		if !slices.Equal(reported, near) {
			t.Errorf("with %d bytes check tells of %q, and not of %q", budget, reported, near)
		}
		for _, words := range []string{"gateway/web", "httproute/mine"} {
			d, err := Describe(sources, o, words, "")
			if err != nil {
				t.Fatal(err)
			}
			all := fmt.Sprint(d.Budgets)
			for _, of := range []string{"{Gateway default/web ", "{all Gateways together "} {
				if !strings.Contains(all, of) {
					t.Errorf("%s: describe has no budget %q: %s", words, of, all)
				}
			}
		}
	}
}
