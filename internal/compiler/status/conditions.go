package status

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// The API's bounds: conditions in one list, and of a message's length limpet's own, far below the API's 32768.
const (
	maxConditions = 8
	maxProblems   = 8
)

// newCondition makes a condition of limpet's. Its generation and transition time come from the object and the condition
// before.
func newCondition[T, R ~string](kind T, holds bool, reason R, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: string(kind), Status: status, Reason: string(reason), Message: message}
}

// conditionWriter writes conditions for one generation of an object.
type conditionWriter struct {
	generation int64
	now        metav1.Time
}

func (b *builder) newWriter(meta metav1.ObjectMeta) conditionWriter {
	return conditionWriter{meta.Generation, b.now}
}

// merge puts conditions into those that are there (S64): others' stay as and where they are; ours are replaced,
// except by older knowledge; owned types that are not written any more go.
func (w conditionWriter) merge(there []metav1.Condition, owned []string, ours ...metav1.Condition) []metav1.Condition {
	merged := make([]metav1.Condition, 0, len(there)+len(ours))
	for _, c := range there {
		at := slices.IndexFunc(ours, func(o metav1.Condition) bool { return o.Type == c.Type })
		switch {
		case at >= 0:
			merged = append(merged, w.replace(c, ours[at]))
		case !slices.Contains(owned, c.Type) || c.ObservedGeneration > w.generation:
			merged = append(merged, c)
		}
	}
	for _, o := range ours {
		has := slices.ContainsFunc(merged, func(c metav1.Condition) bool { return c.Type == o.Type })
		if !has && len(merged) < maxConditions {
			merged = append(merged, w.replace(metav1.Condition{}, o))
		}
	}
	return merged
}

// replace brings a condition up to date. The time says when its status last changed, but for one that has a time of its
// own.
func (w conditionWriter) replace(was, is metav1.Condition) metav1.Condition {
	if was.ObservedGeneration > w.generation {
		return was
	}
	is.ObservedGeneration = w.generation
	if !is.LastTransitionTime.IsZero() {
		return is
	}
	is.LastTransitionTime = w.now
	if was.Status == is.Status && !was.LastTransitionTime.IsZero() {
		is.LastTransitionTime = was.LastTransitionTime
	}
	return is
}

// joinProblems puts problems into a condition's message.
func joinProblems(problems []report.Problem) string {
	var parts []string
	for _, p := range problems {
		if len(parts) == maxProblems {
			parts = append(parts, fmt.Sprintf("and %d more", len(problems)-maxProblems))
			break
		}
		parts = append(parts, prefixPath(p.Path, p.Message))
	}
	return strings.Join(parts, "; ")
}

func prefixPath(path, message string) string {
	if path == "" {
		return message
	}
	return path + ": " + message
}

// filterByPlace gives the problems in some places.
func filterByPlace(problems []report.Problem, is func(report.Place) bool) []report.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p report.Problem) bool { return !is(p.Place) })
}

// filterByReason gives the problems with one of the reasons.
func filterByReason[R ~string](problems []report.Problem, reasons ...R) []report.Problem {
	var some []report.Problem
	for _, p := range problems {
		if slices.Contains(reasons, R(p.Reason)) {
			some = append(some, p)
		}
	}
	return some
}
