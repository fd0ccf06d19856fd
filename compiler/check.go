package compiler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// CheckResult is what a check of documents gives.
type CheckResult struct {
	// Rows say of each object with a status, and of whatever else there is something to say of, what became of it.
	Rows []status.Row
	// Objects are the objects' statuses. All says that no other object has one; else Without are those that have none any
	// more.
	Objects []status.Object
	All     bool
	Without []object.Ref
	// Errors are what is wrong if nothing can be compiled: no listener is left. Else nil.
	Errors Errors
	// PassedOver is as in Result.
	PassedOver map[string]int
}

// Worst is the worst verdict of the rows.
func (c *CheckResult) Worst() Verdict {
	worst := Accepted
	for _, r := range c.Rows {
		if r.Verdict.AtLeast(worst) {
			worst = r.Verdict
		}
	}
	return worst
}

// Check says what becomes of every object, as Compile with the same options would have it. Options.Strict makes no
// difference. The error is about the options; what is wrong with the input is in the result.
func Check(sources []Source, o Options) (*CheckResult, error) {
	o.writeNothing()
	j, err := analyze(sources, &o)
	controlled := err == nil && o.Target.findController() != ""
	if controlled {
		err = o.Target.emit(j, &o, &Result{}) // for what it reports
	}
	var problems Errors
	switch {
	case errors.As(err, &problems):
		return &CheckResult{Rows: status.ProblemRows(problems), Errors: problems}, nil
	case err != nil:
		return nil, err
	}
	if err := j.reportDifferences(&o); err != nil {
		return nil, err
	}
	result, warnings := o.buildStatuses(status.Input{
		Objects: j.objects, Attachments: j.Topology.Attachments, Decisions: j.Decisions, Traffic: j.Traffic,
		Withheld: j.findWithheld,
	}, j.rep, j.servesNothing())
	if controlled {
		isTheirs := func(s status.Object) bool { return !slices.Contains(policyKinds, s.Kind) }
		result.Objects = slices.DeleteFunc(result.Objects, isTheirs)
	}
	subjects := j.listSubjects()
	idle := status.IdleAdvice(result.Objects, subjects, j.objects.ControllerName())
	reported := slices.Concat(warnings, idle, listNearBudgets(j.Topology.Usage, o.budget()))
	j.suggestNames(reported)
	result.Rows = status.Rows(subjects, reported)
	return result, nil
}

// listNearBudgets has advice for each budget of which half is taken, or more (S87).
func listNearBudgets(usage gateway.Usage, budget gateway.Budget) (near []Problem) {
	for _, t := range usage.List(budget) {
		if t.IsNear() {
			near = append(near, Problem{Code: report.NearBudget, Advice: true, Message: t.Explain()})
		}
	}
	return near
}

// buildStatuses writes statuses from what was decided and reported. It gives all that there is to say, too.
func (o *Options) buildStatuses(in status.Input, rep *report.Report, servesNothing bool) (*CheckResult, []Problem) {
	served := cmp.Or(o.served(), &Served{})
	reportServed(&in, served, rep)
	in.Problems, in.Proxies = rep.Problems(), served.Proxies
	in.Unacknowledged, in.Ended = served.Unacknowledged, served.Ended
	in.Current, in.Now = o.CurrentStatus, o.Time
	result := &CheckResult{All: true, PassedOver: in.Objects.PassedOver}
	if servesNothing && !o.AllowEmpty {
		empty := explainEmpty(in.Problems, in.Objects.PassedOver)
		result.Errors = append(rep.ErrorsFrom(report.Refused), empty)
		in.Problems = append(in.Problems, empty)
	}
	result.Objects = status.Build(in)
	return result, in.Problems
}

// findWithheld says why the target's rule goes without the session that was decided on a path; empty where it does not.
func (j *analysis) findWithheld(d *policy.Decision) string {
	p := d.Path
	return j.Plan.Withheld[ir.RulePlace{Route: p.Route, Rule: d.Rule, Gateway: p.Gateway, Listener: p.Listener}]
}

// reportDifferences warns of the rules whose sessions end when the input takes the place of Options.Since, and lists
// the values that change in rules whose own documents do not.
func (j *analysis) reportDifferences(o *Options) error {
	if o.Since == nil {
		return nil
	}
	earlier := *o
	before, err := analyze(o.Since, &earlier)
	if err != nil {
		return fmt.Errorf("the earlier input: %w", err)
	}
	had, has := []*policy.Sessions{before.Decisions.Sessions()}, []*policy.Sessions{j.Decisions.Sessions()}
	for _, e := range policy.FindEndedSessions(had, has) {
		j.rep.WarnAt(report.SessionsEnd, e.Route, e.Path(), "the sessions of a rule end: "+e.Why)
	}
	for _, c := range policy.FindChangedValues(before.Decisions, j.Decisions) {
		j.rep.AdviseAt(report.ValueChanges, c.Route, fmt.Sprintf("spec.rules[%d]", c.Rule), c.Message)
	}
	return nil
}

// reportServed warns of Gateways some of whose configuration an Envoy has not taken, and of parametersRefs of Gateways
// and classes that lead to nothing.
func reportServed(in *status.Input, served *Served, rep *report.Report) {
	for _, g := range in.Attachments.Gateways {
		if words := served.Rejected[g.Gateway.Key()]; words != "" {
			rep.WarnForAt(report.EnvoyRejects, g.Gateway, status.ReasonRejected, "",
				"an Envoy does not take all of its configuration: "+words)
		}
		if words := served.Proxies[g.Gateway.Key()].Invalid; words != "" {
			rep.WarnForAt(report.InvalidParameters, g.Gateway, string(gatewayv1.GatewayReasonInvalidParameters),
				"spec.infrastructure.parametersRef", words)
		}
	}
	for _, c := range in.Objects.Classes {
		if c.Value.Spec.ControllerName != in.Objects.ControllerName() {
			continue
		}
		if words := served.ClassParameters[c.Name]; words != "" {
			rep.WarnForAt(report.InvalidParameters, c, string(gatewayv1.GatewayClassReasonInvalidParameters),
				"spec.parametersRef", words)
		}
	}
}

// writeNothing fits the options to what writes nothing.
func (o *Options) writeNothing() { o.Strict, o.writesNothing = false, true }

// policyKinds are those whose status is limpet's where a control plane writes that of Gateways and routes.
var policyKinds = []string{"SessionPersistencePolicy", "XBackendTrafficPolicy"}

// listSubjects are the objects of kinds that have a status, but for GatewayClasses of other controllers.
func (j *analysis) listSubjects() (all []report.Subject) {
	withStatus := func(t resource.Traits) bool { return t.HasStatus }
	foreign := map[object.Ref]bool{}
	for _, c := range j.objects.Classes {
		foreign[c.Ref()] = j.Plan.Proxy != nil && c.Value.Spec.ControllerName != j.objects.ControllerName()
	}
	j.objects.Visit(withStatus, func(e resource.Entry) {
		if !foreign[e.Ref] {
			all = append(all, e.Subject)
		}
	})
	return all
}
