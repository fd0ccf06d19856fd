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

// TestStore sets and removes sources, and holds which objects go and come.
func TestStore(t *testing.T) {
	broken := strings.Replace(serviceText("x"), "port: 80", "port: 0", 1)
	s := NewStore(Options{})
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
	}
	if s.Count() != 0 || len(slices.Collect(s.Names())) != 0 {
		t.Error("something is left")
	}
}

// TestStoreForgetsWhatWasThereMeanwhile has nothing go and come that came and went since changes were taken.
func TestStoreForgetsWhatWasThereMeanwhile(t *testing.T) {
	s := NewStore(Options{})
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
	s := NewStore(Options{})
	if err := s.Set([]read.Source{{Name: "a", Data: []byte(serviceText("x"))}, {Name: "b", Data: []byte(serviceText("x"))}}); err != nil {
		t.Fatal(err)
	}
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}, {"b", "a"}, {"a", "b"}} {
		visited := 0
		visit := func(*report.Report, int) { visited++ }
		if err := s.ResolveNames(func() []string { return order }, visit); err != nil {
			t.Fatal(err)
		}
		if first, other := s.sources[order[0]].objects.Services, s.sources[order[1]].objects.Services; len(first) != 1 || len(other) != 0 {
			t.Errorf("order %v: the first source has %v, the other %v", order, first, other)
		}
		if of := s.ReportOf(order[1]); len(of.Errors(false)) != 1 || !s.ReportOf(order[0]).Silent() {
			t.Errorf("order %v: %v, %v", order, s.ReportOf(order[0]).Problems(), of.Problems())
		}
		alone := &report.Report{}
		if s.ReportAlone(alone); !alone.Silent() {
			t.Errorf("order %v: each source is good alone: %v", order, alone.Problems())
		}
	}
	s.Remove("a")
	s.Remove("b")
	if n := s.names; len(n.only)+len(n.shared)+len(n.overruled) > 0 {
		t.Errorf("kept: %v", n)
	}
}
