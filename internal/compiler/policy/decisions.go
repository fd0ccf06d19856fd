// Package policy decides which session persistence holds on every way that requests can take: it puts policies where
// their targets are, asks package precedence what comes of them, and gives sessions their scopes, names and cookie paths.
package policy

import (
	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	"github.com/limpet-proxy/limpet/policy-config"
)

// Decisions is everything that was decided about session persistence, for those who carry it out and those who
// write status about it. All lists are in a fixed order.
type Decisions struct {
	// Attachments is what became of each target of each SessionPersistencePolicy and XBackendTrafficPolicy, by
	// policy and in the order of its targets.
	Attachments []Attachment
	// Paths is what holds on each way that requests can take, by route, rule, listener and backend.
	Paths []*Decision
	// Renames are the session names that were suffixed (S26, S27).
	Renames []Rename
	// AncestorLimit are the Gateways on which policies have no effect, for want of room in their status (S63).
	AncestorLimit *ancestors.Limit

	rules    map[ruleKey]*Rule
	rejected map[*gateway.Route]bool
}

// Attachment is what became of one target of a policy.
type Attachment struct {
	Policy object.Origin
	// Subject is the policy's document.
	Subject report.Subject
	Target  object.TargetRef
	// Path is where the policy names the target, such as spec.targetRefs[0].
	Path string
	// Reason is empty for a target that the policy holds on, else the reason of Accepted=False: ReasonTargetNotFound
	// or ReasonInvalid. Conflicts are in the Effective of the ways.
	Reason  string
	Message string
}

// The reasons for which a policy has no effect on a target (GEP-713's, S60).
const (
	ReasonTargetNotFound = "TargetNotFound"
	ReasonInvalid        = "Invalid"
)

// Decision is what holds on one way (S6).
type Decision struct {
	// Path is the listener, the route and rule, and the backends that one session spans.
	Path precedence.TrafficPath
	// Route is the route's document, an HTTPRoute's or one in its shape; Rule is the rule's index.
	Route *gateway.Route
	Rule  int
	// Release is the one whose meaning the rule has (S18).
	Release sessionapi.APIRelease
	// Effective is every field with its provenance, what is dropped and who conflicts with whom.
	Effective precedence.Effective
	// Scope is what tokens are bound to and Name the cookie's or header's name as it is emitted; empty if there is
	// no session.
	Scope, Name string
	// Policies are what the filter gets: none if there is no session, several where the matches have different
	// cookie paths.
	Policies []policyconfig.Policy
	// Refusals say why the rule can't have its session; every request of the rule is then answered 500 (S50), and
	// with Rejected the route as a whole serves nothing (S48).
	Refusals []Refusal
	Rejected bool
}

// Refusal is one reason why a rule can't have its session.
type Refusal struct {
	// Path leads to the field of the route.
	Path, Message string
}

// Rename is a session's name that was suffixed, for one name can't hold several sessions.
type Rename struct {
	Route *gateway.Route
	Rule  int
	// By is where the name is written.
	By precedence.FieldValue
	// SemanticsRule is the rule of docs/semantics.md that asks for it, S26 or S27.
	SemanticsRule string
	// From is the name as it is written and To the emitted one.
	From, To string
}

// Rule gives what was decided about a rule on a listener.
func (d *Decisions) Rule(listener *gateway.Listener, route *gateway.Route, rule int) *Rule {
	return d.rules[ruleKey{listener, route, rule}]
}

// Rejected says that a route serves nothing at all (S48).
func (d *Decisions) Rejected(route *gateway.Route) bool { return d.rejected[route] }
