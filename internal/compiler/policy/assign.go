package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
)

// assignedName is what becomes of a claim.
type assignedName struct {
	// shared is the name after S26: with a suffix where rules that share it would collide. text is the session's name,
	// after S28: with a suffix where a rule with the same name goes first. rival is that rule.
	shared, text string
	rival        string
	// withheld says why there is no session; empty if there is one.
	withheld string
}

// namedRule is a rule whose sessions have names. It does not change.
type namedRule struct {
	*claimedRule
	names []assignedName // one for each claim
}

// claimant is a scope and its claims to one name: those of one rule on all listeners, or of all rules of an XBackend.
type claimant struct {
	scope, name string
	claims      []*claim
}

// assignment is names on their way to those who claim them.
type assignment struct {
	held  HeldNames
	order *seniority.Order
	// claims are all of them, and valid those of sessions that can be: no other one has a name.
	claims, valid []*claim
	names         map[*claim]*assignedName
	logged        func(header string) bool
}

// assignNames gives each claim a name, once for all rules.
func assignNames(rules []*claimedRule, o Options) []*namedRule {
	a := &assignment{held: o.HeldNames, order: o.Order, names: map[*claim]*assignedName{}, logged: o.Logged}
	named := make([]*namedRule, len(rules))
	for i, r := range rules {
		named[i] = &namedRule{r, make([]assignedName, len(r.claims))}
		refused := r.isRefused()
		for j, c := range r.claims {
			named[i].names[j] = assignedName{shared: c.name, text: c.name, withheld: c.describeLost()}
			a.names[c] = &named[i].names[j]
			if a.claims = append(a.claims, c); !refused && len(c.lost) == 0 {
				a.valid = append(a.valid, c)
			}
		}
	}
	a.suffixShared()
	a.qualifyCookies()
	a.withholdHeaders()
	return named
}

// describeLost says that an override would hold for the session that can't: limits from above do not fail open (S63).
func (c *claim) describeLost() string {
	if len(c.lost) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"%s, whose override would hold here, has no room for %s in its status: the rule has no session",
		c.lost[0],
		c.gateway,
	)
}

// suffixShared suffixes a name that a policy above the rules gives to several of a namespace whose cookies would
// collide (S26). All of them get one, so that it does not matter which rule is read first; a scope has it on every
// path. A session keeps the name that it had, plain or with the suffix.
func (a *assignment) suffixShared() {
	groups := map[writtenName][]*claim{}
	for _, c := range a.claims {
		if name, shared := c.sharedName(); shared {
			groups[name] = append(groups[name], c)
		}
	}
	for _, claims := range groups {
		sharers := a.listClaimants(claims, (*claim).isOwnCookie)
		hadPlain := func(x *claimant) bool { return a.held[x.scope] == HeldName{Written: x.name, Emitted: x.name} }
		colliding := findColliding(sharers)
		still := findColliding(slices.DeleteFunc(slices.Clone(sharers), func(x *claimant) bool { return !hadPlain(x) }))
		for _, x := range sharers {
			hadSuffix := a.wasQualified(x) && a.held[x.scope].Emitted == suffix(x.name, x.scope)
			if colliding[x] && (still[x] || !hadPlain(x)) || hadSuffix {
				name := suffix(x.name, x.scope)
				for _, c := range x.claims {
					a.names[c].shared, a.names[c].text = name, name
				}
			}
		}
	}
}

// findColliding gives those of several claimants to one name whose cookies collide with one another.
func findColliding(all []*claimant) map[*claimant]bool {
	if len(all) < 2 {
		return nil
	}
	index, colliding := newNameIndex(all), map[*claimant]bool{}
	for _, x := range all {
		index.add(x, x.name)
	}
	for _, x := range all {
		colliding[x] = index.findRival(x, x.name) != nil
	}
	return colliding
}

// qualifyCookies gives a cookie's name that several scopes claim (S28) to the first, and the others get names
// that are qualified by their scopes. Applications' own names are theirs: they go before all others, and several rules
// may have one.
func (a *assignment) qualifyCookies() {
	own := a.listClaimants(a.valid, (*claim).isOwnCookie)
	everyone := append(a.listClaimants(a.valid, (*claim).isEnvelope), own...)
	all, contested := newNameIndex(everyone), map[*claimant]bool{}
	for _, x := range everyone {
		all.add(x, x.name)
	}
	for _, x := range own {
		if a.wasQualified(x) || all.findRival(x, x.name) != nil {
			contested[x] = true
		}
	}
	if len(contested) == 0 {
		return
	}
	accepted, younger := newNameIndex(everyone), []*claimant(nil)
	for _, x := range everyone {
		if contested[x] {
			younger = append(younger, x)
		} else {
			accepted.add(x, x.name)
		}
	}
	slices.SortStableFunc(younger, a.compare)
	for _, x := range younger {
		name, rival := a.qualify(x, accepted)
		for _, c := range x.claims {
			a.names[c].text, a.names[c].rival = name, rival
		}
		accepted.add(x, name)
	}
}

// qualify gives a name that no accepted one is equal to, and says whose the claimed one is.
func (a *assignment) qualify(x *claimant, accepted *nameIndex) (name, rival string) {
	name = x.name
	if a.wasQualified(x) {
		name = a.held[x.scope].Emitted
	}
	for n, end := 0, x.scope; n <= len(a.claims); n++ {
		first := accepted.findRival(x, name)
		if first == nil {
			break
		}
		if n > 0 {
			end = fmt.Sprintf("%s %d", x.scope, n)
		}
		rival, name = cmp.Or(rival, first.ruleName()), suffix(x.name, end)
	}
	return name, rival
}

// withholdHeaders withholds the sessions whose header is that of another namespace's, on a Gateway and host that both
// serve (S29): a client that keeps one value of a header for an origin would lose the other's session with each
// request. So it does those whose header is in an access log (S78): whoever reads that could be any of its users.
func (a *assignment) withholdHeaders() {
	headers := a.listClaimants(a.valid, func(c *claim) bool { return !c.isCookie() })
	slices.SortStableFunc(headers, a.compare)
	accepted := newNameIndex(headers)
	for _, x := range headers {
		if a.logged != nil && a.logged(x.name) {
			for _, c := range x.claims {
				a.names[c].withheld = fmt.Sprintf(
					"the header %s is in the access log, by --access-log-fields: the rule has no session",
					x.name,
				)
			}
			continue
		}
		rival := accepted.findRival(x, strings.ToLower(x.name))
		if rival == nil {
			accepted.add(x, strings.ToLower(x.name))
			continue
		}
		for _, c := range x.claims {
			a.names[c].withheld = fmt.Sprintf("the header %s is that of %s, which goes first, and a client may reach both: "+
				"the rule has no session", x.name, rival.ruleName())
		}
	}
}

// listClaimants lists those of some claims, in the order of the rules.
func (a *assignment) listClaimants(claims []*claim, include func(*claim) bool) (all []*claimant) {
	byName := map[[2]string]*claimant{}
	for _, c := range claims {
		if !include(c) {
			continue
		}
		key := [2]string{c.scope, a.names[c].shared}
		if byName[key] == nil {
			byName[key] = &claimant{scope: key[0], name: key[1]}
			all = append(all, byName[key])
		}
		byName[key].claims = append(byName[key].claims, c)
	}
	return all
}

// wasQualified reports whether the name had a suffix in the last result. It keeps it while limpet watches, for taking
// the plain name would end the sessions.
func (a *assignment) wasQualified(x *claimant) bool {
	h := a.held[x.scope]
	return h.Written == x.name && h.Emitted != x.name
}

// compare puts the claimant that goes first before the other: the one that had the name, then the older route's, then
// by the rules' order.
func (a *assignment) compare(x, y *claimant) int {
	if was := a.held[x.scope].Emitted == x.name; was != (a.held[y.scope].Emitted == y.name) {
		if was {
			return -1
		}
		return 1
	}
	c, d := x.claims[0], y.claims[0]
	return cmp.Or(a.order.Compare(c.route.Origin(), d.route.Origin()), cmp.Compare(c.rule, d.rule))
}
