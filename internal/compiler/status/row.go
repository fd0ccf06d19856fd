package status

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Verdict is what one line says of an object.
type Verdict string

// The verdicts. Refused objects, or parts of them, have no effect or serve errors; a Warning is about something that
// is accepted and not honoured in full; Advice has no effect on requests.
const (
	Accepted Verdict = "Accepted"
	Advice   Verdict = "Advice"
	Warning  Verdict = "Warning"
	Refused  Verdict = "Refused"
)

// Row is one line of the table of verdicts: an object of which there is nothing to say but that it is accepted, or
// one thing that there is to say of an object, or of a file that can't be read.
type Row struct {
	Object  string  `json:"object,omitempty"`
	Verdict Verdict `json:"verdict"`
	// Reason is that of the condition which says so, if any.
	Reason string `json:"reason,omitempty"`
	// File and Line are where it is written; line 0 is unknown.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Path and Message are empty for an object that is just accepted.
	Path    string `json:"path,omitempty"`
	Message string `json:"message,omitempty"`
}

// refusing are the reasons of conditions by which an object, or a part of it, is not accepted.
var refusing = []string{
	string(gatewayv1.RouteReasonNoMatchingParent),
	string(gatewayv1.RouteReasonNotAllowedByListeners),
	string(gatewayv1.RouteReasonNoMatchingListenerHostname),
	string(gatewayv1.RouteReasonUnsupportedValue),
	string(
		gatewayv1.GatewayReasonPending,
	),
	string(gatewayv1.ListenerReasonHostnameConflict),
	string(gatewayv1.ListenerReasonProtocolConflict),
	string(gatewayv1.ListenerReasonPortUnavailable),
	report.ReasonConflicted,
	report.ReasonInvalid,
	report.ReasonTargetNotFound,
}

// Rows gives the lines in order of place. Objects are those that have a status; others have lines only if there is
// something to say of them.
func Rows(objects []report.Subject, warnings []report.Problem) []Row {
	rows := ProblemRows(warnings)
	blamed := map[string]bool{}
	for _, p := range warnings {
		blamed[p.Object] = blamed[p.Object] || !p.Advice
	}
	for _, o := range objects {
		if name := report.ShownPath(o.String()); !blamed[name] {
			file, line := o.Locate("")
			rows = append(
				rows,
				Row{
					Object:  name,
					Verdict: Accepted,
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
		rows[i] = newRow(p, classify(p))
	}
	return rows
}

// RefusalRows gives the lines of an input with documents that are no good. What is said of others than these depends on
// references to them, so there is nothing to say of the others.
func RefusalRows(errors []report.Problem) []Row {
	rows := make([]Row, len(errors))
	for i, p := range errors {
		rows[i] = newRow(p, Refused)
		rows[i].Reason = cmp.Or(p.Reason, report.ReasonInvalid) // no API server would admit it, or limpet can't read it
	}
	return rows
}

func newRow(p report.Problem, v Verdict) Row {
	return Row{Object: p.Object, Verdict: v, Reason: p.Reason, File: p.File, Line: p.Line, Path: p.Path, Message: p.Message}
}

func classify(p report.Problem) Verdict {
	switch {
	case p.Advice:
		return Advice
	case slices.Contains(refusing, p.Reason):
		return Refused
	default:
		return Warning
	}
}

func compareRows(a, b Row) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Object, b.Object))
}

// IdleAdvice gives advice about policies of which nothing holds at one of their ancestors: stronger ones leave nothing, or
// no request comes there (S61). It is in their status alone, for no request loses what the precedence gives it.
func IdleAdvice(objects []Object, subjects []report.Subject) []report.Problem {
	byName := map[string]report.Subject{}
	for _, s := range subjects {
		byName[s.String()] = s
	}
	var idle []report.Problem
	for _, o := range objects {
		s, is := o.Status.(gatewayv1.PolicyStatus)
		if !is {
			continue
		}
		about := byName[fmt.Sprintf("%s %s/%s", o.Kind, o.Metadata.Namespace, o.Metadata.Name)]
		for _, a := range s.Ancestors {
			if c := meta.FindStatusCondition(
				a.Conditions,
				string(v1alpha1.ConditionProgrammed),
			); a.ControllerName == ControllerName && c != nil &&
				c.Status == metav1.ConditionFalse {
				p := report.NewProblem(
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
