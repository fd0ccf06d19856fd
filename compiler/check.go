package compiler

import (
	"errors"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// CheckResult is what a check of documents gives.
type CheckResult struct {
	// Rows say of each object with a status, and of whatever else there is something to say of, what became of it.
	Rows []status.Row
	// Objects are the objects' statuses. There are none if a document is no good, for what becomes of the others
	// may hang on it.
	Objects []status.Object
	// Errors are what is wrong with documents; nil if all of them can be compiled.
	Errors Errors
}

// OK reports whether everything is accepted, and with strict, honoured.
func (c *CheckResult) OK(strict bool) bool {
	for _, r := range c.Rows {
		if r.Verdict == status.Refused || strict && r.Verdict == status.Warning {
			return false
		}
	}
	return true
}

// Check says what becomes of every object, as Compile with the same options would have it. Options.Strict makes no
// difference. The error is about the options; what is wrong with the input is in the result.
func Check(sources []Source, o Options) (*CheckResult, error) {
	controlled := o.prepareDryRun()
	j, err := analyze(sources, &o)
	if err == nil && controlled {
		err = o.Target.emit(j, &o, &Result{}) // for what it reports
	}
	var problems Errors
	switch {
	case errors.As(err, &problems):
		return &CheckResult{Rows: status.RefusalRows(problems), Errors: problems}, nil
	case err != nil:
		return nil, err
	}
	warnings := j.rep.Warnings()
	objects := status.Build(status.Input{Objects: j.objects, Attachments: j.attachments, Decisions: j.decisions, Traffic: j.traffic, Problems: warnings, Now: o.Time})
	if controlled {
		objects = slices.DeleteFunc(objects, func(s status.Object) bool { return !slices.Contains(policyKinds, s.Kind) })
	}
	rows := status.Rows(j.listSubjects(), append(warnings, status.IdleAdvice(objects, j.listSubjects())...))
	return &CheckResult{Rows: rows, Objects: objects}, nil
}

// prepareDryRun fits the options to what writes nothing. It reports whether the target has a control plane of its own; for
// all others documents mean the same.
func (o *Options) prepareDryRun() (controlled bool) {
	o.Strict = false
	controlled = o.Target.findEmitter() != nil && o.Target.findController() != ""
	switch {
	case !controlled:
		o.Target = TargetPlugin
	case o.WasmURL == "":
		o.WasmURL = "https://example.com/limpet.wasm"
	}
	return controlled
}

// policyKinds are those whose status is limpet's where a control plane writes that of Gateways and routes.
var policyKinds = []string{"SessionPersistencePolicy", "XBackendTrafficPolicy"}

// listSubjects are the objects of kinds that have a status.
func (j *analysis) listSubjects() (all []report.Subject) {
	withStatus := func(t resource.Traits) bool { return t.HasStatus }
	j.objects.Visit(withStatus, func(e resource.Entry) { all = append(all, e.Subject) })
	return all
}
