package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// claimedRule is a rule with the names that its sessions claim. It does not change.
type claimedRule struct {
	*resolvedRule
	claims []*claim // one for each path where sessions are on
	// apart says why the rule does not share the sessions of its route though a policy says so; empty for nothing to say.
	apart string
}

// claim is the name that a session is to have, and where it meets others of that name. Sessions of one scope are one
// session.
type claim struct {
	*resolvedPath
	scope string
	// ofRoute says that other rules of the route share the session, and routePath is the path that all of them have in
	// common.
	ofRoute   bool
	routePath string
	// name is the one that is claimed: written, or generated, unless the rule's backends can't share that (S27).
	name, written string
	nameField     *precedence.Field // where the name is written; nil if it is generated
	extent        extent
	refusals      []Refusal // those of the path, and what the filter would refuse
}

// claimNames gives every session its scope and the name that it claims. With a share the rule may share the sessions of
// its route.
func claimNames(resolved *resolvedRule, share *routeShare) *claimedRule {
	r := &claimedRule{resolvedRule: resolved}
	if share != nil {
		r.apart = share.apart
	}
	id := RuleIdentity(r.route, r.rule)
	for _, p := range r.paths {
		if p.effective.On {
			r.claims = append(r.claims, newClaim(p, id, share))
		}
	}
	r.suffixBackendNames()
	draft := &namedRule{claimedRule: r}
	for _, c := range r.claims {
		c.extent = c.findExtent()
		draft.names = append(draft.names, assignedName{shared: c.name, text: c.name})
	}
	for i, s := range configureRule(draft).sessions {
		r.claims[i].validate(s.policies)
	}
	return r
}

func newClaim(p *resolvedPath, id Identity, share *routeShare) *claim {
	c := &claim{resolvedPath: p, refusals: slices.Clip(p.refusals)}
	if share != nil && share.apart == "" {
		c.ofRoute, c.routePath = c.wantsRoute(), share.path
	}
	c.scope = c.decideScope(id)
	if name, written := p.effective.SessionName(); written {
		c.written, c.nameField = name, p.effective.Field("sessionName")
	} else {
		c.written = generateName(p.effective.Type(), c.scope)
	}
	c.name = c.written
	return c
}

// decideScope is what the session's tokens are bound to (S22).
func (c *claim) decideScope(id Identity) string {
	scope := id.Scope()
	if c.ofRoute {
		scope = id.RouteScope()
	}
	switch {
	case c.backend < 0:
		return scope
	case c.effective.TurnedOnBy.Level == precedence.InlineXBackend:
		return truncateName("XBackend/"+c.backends[c.backend].Object.Key(), policyconfig.MaxScope)
	default: // a session in one of the backends
		return truncateName(scope+backendPart(&c.backends[c.backend]), policyconfig.MaxScope)
	}
}

// generateName is the name of a session for which no object writes one (S25).
func generateName(kind policyconfig.Type, scope string) string {
	if kind == policyconfig.TypeHeader {
		return "x-limpet-session-" + shortHash(scope)
	}
	return "limpet-" + shortHash(scope)
}

// suffixBackendNames suffixes a cookie's name that several of the rule's backends have: one cookie can't hold a session
// in each of them (S27), nor in those that other rules of the route may have. Two XBackends that write the same name
// are not helped: that is a collision. Nor is a header suffixed: a client sends one value, and only the session in the
// backend used last is kept, which the report says.
func (r *claimedRule) suffixBackendNames() {
	count := map[string]int{}
	suffixable := slices.DeleteFunc(slices.Clone(r.claims), func(c *claim) bool {
		return c.nameField == nil || c.nameField.Level == precedence.InlineXBackend || c.effective.Envelope()
	})
	for _, c := range suffixable {
		count[strings.ToLower(c.name)]++
	}
	for _, c := range suffixable {
		if c.isCookie() && (count[strings.ToLower(c.written)] > 1 || c.ofRoute && c.backend >= 0) {
			c.name = suffix(c.written, c.scope)
		}
	}
}

// suffix returns a name that ends in the digest of a text. It is valid where the name is, with cookie.crossSite too.
func suffix(name, text string) string {
	end := "-" + shortHash(text)
	return name[:min(len(name), policyconfig.MaxSessionName-len(policyconfig.CrossSiteSuffix)-len(end))] + end
}

func (c *claim) isCookie() bool { return c.effective.Type() == policyconfig.TypeCookie }

// isOwnCookie is isCookie of one that limpet sets, and isEnvelope of one that the application sets.
func (c *claim) isOwnCookie() bool { return c.isCookie() && !c.effective.Envelope() }
func (c *claim) isEnvelope() bool  { return c.isCookie() && c.effective.Envelope() }

// isRefused reports whether the rule can't have the sessions that are asked for.
func (r *claimedRule) isRefused() bool {
	return slices.ContainsFunc(r.claims, func(c *claim) bool { return len(c.refusals) > 0 })
}

// validate applies the rules of the plugin's configuration, so that they stand in one place, and says which field of
// the route breaks them.
func (c *claim) validate(policies []policyconfig.Policy) {
	if len(c.refusals) > 0 {
		return // what follows from that would only distract
	}
	config := policyconfig.DefaultConfig()
	config.Policies = policies
	err := policyconfig.Validate(config)
	var faults policyconfig.ErrorList
	if err != nil && !errors.As(err, &faults) {
		faults = policyconfig.ErrorList{{Message: err.Error()}}
	}
	for _, f := range faults {
		refusal := Refusal{c.faultPath(f.Path, policies), f.Message}
		if !slices.ContainsFunc(c.refusals, func(r Refusal) bool { return r.Path == refusal.Path }) {
			c.refusals = append(c.refusals, refusal)
		}
	}
}

// faultPath gives the field of the route that a field of a policy came from.
func (c *claim) faultPath(path string, policies []policyconfig.Policy) string {
	_, name, _ := strings.Cut(path, "].")
	if f := c.effective.Field(name); f != nil && f.Origin.Ref == c.route.Ref() {
		return f.Path
	}
	var policy int
	if _, err := fmt.Sscanf(path, "policies[%d]", &policy); err == nil && name == "cookie.path" && policy < len(policies) {
		m := max(0, slices.Index(c.extent.paths, policies[policy].Cookie.Path))
		return c.fieldPath().Child("matches").Index(m).Child("path", "value").String()
	}
	return c.fieldPath().String()
}

// writtenName is a name and the object in which it is written, for the rules of one namespace: what another adds
// changes no name there.
type writtenName struct {
	object    object.Ref
	name      string
	namespace string
}

// sharedName returns a cookie's name as a policy writes it; false if that can't reach other rules.
func (c *claim) sharedName() (writtenName, bool) {
	if c.nameField == nil || !c.isOwnCookie() || c.name != c.written || !mayReachSeveralRules(c.nameField.Level) {
		return writtenName{}, false
	}
	return writtenName{c.nameField.Origin.Ref, c.name, c.route.Namespace}, true
}

// mayReachSeveralRules reports whether a name that is written at a level may reach several rules.
func mayReachSeveralRules(l precedence.Level) bool {
	switch l {
	case precedence.BuiltIn, precedence.InlineRule, precedence.LevelOf(precedence.Override, precedence.OnRule),
		precedence.LevelOf(precedence.Plain, precedence.OnRule), precedence.LevelOf(precedence.Default, precedence.OnRule):
		return false
	}
	return true
}
