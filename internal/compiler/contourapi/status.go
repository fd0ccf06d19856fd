package contourapi

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Status is the status of an HTTPProxy, but for what its load balancer says, and of an ExtensionService, which has
// conditions alone.
type Status struct {
	// CurrentStatus is valid or invalid, and Description the reason and message of the condition Valid.
	CurrentStatus string      `json:"currentStatus,omitempty"`
	Description   string      `json:"description,omitempty"`
	LoadBalancer  any         `json:"loadBalancer,omitempty"`
	Conditions    []Condition `json:"conditions,omitempty"`
}

// Condition is a condition with what is behind it. Valid is False if there is an error.
type Condition struct {
	metav1.Condition `json:",inline"`

	Errors   []Fault `json:"errors,omitempty"`
	Warnings []Fault `json:"warnings,omitempty"`
}

// Fault is one error or warning. Its status is always True.
type Fault struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message"`
}

// Finding is what there is to say of an object, at a place of it.
type Finding struct {
	Place           report.Place
	Reason, Message string
	// Error has it invalid, and Unresolved is a reference that leads nowhere, which does so too.
	Error, Unresolved bool
}

// The words of Contour's API for the condition and for how it comes out.
const (
	conditionValid = "Valid"
	errorPresent   = "ErrorPresent"
	stateValid     = "valid"
	stateInvalid   = "invalid"
)

// SetValid puts the condition Valid into a status, and for an HTTPProxy what Contour derives from it. Update gives the
// condition its generation and times, and is false if another controller knows better (S64).
func (s *Status) SetValid(
	kind string,
	findings []Finding,
	update func(was, is metav1.Condition) (metav1.Condition, bool),
) {
	is := newValid(kind, findings)
	at := slices.IndexFunc(s.Conditions, func(c Condition) bool { return c.Type == conditionValid })
	var was metav1.Condition
	if at >= 0 {
		was = s.Conditions[at].Condition
	}
	condition, ours := update(was, is.Condition)
	if !ours {
		return
	}
	is.Condition = condition
	if at < 0 {
		s.Conditions = append(s.Conditions, is)
	} else {
		s.Conditions[at] = is
	}
	if kind != KindHTTPProxy {
		return
	}
	s.CurrentStatus, s.Description = stateValid, is.Reason+": "+is.Message
	if is.Status == metav1.ConditionFalse {
		s.CurrentStatus = stateInvalid
	}
}

func newValid(kind string, findings []Finding) Condition {
	is := Condition{Condition: metav1.Condition{
		Type: conditionValid, Status: metav1.ConditionTrue, Reason: conditionValid, Message: "Valid " + kind,
	}}
	for _, f := range findings {
		fault := Fault{Type: f.faultType(), Status: metav1.ConditionTrue, Reason: f.reason(), Message: f.Message}
		if f.Error || f.Unresolved {
			is.Errors = append(is.Errors, fault)
		} else {
			is.Warnings = append(is.Warnings, fault)
		}
	}
	if len(is.Errors) > 0 {
		is.Status, is.Reason, is.Message = metav1.ConditionFalse, errorPresent, "At least one error present, see Errors "+
			"for details"
	}
	return is
}

// Replace puts other conditions in the place of those of some types.
func (s *Status) Replace(types []string, merge func(was []metav1.Condition) []metav1.Condition) {
	var there []metav1.Condition
	others := slices.DeleteFunc(slices.Clone(s.Conditions), func(c Condition) bool {
		if !slices.Contains(types, c.Type) {
			return false
		}
		there = append(there, c.Condition)
		return true
	})
	for _, c := range merge(there) {
		others = append(others, Condition{Condition: c})
	}
	s.Conditions = others
}

// faultType is Contour's type of error for a place in the object.
func (f *Finding) faultType() string {
	switch {
	case f.Place.Section == report.ProxyConnections:
		return "TCPProxyError"
	case f.Place.Section == report.VirtualHost:
		return "VirtualHostError"
	case f.Place.InBackendRef:
		return "ServiceError"
	case f.Place.InBalancing:
		return "SpecError"
	default:
		return "RouteError"
	}
}

// reason is the reason that Contour has for what limpet calls otherwise.
func (f *Finding) reason() string {
	switch {
	case f.Place.InBalancing:
		return "IgnoredField"
	case f.Unresolved:
		return "ServiceUnresolvedReference"
	case f.Reason != "":
		return f.Reason
	default:
		return "NotHonoured"
	}
}
