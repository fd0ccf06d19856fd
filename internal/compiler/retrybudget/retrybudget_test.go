package retrybudget

import (
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// admitObjects admits documents and the Service "cart".
func admitObjects(t *testing.T, yaml string) *resource.Objects {
	t.Helper()
	return compilertest.Admit(t, "apiVersion: v1\nkind: Service\nmetadata: {name: cart}\nspec: {ports: [{port: 80}]}", yaml)
}

func policyYAML(name, created, constraint string) string {
	return "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackendTrafficPolicy\nmetadata: {name: " + name +
		created + "}\nspec:\n  targetRefs: [{group: \"\", kind: Service, name: cart}]\n" + constraint
}

// TestBudgets holds what a retryConstraint comes to, and how many warnings it gets, advice included: one says of each what comes beyond it.
//
// requirements: 2D.1, 2D.2, 2D.3, 2D.6, S56, S57, S58
func TestBudgets(t *testing.T) {
	defaults := &ir.RetryBudget{Percent: 20, Interval: 10 * time.Second, MinConcurrency: 10}
	for name, c := range map[string]struct {
		constraint string
		want       *ir.RetryBudget
		warnings   int
	}{
		"no retryConstraint, no budget":        {"", nil, 0},
		"the CRD's defaults":                   {"  retryConstraint: {}\n", defaults, 1},
		"defaults within budget":               {"  retryConstraint: {budget: {}}\n", defaults, 1},
		"percent and interval":                 {"  retryConstraint: {budget: {percent: 1, interval: 1h}}\n", &ir.RetryBudget{Percent: 1, Interval: time.Hour, MinConcurrency: 10}, 1},
		"no share at all":                      {"  retryConstraint: {budget: {percent: 0}}\n", &ir.RetryBudget{Percent: 0, Interval: 10 * time.Second, MinConcurrency: 10}, 1},
		"count":                                {"  retryConstraint: {minRetryRate: {count: 1000000, interval: 1s}}\n", &ir.RetryBudget{Percent: 20, Interval: 10 * time.Second, MinConcurrency: 1000000}, 1},
		"an interval of 1s in other words":     {"  retryConstraint: {minRetryRate: {count: 5, interval: 1000ms}}\n", &ir.RetryBudget{Percent: 20, Interval: 10 * time.Second, MinConcurrency: 5}, 1},
		"an interval that is reported":         {"  retryConstraint: {minRetryRate: {count: 5, interval: 2s}}\n", &ir.RetryBudget{Percent: 20, Interval: 10 * time.Second, MinConcurrency: 5}, 2},
		"an empty minRetryRate is reported":    {"  retryConstraint: {minRetryRate: {}}\n", defaults, 2},
		"an interval without a count, twofold": {"  retryConstraint: {minRetryRate: {interval: 1m}}\n", defaults, 3},
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

// TestConflict has two policies on one target: the older holds whole, the other has no effect, whether the older has a
// retryConstraint or not.
//
// requirements: 2C.9, S14
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
	if w := rep.Warnings(); len(w) != 2 || w[0].Object != "XBackendTrafficPolicy default/a" || w[0].Path != "spec.targetRefs[0]" {
		t.Errorf("the warnings are %v, want one about a's target", w)
	}
	yaml += "---\n" + policyYAML("c", `, creationTimestamp: "2026-10-01T00:00:00Z"`, "")
	rep = &report.Report{}
	if got := New(admitObjects(t, yaml), rep).For("default/cart").Budget; got != nil || len(rep.Warnings()) != 2 {
		t.Errorf("below c the budget is %+v and the warnings are %v; want none and two", got, rep.Warnings())
	}
}

// TestTargets has targets that are not there, in another namespace or no Service: they have no budget and are reported.
// What policies with sessions have for targets, package policy reports.
//
// requirements: S3
func TestTargets(t *testing.T) {
	const gone = `Not found: "cart": there is no Service other/cart in the input: the retry budget has no effect there [TargetNotFound]`
	const kind = `kind: Unsupported value: "XBackend": supported values: "Service": the retry budget has no effect there [PartiallyProgrammed]`
	const beyond = "spec.retryConstraint: beyond it a request is not tried again"
	const here, xbackend = `{group: "", kind: Service, name: cart}`, `{group: gateway.networking.x-k8s.io, kind: XBackend, name: cart}`
	for name, c := range map[string]struct {
		namespace, targets, more string
		holds                    bool
		warnings                 []string
	}{
		"a Service":                              {"default", here, "", true, []string{beyond}},
		"another namespace":                      {"other", here, "", false, []string{"XBackendTrafficPolicy other/p: spec.targetRefs[0].name: " + gone}},
		"another kind":                           {"default", xbackend, "", false, []string{"spec.targetRefs[0]." + kind}},
		"one of two":                             {"default", xbackend + "," + here, "", true, []string{beyond, "spec.targetRefs[0]." + kind}},
		"another kind, with sessions":            {"default", xbackend, ", sessionPersistence: {sessionName: a}", false, nil},
		"no Service, and no retry budget either": {"other", here, "no", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			constraint := ", retryConstraint: {}" + c.more
			if c.more == "no" {
				constraint = ""
			}
			rep := &report.Report{}
			budgets := New(admitObjects(t, "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackendTrafficPolicy\nmetadata: {name: p, namespace: "+
				c.namespace+"}\nspec: {targetRefs: ["+c.targets+"]"+constraint+"}"), rep)
			if got := budgets.For("default/cart") != nil; got != c.holds || budgets.For("other/cart") != nil {
				t.Errorf("it holds: %t", got)
			}
			compilertest.CheckProblems(t, rep.Warnings(), c.warnings...)
		})
	}
}

// TestFieldsOfABudget holds what is told of each field: its value, and whether it is the CRD's default and not the author's.
//
// requirements: S8, S58
func TestFieldsOfABudget(t *testing.T) {
	for constraint, want := range map[string]string{
		"":                        "",
		"  retryConstraint: {}\n": "budget.percent 20 default; budget.interval 10s default; minRetryRate.count 10 default",
		"  retryConstraint: {budget: {percent: 5}}\n":                                                       "budget.percent 5; budget.interval 10s default; minRetryRate.count 10 default",
		"  retryConstraint: {budget: {percent: 20, interval: 10000ms}}\n":                                   "budget.percent 20 default; budget.interval 10000ms default; minRetryRate.count 10 default",
		"  retryConstraint: {budget: {percent: 0, interval: 1m}, minRetryRate: {count: 7, interval: 1s}}\n": "budget.percent 0; budget.interval 1m; minRetryRate.count 7",
		"  retryConstraint: {minRetryRate: {count: 10, interval: 1s}}\n":                                    "budget.percent 20 default; budget.interval 10s default; minRetryRate.count 10 default",
	} {
		effective := New(admitObjects(t, policyYAML("p", "", constraint)), &report.Report{}).For("default/cart")
		var got []string
		for _, f := range effective.Fields {
			text := strings.TrimPrefix(f.Path, "spec.retryConstraint.") + " " + f.Value
			if f.Default {
				text += " default"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, "; "); text != want || effective.Policy.String() != "XBackendTrafficPolicy default/p" {
			t.Errorf("%s: got %s of %s, want %s", constraint, text, effective.Policy, want)
		}
	}
}
