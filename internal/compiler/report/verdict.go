package report

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Verdict is what a problem means for the object that it is about.
type Verdict string

// The verdicts. Refused objects, or parts of them, have no effect or serve errors; a Warning is about something that
// is accepted and not honoured in full; Advice has no effect on requests.
const (
	Accepted Verdict = "Accepted"
	Advice   Verdict = "Advice"
	Warning  Verdict = "Warning"
	Refused  Verdict = "Refused"
	// Unknown is a Warning or Refused that depends on objects which the caller may not read.
	Unknown Verdict = "Unknown"
)

// severity is the order of the verdicts, the harmless ones first.
var severity = []Verdict{Accepted, Advice, Warning, Unknown, Refused}

// AtLeast reports whether a verdict is as bad as another one, or worse.
func (v Verdict) AtLeast(other Verdict) bool {
	return slices.Index(severity, v) >= slices.Index(severity, other)
}

// Severity is the verdict as lines for people and programs begin with it; empty for Accepted.
func (v Verdict) Severity() string {
	return map[Verdict]string{Refused: "error", Unknown: "unknown", Warning: "warning", Advice: "advice"}[v]
}

// refusing are the reasons of conditions by which an object, or a part of it, is not accepted.
var refusing = []string{
	string(gatewayv1.RouteReasonNoMatchingParent),
	string(gatewayv1.RouteReasonNotAllowedByListeners),
	string(gatewayv1.RouteReasonNoMatchingListenerHostname),
	string(gatewayv1.RouteReasonUnsupportedValue),
	string(gatewayv1.GatewayReasonPending),
	string(gatewayv1.ListenerReasonHostnameConflict),
	string(gatewayv1.ListenerReasonProtocolConflict),
	string(gatewayv1.ListenerReasonPortUnavailable),
	ReasonConflicted,
	ReasonInvalid,
	ReasonTargetNotFound,
}

// Verdict is what the problem means.
func (p Problem) Verdict() Verdict {
	switch {
	case p.Advice:
		return Advice
	case p.LeftOut || slices.Contains(refusing, p.Reason):
		return Refused
	default:
		return Warning
	}
}

// Worst is the worst verdict of problems, Accepted for none.
func Worst(problems []Problem) Verdict {
	worst := Accepted
	for _, p := range problems {
		if v := p.Verdict(); v.AtLeast(worst) {
			worst = v
		}
	}
	return worst
}
