package describe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/describe"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/loadbalancing"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/retrybudget"
)

// balance has the traffic balanced by the policies of the documents.
func (in *input) balance(cookies ...string) {
	policies := loadbalancing.New(in.objects, &report.Report{})
	in.LoadBalancing = policies.Attachments
	candidates := policies.Candidates(in.objects.Routes[0], 0, object.TargetRef{Ref: cart}, func(object.Ref) bool { return false })
	outcomes, _ := loadbalancing.Rule{Candidates: [][]loadbalancing.Candidate{candidates}, SessionCookies: cookies}.Resolve(&report.Report{})
	in.traffic.LoadBalancing = outcomes[0]
	in.Traffic = []*lower.BackendTraffic{in.traffic}
}

// TestRequestsWithoutASession holds what is told of balancing and retry budgets: of the backend, and of the policies.
func TestRequestsWithoutASession(t *testing.T) {
	fields := func(percent string) []retrybudget.Field {
		return []retrybudget.Field{{Path: "spec.retryConstraint.budget.percent", Value: percent}, {Path: "spec.retryConstraint.budget.interval", Value: "10s", Default: true}}
	}
	in := newInput(t)
	in.balance()
	in.traffic.RetryBudget = &ir.RetryBudget{Percent: 33, Interval: 10 * time.Second}
	in.traffic.EffectiveBudget = &retrybudget.EffectiveBudget{Budget: in.traffic.RetryBudget, Policy: budget, Fields: fields("33"), Overridden: []retrybudget.Overridden{{Policy: another, Fields: fields("44")}}}
	d := describe.Describe(cart, "", in.Input)
	if len(d.Requests) != 1 || len(d.Retries) != 0 {
		t.Fatalf("%d of requests, %d of retries", len(d.Requests), len(d.Retries))
	}
	checkLines(t, "requests", formatFields(d.Requests[0].Fields), `
		strategy=RequestHash@0 LoadBalancerPolicy default/b spec.strategy | Random@0 LoadBalancerPolicy default/a spec.strategy
		requestHashPolicies[0]=source IP@0 LoadBalancerPolicy default/b spec.requestHashPolicies[0]
		healthCheck=TCP every 7s, answered within 1s; out after 3 failures, in after 1 successes@0 LoadBalancerPolicy default/b spec.healthCheck
		outlierDetection=5 errors or 2 gateway errors in a row; out for 30s, at most 50 % of the hosts, looked at every 10s@0 LoadBalancerPolicy default/b spec.outlierDetection
		retryConstraint.budget.percent=33@0 XBackendTrafficPolicy default/budget spec.retryConstraint.budget.percent :7 | 44@0 XBackendTrafficPolicy default/another spec.retryConstraint.budget.percent :7
		retryConstraint.budget.interval=10s@0`)
	for name, c := range map[string]struct {
		ref               object.Ref
		holds, overridden string
	}{
		"the policy that holds": {object.Ref{Kind: object.KindLoadBalancer, Namespace: "default", Name: "b"}, "strategy=RequestHash@0 LoadBalancerPolicy default/b spec.strategy | Random@0 LoadBalancerPolicy default/a spec.strategy\nrequestHashPolicies[0]=source IP@0 LoadBalancerPolicy default/b spec.requestHashPolicies[0]\nhealthCheck=TCP every 7s, answered within 1s; out after 3 failures, in after 1 successes@0 LoadBalancerPolicy default/b spec.healthCheck\noutlierDetection=5 errors or 2 gateway errors in a row; out for 30s, at most 50 % of the hosts, looked at every 10s@0 LoadBalancerPolicy default/b spec.outlierDetection", ""},
		"the one that does not": {object.Ref{Kind: object.KindLoadBalancer, Namespace: "default", Name: "a"}, "", "strategy=Random@0 LoadBalancerPolicy default/a spec.strategy by RequestHash@0 LoadBalancerPolicy default/b spec.strategy"},
		"the budget that holds": {budget, "retryConstraint.budget.percent=33@0 XBackendTrafficPolicy default/budget spec.retryConstraint.budget.percent :7 | 44@0 XBackendTrafficPolicy default/another spec.retryConstraint.budget.percent :7", ""},
		"the budget that loses": {another, "", "retryConstraint.budget.percent=44@0 XBackendTrafficPolicy default/another spec.retryConstraint.budget.percent :7 by 33@0 XBackendTrafficPolicy default/budget spec.retryConstraint.budget.percent :7"},
	} {
		t.Run(name, func(t *testing.T) {
			d := describe.Describe(c.ref, "", in.Input)
			if len(d.Effects) != 1 {
				t.Fatalf("%d effects, want 1", len(d.Effects))
			}
			checkLines(t, "holds", formatFields(d.Effects[0].Effective), c.holds)
			checkLines(t, "does not", formatOverridden(d.Effects[0]), c.overridden)
			if wantTargets := c.ref.Kind == object.KindLoadBalancer; wantTargets != (len(d.Targets) == 1) {
				t.Errorf("%d targets", len(d.Targets))
			}
		})
	}
}

// TestNotesOnRequests says what of balancing and budgets does not hold, and why.
func TestNotesOnRequests(t *testing.T) {
	in := newInput(t)
	in.balance()
	in.traffic.LoadBalancing.Note = "is not hashed"
	in.traffic.LoadBalancing.Candidates[1].AncestorLimit = true
	in.traffic.NoBudgetReason = "the session must not move"
	in.traffic.EffectiveBudget = &retrybudget.EffectiveBudget{Policy: budget}
	checkLines(t, "notes", strings.Join(describe.Describe(cart, "", in.Input).Requests[0].Notes, "\n"), `
		LoadBalancerPolicy default/b: is not hashed
		LoadBalancerPolicy default/a: no effect here, for its status has no room for Gateway default/web
		no retry budget here: the session must not move`)
	checkLines(t, "of the budget", strings.Join(describe.Describe(budget, "", in.Input).Effects[0].Notes, "\n"), "no retry budget here: the session must not move")
	b := object.Ref{Kind: object.KindLoadBalancer, Namespace: "default", Name: "b"}
	checkLines(t, "of the policy", strings.Join(describe.Describe(b, "", in.Input).Effects[0].Notes, "\n"), "is not hashed")
	in.traffic.LoadBalancing = loadbalancing.Outcome{}
	checkLines(t, "without a policy", formatFields(describe.Describe(cart, "", in.Input).Requests[0].Fields), "strategy=RoundRobin@0")
}

// TestTimesAndRetries holds what is told of a rule's timeouts and retries.
//
// requirements: S73
func TestTimesAndRetries(t *testing.T) {
	const times = `
		timeouts.request=10s@0 HTTPRoute default/r spec.rules[0].timeouts.request :7
		timeouts.backendRequest=2s@0 HTTPRoute default/r spec.rules[0].timeouts.backendRequest :7
	`
	for name, c := range map[string]struct {
		rule    int
		retries lower.RetryOutcome
		want    string
	}{
		"retries that hold": {0, lower.RetryOutcome{Effective: true}, times + `
			retry.codes=502, 503@0 HTTPRoute default/r spec.rules[0].retry.codes :7
			retry.attempts=3@0
			retry.backoff=100ms@0 HTTPRoute default/r spec.rules[0].retry.backoff :7`},
		"retries that do not": {0, lower.RetryOutcome{Notes: []string{"retry: no"}}, times},
		"attempts alone":      {1, lower.RetryOutcome{Effective: true}, "retry.attempts=1@0 HTTPRoute default/r spec.rules[1].retry.attempts :7"},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput(t)
			in.traffic.Rule, in.traffic.Retries = c.rule, &c.retries
			in.Traffic = []*lower.BackendTraffic{in.traffic}
			d := describe.Describe(route, "", in.Input)
			if len(d.Retries) != 1 {
				t.Fatalf("%d of retries, want 1", len(d.Retries))
			}
			checkLines(t, "fields", formatFields(d.Retries[0].Fields), c.want)
			checkLines(t, "notes", strings.Join(d.Retries[0].Notes, "\n"), strings.Join(c.retries.Notes, "\n"))
		})
	}
}
