package resource

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// serviceText is a Service of a name.
func serviceText(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {ports: [{port: 80}]}\n", name)
}

// newStore makes a store, and gives how often its sources have each problem.
func newStore() (*Store, map[report.Statement]int) {
	problems := map[report.Statement]int{}
	return NewStore(Options{}, func(rep *report.Report, by int) {
		rep.VisitProblems(func(w report.Statement, _ report.Entry) {
			if problems[w] += by; problems[w] == 0 {
				delete(problems, w)
			}
		})
	}), problems
}

// TestStore sets and removes sources, and holds which objects go and come.
func TestStore(t *testing.T) {
	broken := strings.Replace(serviceText("x"), "port: 80", "port: 0", 1)
	s, problems := newStore()
	for _, step := range []struct {
		name, text string // empty to remove it
		want       string
	}{
		{"a", serviceText("x"), "+x"},
		{"a", serviceText("x"), ""},
		{"a", "# a comment\n" + serviceText("x"), "-x +x"},
		{"a", serviceText("x") + "---\n" + serviceText("w"), "-x +w +x"},
		{"a", "\n\n" + serviceText("w") + "---\n" + serviceText("x"), "-w -x +w +x"}, // the text of the second begins with its line
		{"b", serviceText("z"), "+z"},
		{"b", broken, "-z !+x"},
		{"b", "", "!-x"},
		{"a", "", "-w -x"},
		{"a", "", ""},
	} {
		if step.text == "" {
			s.Remove(step.name)
		} else if err := s.Set([]read.Source{{Name: step.name + ".yaml", Data: []byte(step.text)}}); err != nil {
			t.Fatal(err)
		}
		if step.text == "" {
			s.Remove(step.name + ".yaml")
		}
		gone, came := s.TakeChanges()
		gone.Sort()
		came.Sort()
		var got []string
		for _, o := range gone.Services {
			got = append(got, "-"+o.Name)
		}
		for _, o := range came.Services {
			got = append(got, "+"+o.Name)
		}
		for _, r := range gone.Refused {
			got = append(got, "!-"+r.Name)
		}
		for _, r := range came.Refused {
			got = append(got, "!+"+r.Name)
		}
		if text := strings.Join(got, " "); text != step.want {
			t.Errorf("%s %q: %s, want %s", step.name, step.text, text, step.want)
		}
		if (len(problems) > 0) != (step.text == broken) {
			t.Errorf("%s %q: it says %v", step.name, step.text, problems)
		}
	}
	if s.Count() != 0 || len(slices.Collect(s.Names())) != 0 {
		t.Error("something is left")
	}
}

// TestStoreForgetsWhatWasThereMeanwhile has nothing go and come that came and went since changes were taken.
func TestStoreForgetsWhatWasThereMeanwhile(t *testing.T) {
	s, _ := newStore()
	set := func(text string) {
		if err := s.Set([]read.Source{{Name: "a.yaml", Data: []byte(text)}}); err != nil {
			t.Fatal(err)
		}
	}
	set(serviceText("x"))
	set(serviceText("w"))
	if gone, came := s.TakeChanges(); len(gone.Services) != 0 || len(came.Services) != 1 || came.Services[0].Name != "w" {
		t.Errorf("gone: %v, came: %v", gone.Services, came.Services)
	}
}

// TestResolveNames has a Service in two sources, settles which of them has the name by their order, and holds that nothing is kept once both
// are gone.
func TestResolveNames(t *testing.T) {
	s, problems := newStore()
	if err := s.Set([]read.Source{{Name: "a", Data: []byte(serviceText("x"))}, {Name: "b", Data: []byte(serviceText("x"))}}); err != nil {
		t.Fatal(err)
	}
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}, {"b", "a"}, {"a", "b"}} {
		if err := s.ResolveNames(func() []string { return order }); err != nil {
			t.Fatal(err)
		}
		if first, other := s.sources[order[0]].objects.Services, s.sources[order[1]].objects.Services; len(first) != 1 || len(other) != 0 {
			t.Errorf("order %v: the first source has %v, the other %v", order, first, other)
		}
		if first, other := &s.sources[order[0]].rep, &s.sources[order[1]].rep; !first.Silent() || len(other.Errors(false)) != 1 || len(problems) != 1 {
			t.Errorf("order %v: %v, %v; it says %v", order, first.Problems(), other.Problems(), problems)
		}
		alone := &report.Report{}
		if s.ReportAlone(alone); !alone.Silent() {
			t.Errorf("order %v: each source is good alone: %v", order, alone.Problems())
		}
	}
	s.Remove("a")
	s.Remove("b")
	if n := s.names; len(n.only)+len(n.shared)+len(n.overruled)+len(problems) > 0 {
		t.Errorf("kept: %v; it says %v", n, problems)
	}
}
