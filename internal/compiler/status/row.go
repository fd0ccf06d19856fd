package status

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Row is one line of the table of verdicts: an object of which there is nothing to say but that it is accepted, or
// one thing that there is to say of an object, or of a file that can't be read.
type Row struct {
	// Code is the finding's, and Severity is error, unknown, warning or advice; both are empty for an object that is just
	// accepted.
	Code     report.Code `json:"code,omitempty"`
	Severity string      `json:"severity,omitempty"`

	Object  string         `json:"object,omitempty"`
	Verdict report.Verdict `json:"verdict"`
	// Reason is that of the condition which says so, if any.
	Reason string `json:"reason,omitempty"`
	// File and Line are where it is written; line 0 is unknown.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Path and Message are empty for an object that is just accepted.
	Path    string `json:"path,omitempty"`
	Message string `json:"message,omitempty"`
}

// Rows gives the lines in order of place. Objects are those that have a status; others have lines only if there is
// something to say of them.
func Rows(objects []report.Subject, warnings []report.Problem) []Row {
	rows := ProblemRows(warnings)
	blamed := map[object.Ref]bool{}
	for _, p := range warnings {
		blamed[p.Ref] = blamed[p.Ref] || !p.Advice
	}
	for _, o := range objects {
		if !blamed[o.Ref()] {
			file, line := o.Locate("")
			rows = append(
				rows,
				Row{
					Object:  report.ShownPath(o.String()),
					Verdict: report.Accepted,
					Reason:  string(gatewayv1.RouteReasonAccepted),
					File:    report.ShownPath(file),
					Line:    line,
				},
			)
		}
	}
	slices.SortStableFunc(rows, compareRows)
	return rows
}

// ProblemRows gives the lines for what there is to say.
func ProblemRows(warnings []report.Problem) []Row {
	rows := make([]Row, len(warnings))
	for i, p := range warnings {
		rows[i] = newRow(p, p.Verdict())
	}
	return rows
}

// Place gives FILE:LINE.
func (r Row) Place() string {
	if r.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

func newRow(p report.Problem, v report.Verdict) Row {
	reason := p.Reason
	if p.LeftOut {
		reason = cmp.Or(reason, report.ReasonInvalid) // no API server would admit it, or limpet can't read it
	}
	return Row{
		Code: p.Code, Severity: v.Severity(),
		Object: p.Object, Verdict: v, Reason: reason, File: p.File, Line: p.Line, Path: p.Path, Message: p.Message,
	}
}

func compareRows(a, b Row) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Object, b.Object))
}

// IdleAdvice gives advice about policies of which nothing holds at one of their ancestors: stronger ones leave nothing,
// or no request comes there (S61). It is in their status alone, for no request loses what the precedence gives it.
func IdleAdvice(objects []Object, subjects []report.Subject, controller gatewayv1.GatewayController) []report.Problem {
	bySubject := map[object.Ref]report.Subject{}
	for _, s := range subjects {
		bySubject[s.Ref()] = s
	}
	var idle []report.Problem
	for _, o := range objects {
		s, is := o.Status.(gatewayv1.PolicyStatus)
		if !is {
			continue
		}
		about := bySubject[object.Ref{Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}]
		for _, a := range s.Ancestors {
			if c := meta.FindStatusCondition(
				a.Conditions,
				string(v1alpha1.ConditionProgrammed),
			); a.ControllerName == controller && c != nil &&
				c.Status == metav1.ConditionFalse {
				p := report.NewProblem(report.PolicyIdle,
					about,
					"",
					fmt.Sprintf("for %s %s: %s", stringOr(a.AncestorRef.Kind, ""), a.AncestorRef.Name, c.Message),
				)
				p.Reason, p.Advice = c.Reason, true
				idle = append(idle, p)
			}
		}
	}
	return idle
}
