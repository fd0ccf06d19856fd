package retrybudget

import (
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// admitObjects compiles YAML as far as objects, through the CRD and its defaults.
func admitObjects(t *testing.T, yaml string) *resource.Objects {
	t.Helper()
	rep := &report.Report{}
	service := "apiVersion: v1\nkind: Service\nmetadata: {name: cart}\nspec: {ports: [{port: 80}]}\n---\n"
	all, err := resource.Admit([]read.Source{{Name: "in.yaml", Data: []byte(service + yaml)}}, resource.Options{}, nil, rep)
	if err != nil || rep.Failed() {
		t.Fatal(err, rep.Errors(false))
	}
	return all
}

func policyYAML(name, created, constraint string) string {
	return "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackendTrafficPolicy\nmetadata: {name: " + name +
		created + "}\nspec:\n  targetRefs: [{group: \"\", kind: Service, name: cart}]\n" + constraint
}

// TestBudgets holds what a retryConstraint comes to, and how many warnings it gets, advice included.
func TestBudgets(t *testing.T) {
	defaults := &ir.RetryBudget{Percent: 20, Interval: 10 * time.Second, MinConcurrency: 10}
	for name, c := range map[string]struct {
		constraint string
		want       *ir.RetryBudget
		warnings   int
	}{
		"2D.1, S58: no retryConstraint, no budget":        {"", nil, 0},
		"2D.6, S58: the CRD's defaults":                   {"  retryConstraint: {}\n", defaults, 0},
		"2D.6, S58: defaults within budget":               {"  retryConstraint: {budget: {}}\n", defaults, 0},
		"2D.2, S56: percent and interval":                 {"  retryConstraint: {budget: {percent: 1, interval: 1h}}\n", &ir.RetryBudget{Percent: 1, Interval: time.Hour, MinConcurrency: 10}, 0},
		"2D.2, S56: no share at all":                      {"  retryConstraint: {budget: {percent: 0}}\n", &ir.RetryBudget{Percent: 0, Interval: 10 * time.Second, MinConcurrency: 10}, 0},
		"2D.3, S57: count":                                {"  retryConstraint: {minRetryRate: {count: 1000000, interval: 1s}}\n", &ir.RetryBudget{Percent: 20, Interval: 10 * time.Second, MinConcurrency: 1000000}, 0},
		"2D.3, S57: an interval of 1s in other words":     {"  retryConstraint: {minRetryRate: {count: 5, interval: 1000ms}}\n", &ir.RetryBudget{Percent: 20, Interval: 10 * time.Second, MinConcurrency: 5}, 0},
		"2D.3, S57: an interval that is reported":         {"  retryConstraint: {minRetryRate: {count: 5, interval: 2s}}\n", &ir.RetryBudget{Percent: 20, Interval: 10 * time.Second, MinConcurrency: 5}, 1},
		"2D.3, S57: an empty minRetryRate is reported":    {"  retryConstraint: {minRetryRate: {}}\n", defaults, 1},
		"2D.3, S57: an interval without a count, twofold": {"  retryConstraint: {minRetryRate: {interval: 1m}}\n", defaults, 2},
	} {
		t.Run(name, func(t *testing.T) {
			rep := &report.Report{}
			got := New(admitObjects(t, policyYAML("p", "", c.constraint)), rep).For("default/cart").Budget
			if (got == nil) != (c.want == nil) || got != nil && *got != *c.want || len(rep.Warnings()) != c.warnings {
				t.Errorf("got %+v and warnings %v; want %+v and %d", got, rep.Warnings(), c.want, c.warnings)
			}
		})
	}
}

// TestConflict is 2C.9 and S14: of two policies on one target the older holds whole, the other has no effect, whether
// the older has a retryConstraint or not.
func TestConflict(t *testing.T) {
	yaml := policyYAML("a", `, creationTimestamp: "2026-11-02T00:00:00Z"`, "  retryConstraint: {budget: {percent: 1}}\n") + "---\n" +
		policyYAML("b", `, creationTimestamp: "2026-11-01T00:00:00Z"`, "  retryConstraint: {minRetryRate: {count: 7, interval: 1s}}\n")
	rep := &report.Report{}
	effective := New(admitObjects(t, yaml), rep).For("default/cart")
	got := effective.Budget
	if got == nil || got.Percent != 20 || got.MinConcurrency != 7 {
		t.Errorf("got %+v, want that of b", got)
	}
	if len(effective.Overridden) != 1 || effective.Overridden[0].Policy.Name != "a" || effective.Overridden[0].Fields[0].Value != "1" {
		t.Errorf("the losers are %+v, want a", effective.Overridden)
	}
	if w := rep.Warnings(); len(w) != 1 || w[0].Object != "XBackendTrafficPolicy default/a" || w[0].Path != "spec.targetRefs[0]" {
		t.Errorf("the warnings are %v, want one about a's target", w)
	}
	yaml += "---\n" + policyYAML("c", `, creationTimestamp: "2026-10-01T00:00:00Z"`, "")
	rep = &report.Report{}
	if got := New(admitObjects(t, yaml), rep).For("default/cart").Budget; got != nil || len(rep.Warnings()) != 2 {
		t.Errorf("below c the budget is %+v and the warnings are %v; want none and two", got, rep.Warnings())
	}
}

// TestTargets is S3: what is not there, in another namespace or no Service has no budget and is reported.
func TestTargets(t *testing.T) {
	const yaml = `
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackendTrafficPolicy
metadata: {name: p, namespace: other}
spec:
  targetRefs: [{group: "", kind: Service, name: cart}, {group: example.com, kind: Service, name: cart}]
  retryConstraint: {}
`
	rep := &report.Report{}
	budgets := New(admitObjects(t, yaml), rep)
	if budgets.For("default/cart") != nil || budgets.For("other/cart") != nil || len(rep.Warnings()) != 2 {
		t.Errorf("budgets %v, warnings %v", budgets.byService, rep.Warnings())
	}
}
