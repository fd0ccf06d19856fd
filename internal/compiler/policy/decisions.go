// Package policy decides which session persistence is effective on every path that requests can take. Its steps are
// those of [Decide]: it attaches policies to their targets, resolves by precedence what they come to for a rule, has
// sessions claim names in their scopes, assigns these, configures the rules, and lets listeners share one.
package policy

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Decisions is everything that was decided about session persistence: what proxies are configured with, and what status
// and descriptions say. All lists are in a fixed order.
type Decisions struct {
	// Attachments is what became of each target of each SessionPersistencePolicy and XBackendTrafficPolicy, by
	// policy and in the order of its targets.
	Attachments []Attachment
	// Paths is what is effective on each path that requests can take, by route, rule, listener and backend.
	Paths []*Decision
	// Renames are the session names that were suffixed (S26 to S28).
	Renames []Rename
	// AncestorLimit says on which Gateways policies have no effect because their status can't list another one (S63).
	AncestorLimit *ancestors.Limit

	rules    map[ruleKey]*Rule
	rejected map[*gateway.Route]bool
	named    []*namedRule // all of them
}

// Cookie is a session's cookie by what it meets others with: its name and Domain or, without a Domain, one of its
// rule's hostnames.
type Cookie struct{ Name, Domain, Hostname string }

// VisitCookies visits the cookies of each route under the names that they were to have and those that they have.
func (d *Decisions) VisitCookies(visit func(route object.Ref, c Cookie)) {
	for _, r := range d.named {
		for i, c := range r.claims {
			if !c.isCookie() {
				continue
			}
			for _, name := range slices.Compact([]string{c.name, r.names[i].shared, r.names[i].text}) {
				for _, h := range c.extent.hostnames {
					visit(c.route.Ref(), Cookie{name, c.extent.within, h})
				}
			}
		}
	}
}

// Attachment is what became of one target of a policy.
type Attachment struct {
	Policy object.Origin
	// Subject is the policy's document.
	Subject report.Subject
	Target  object.TargetRef
	// Class is the GatewayClass behind whose Gateways alone the policy holds; empty for all.
	Class string
	// Path is where the policy names the target, such as spec.targetRefs[0].
	Path string
	// Reason is empty for a target on which the policy is effective, else the reason of Accepted=False:
	// report.ReasonTargetNotFound or report.ReasonInvalid. Conflicts are in the Effective of the paths.
	Reason  string
	Message string
}

// Decision is what is effective on one path (S6).
type Decision struct {
	// Path is the listener, the route and rule, and the backends that one session spans.
	Path precedence.TrafficPath
	// Route is the route's document, an HTTPRoute's or one in its shape; Rule is the rule's index.
	Route *gateway.Route
	Rule  int
	// Release is the one by which the rule's session is read (S18).
	Release sessionapi.APIRelease
	// Effective is every field with its provenance, what is ignored, and which objects are in conflict.
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
	// Withheld says why a rule goes without the session that it asks for, as what it needs is another's; empty if it does
	// not.
	Withheld string
	// Limits are the fields that do not hold as they are written.
	Limits []Limit

	held    HeldName // for the next result
	ofRoute bool     // whether other rules of the route share the session
}

// Refusal is one reason why a rule can't have its session.
type Refusal struct {
	// Path leads to the field of the route.
	Path, Message string
}

// Rename is a session's name that was suffixed, because one name can't hold several sessions.
type Rename struct {
	Route *gateway.Route
	Rule  int
	// By is where the name is written; nothing for one that was generated.
	By precedence.FieldValue
	// SemanticsRule is the rule of docs/semantics.md that asks for it: S26, S27 or S28.
	SemanticsRule string
	// At is the field of the route that a message is best put at, and Rival whose name it is, with S28.
	At, Rival string
	// From is the name as it is written and To the emitted one.
	From, To string
}

// Rule gives what was decided about a rule on a listener.
func (d *Decisions) Rule(listener *gateway.Listener, route *gateway.Route, rule int) *Rule {
	return d.rules[ruleKey{listener, route, rule}]
}

// Rejected says that a route serves nothing at all (S48).
func (d *Decisions) Rejected(route *gateway.Route) bool { return d.rejected[route] }
