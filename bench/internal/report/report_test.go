package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/limpet-proxy/limpet/bench/internal/stats"
)

func TestReached(t *testing.T) {
	for _, c := range []struct {
		name string
		goal Goal
		want string
	}{
		{"the whole interval is below", Goal{Bound: 0.6, Value: stats.Interval{Low: 0.4, Mid: 0.5, High: 0.6}}, "yes"},
		{"the estimate alone is below", Goal{Bound: 0.6, Value: stats.Interval{Low: 0.4, Mid: 0.5, High: 0.61}}, "no"},
		{"no difference shown", Goal{Same: true, Value: stats.Interval{Low: -1, Mid: 2, High: 5}}, "yes"},
		{"a difference", Goal{Same: true, Value: stats.Interval{Low: 0.1, Mid: 2, High: 5}}, "no"},
		{"nothing to reach", Goal{None: true, Value: stats.Interval{Low: 1, Mid: 2, High: 5}}, ""},
	} {
		if got := c.goal.Reached(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

var testCosts = []Cost{
	{Title: "no filter", Whole: stats.Interval{Low: 40, Mid: 41, High: 42}, Base: true},
	{Title: "limpet, <pinned>", Whole: stats.Interval{Low: 50, Mid: 51, High: 52}, Over: stats.Interval{Low: 9, Mid: 10, High: 11}},
}

func TestCosts(t *testing.T) {
	const want = "| request | µs | over no filter, µs (90 % interval) |\n|---|---:|---:|\n" +
		"| no filter | 41.0 |  |\n| limpet, <pinned> | 51.0 | 10.0 (9.0 … 11.0) |\n"
	if got := Costs(testCosts); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("a\n<!-- x -->\nold\n<!-- /x -->\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, "x", "new\n"); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if want := "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n"; err != nil || string(page) != want {
		t.Errorf("%v, got %q", err, page)
	}
	if err := Replace(path, "y", ""); err == nil {
		t.Error("a place that is not there was accepted")
	}
}
