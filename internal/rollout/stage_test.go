package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// oneRoute has a session under /a on the Service sa.
var oneRoute = testInput{paths: map[string]string{"/a": "sa"}, files: 16}

// listChanges gives the files of a change that are not there yet, stage by stage, with the names in them.
func listChanges(t *testing.T, from, to testInput) string {
	t.Helper()
	before, after := from.compile(t), to.compile(t)
	there := map[string]string{}
	for _, s := range Initial(before) {
		for _, f := range s.Files {
			there[f.Path] = f.Version
		}
	}
	var lines []string
	for _, s := range Stages(before, after) {
		for _, f := range s.Files {
			if there[f.Path] != f.Version {
				there[f.Path] = f.Version
				lines = append(lines, f.Path+": "+namesIn(f))
			}
		}
		for _, path := range s.Remove {
			lines = append(lines, path+" gone")
		}
	}
	return strings.Join(lines, "\n")
}

// inputWith gives oneRoute after a change.
func inputWith(change func(*testInput)) testInput {
	w := testInput{ports: []int{80}, paths: map[string]string{"/a": "sa"}, hosts: map[string]string{}, files: 16}
	change(&w)
	return w
}

// What the files of endpoints and routes are called.
const eds, rds = "eds/service_default_s", "rds/listener_0.0.0.0_"

// stageCases has for each kind of change the files that it writes, in their order.
var stageCases = []struct {
	name     string
	from, to testInput
	want     []string
}{
	{"nothing", oneRoute, oneRoute, nil},
	{
		"endpoints", oneRoute, inputWith(func(w *testInput) { w.hosts["sa"] = "10.0.0.2" }),
		[]string{eds + "a_80.pb: service/default/sa/80"},
	},
	{
		"endpoints inside their cluster", inputWith(func(w *testInput) { w.files = 0 }),
		inputWith(func(w *testInput) { w.files, w.hosts["sa"] = 0, "10.0.0.2" }),
		[]string{"cds.pb: service/default/sa/80"},
	},
	{"a policy", oneRoute, inputWith(func(w *testInput) { w.epoch = "7h" }), []string{rds + "80.pb: listener/0.0.0.0/80"}},
	{"a key", oneRoute, inputWith(func(w *testInput) { w.key = "second" }), []string{"ecds.pb: limpet"}},
	{"a route more", oneRoute, inputWith(func(w *testInput) { w.paths["/b"] = "sb" }), []string{
		eds + "b_80.pb: service/default/sb/80",
		"cds.pb: service/default/sa/80 service/default/sb/80",
		rds + "80.pb: listener/0.0.0.0/80",
	}},
	{"a route less", inputWith(func(w *testInput) { w.paths["/b"] = "sb" }), oneRoute, []string{
		rds + "80.pb: listener/0.0.0.0/80",
		"cds.pb: service/default/sa/80",
		eds + "b_80.pb gone",
	}},
	{"a route for another", inputWith(func(w *testInput) { w.paths = map[string]string{"/b": "sb"} }), oneRoute, []string{
		eds + "a_80.pb: service/default/sa/80",
		"cds.pb: service/default/sa/80 service/default/sb/80",
		rds + "80.pb: listener/0.0.0.0/80",
		"cds.pb: service/default/sa/80",
		eds + "b_80.pb gone",
	}},
	{"another port", oneRoute, inputWith(func(w *testInput) { w.ports = []int{81} }), []string{
		rds + "81.pb: listener/0.0.0.0/81",
		"lds.pb: listener/0.0.0.0/80 listener/0.0.0.0/81",
		"lds.pb: listener/0.0.0.0/81",
		rds + "80.pb gone",
	}},
	{"no session any more", oneRoute, inputWith(func(w *testInput) { w.paths = map[string]string{} }), []string{
		rds + "80.pb: listener/0.0.0.0/80",
		"cds.pb: ",
		eds + "a_80.pb gone",
	}},
	{
		"too many clusters for files", inputWith(func(w *testInput) { w.files = 1 }),
		inputWith(func(w *testInput) { w.files, w.paths["/b"] = 1, "sb" }),
		[]string{
			"cds.pb: service/default/sa/80 service/default/sb/80",
			rds + "80.pb: listener/0.0.0.0/80",
			eds + "a_80.pb gone",
		},
	},
}

// TestStages wants, for each kind of change, exactly these files in this order: what routes need before the routes, as
// the union of old and new, and what none needs after them.
func TestStages(t *testing.T) {
	for _, c := range stageCases {
		t.Run(c.name, func(t *testing.T) {
			if got, want := listChanges(t, c.from, c.to), strings.Join(c.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestUndo: the way back has every file of the old configuration, listeners and routes first, and takes away what is
// new.
func TestUndo(t *testing.T) {
	to := testInput{paths: map[string]string{"/b": "sb"}, files: 16}
	var lines []string
	for _, s := range Undo(oneRoute.compile(t), to.compile(t)) {
		for _, f := range s.Files {
			lines = append(lines, f.Path+": "+namesIn(f))
		}
		lines = append(lines, s.Remove...)
		if len(s.Await) > 0 {
			t.Errorf("%s: waits for %v, which Envoy has already", s.Name, s.Await)
		}
	}
	want := []string{
		"lds.pb: listener/0.0.0.0/80", "rds/listener_0.0.0.0_80.pb: listener/0.0.0.0/80", "ecds.pb: limpet",
		"cds.pb: service/default/sa/80", "eds/service_default_sa_80.pb: service/default/sa/80",
		"eds/service_default_sb_80.pb",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q\nwant %q", lines, want)
	}
}

// TestAwait: what Envoy reads for the first time has counters only from the stage on that makes Envoy read it.
func TestAwait(t *testing.T) {
	to := testInput{ports: []int{80, 81}, paths: map[string]string{"/a": "sa", "/b": "sb"}, files: 16}
	stages := Stages(oneRoute.compile(t), to.compile(t))
	var got []string
	for _, s := range stages {
		for _, f := range s.Files {
			later := ""
			if f.Unread {
				later = ", read later"
			}
			got = append(got, fmt.Sprintf("%s %s%s", f.Path, f.Counters, later))
		}
		for _, f := range s.Await {
			got = append(got, fmt.Sprintf("await %s %s", f.Path, f.Counters))
		}
	}
	want := []string{
		"eds/service_default_sa_80.pb cluster.service/default/sa/80",
		"eds/service_default_sb_80.pb cluster.service/default/sb/80, read later",
		"cds.pb cluster_manager.cds",
		"await eds/service_default_sb_80.pb cluster.service/default/sb/80",
		"ecds.pb extension_config_discovery.http_filter.limpet",
		"rds/listener_0.0.0.0_80.pb http.port-80.rds.listener/0.0.0.0/80",
		"rds/listener_0.0.0.0_81.pb http.port-81.rds.listener/0.0.0.0/81, read later",
		"lds.pb listener_manager.lds",
		"await rds/listener_0.0.0.0_81.pb http.port-81.rds.listener/0.0.0.0/81",
		"lds.pb listener_manager.lds",
		"cds.pb cluster_manager.cds",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
