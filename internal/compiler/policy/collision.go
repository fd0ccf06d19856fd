package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
)

// HeldName is a session's name as it was written and as it was emitted in the last result.
type HeldName struct{ Written, Emitted string }

// HeldNames has them by the sessions' scopes.
type HeldNames map[string]HeldName

// HeldNames gives those of the sessions that are on.
func (d *Decisions) HeldNames() HeldNames {
	held := HeldNames{}
	for _, p := range d.Paths {
		if p.Name != "" && p.Withheld == "" {
			held[p.Scope] = HeldName{p.written, p.Name}
		}
	}
	return held
}

// claimedName is a name in one scope, with the sessions that are to have it: those of one rule on all listeners, or of all
// rules of an XBackend.
type claimedName struct {
	scope, name string
	members     []claimMember
	// rival is the first session that goes before and has the name, nil if there is none.
	rival *namedSession
}

// claimMember is a session, by its place among the configured ones.
type claimMember struct{ rule, session int }

// collisions are the names that several sessions claim, and what becomes of the younger ones.
type collisions struct {
	rules []*configuredRule
	order *seniority.Order
	held  HeldNames
	// withheld says why a session can't be.
	withheld map[*namedSession]string
}

// settleNames settles who has a name that several claim (S28, S29): the first goes on under it. Another's cookie gets a name
// that is qualified by its scope; another's header can't, and if it is of another namespace there is no session.
func settleNames(rules []*configuredRule, o Options) ([]*configuredRule, map[*namedSession]string) {
	c := &collisions{rules: slices.Clone(rules), order: o.Order, held: o.HeldNames, withheld: map[*namedSession]string{}}
	c.withholdLost()
	c.settleCookies()
	c.settleHeaders()
	return c.rules, c.withheld
}

// withholdLost withholds the sessions for which an override would hold that can't: limits from above do not fail open (S63).
func (c *collisions) withholdLost() {
	for _, r := range c.rules {
		for _, s := range r.sessions {
			if len(s.lost) > 0 {
				c.withheld[s.namedSession] = fmt.Sprintf("%s, whose override would hold here, has no room for %s in its status: "+
					"the rule has no session", s.lost[0], s.gateway)
			}
		}
	}
}

// settleCookies qualifies the names of cookies that would overwrite those of sessions that go before. Applications' own names
// are theirs: they go before all others, and several rules may have one.
func (c *collisions) settleCookies() {
	claims := c.listClaims((*configuredSession).isOwnCookie)
	own := c.listClaims(func(s *configuredSession) bool { return s.isCookie() && s.effective.Envelope() })
	all := newCookieIndex(c.listSessions(slices.Concat(own, claims)))
	for _, claim := range slices.Concat(own, claims) {
		c.addTo(all, claim)
	}
	contested := map[*claimedName]bool{}
	for _, claim := range claims {
		if c.findRival(all, claim) != nil || c.wasQualified(claim) {
			contested[claim] = true
		}
	}
	if len(contested) == 0 {
		return
	}
	accepted, younger := newCookieIndex(c.listSessions(slices.Concat(own, claims))), []*claimedName(nil)
	for _, claim := range own {
		c.addTo(accepted, claim)
	}
	for _, claim := range claims {
		if contested[claim] {
			younger = append(younger, claim)
		} else {
			c.addTo(accepted, claim)
		}
	}
	slices.SortStableFunc(younger, c.compare)
	for _, claim := range younger {
		c.settleCookie(claim, accepted, len(claims))
		c.addTo(accepted, claim)
	}
}

// settleCookie qualifies a name until no accepted one is equal. There are no more of these than claims.
func (c *collisions) settleCookie(claim *claimedName, accepted *cookieIndex, most int) {
	if c.wasQualified(claim) {
		c.rename(claim, c.held[claim.scope].Emitted)
	}
	for n := 0; n <= most; n++ {
		rival := c.findRival(accepted, claim)
		if rival == nil {
			return
		}
		if claim.rival == nil {
			claim.rival = rival
		}
		end := claim.scope
		if n > 0 {
			end = fmt.Sprintf("%s %d", claim.scope, n)
		}
		c.rename(claim, suffix(claim.name, end))
	}
}

// listClaims lists the names of sessions of one type, in the order of the rules. A rule that is refused claims none, nor
// does a session that is withheld.
func (c *collisions) listClaims(include func(*configuredSession) bool) (claims []*claimedName) {
	byName := map[[2]string]*claimedName{}
	for i, r := range c.rules {
		if r.isRefused() {
			continue
		}
		for j, s := range r.sessions {
			if !include(s) || c.withheld[s.namedSession] != "" {
				continue
			}
			key := [2]string{s.scope, s.name}
			if byName[key] == nil {
				byName[key] = &claimedName{scope: s.scope, name: s.name}
				claims = append(claims, byName[key])
			}
			byName[key].members = append(byName[key].members, claimMember{i, j})
		}
	}
	return claims
}

// session is the one at a place.
func (c *collisions) session(m claimMember) *namedSession {
	return c.rules[m.rule].sessions[m.session].namedSession
}

func (c *collisions) listSessions(claims []*claimedName) (all []*namedSession) {
	for _, claim := range claims {
		for _, m := range claim.members {
			all = append(all, c.session(m))
		}
	}
	return all
}

func (c *collisions) addTo(index *cookieIndex, claim *claimedName) {
	for _, m := range claim.members {
		index.addSession(c.session(m))
	}
}

func (c *collisions) findRival(index *cookieIndex, claim *claimedName) *namedSession {
	for _, m := range claim.members {
		if rival := index.findRival(c.session(m)); rival != nil {
			return rival
		}
	}
	return nil
}

// wasQualified reports whether the name had a suffix in the last result. It keeps it while limpet watches, for taking the
// plain name would end the sessions.
func (c *collisions) wasQualified(claim *claimedName) bool {
	h := c.held[claim.scope]
	return h.Written == claim.name && h.Emitted != claim.name
}

// compare puts the claim that goes first before the other: the incumbent's, then the older route's, then by the rules' order.
func (c *collisions) compare(a, b *claimedName) int {
	if was := c.isIncumbent(a); was != c.isIncumbent(b) {
		if was {
			return -1
		}
		return 1
	}
	x, y := c.session(a.members[0]), c.session(b.members[0])
	return cmp.Or(c.order.Compare(x.route.Origin(), y.route.Origin()), cmp.Compare(x.rule, y.rule))
}

func (c *collisions) isIncumbent(claim *claimedName) bool {
	return c.held[claim.scope].Emitted == claim.name
}

// rename gives all sessions of a claim another name.
func (c *collisions) rename(claim *claimedName, name string) {
	for _, m := range claim.members {
		r := c.rules[m.rule]
		c.rules[m.rule] = configureRule(r.named.rename(m.session, claim, name))
	}
}

// rename gives the rule with another name for one of its sessions.
func (n *namedRule) rename(session int, claim *claimedName, name string) *namedRule {
	s := *n.sessions[session]
	s.name, s.suffixRule, s.written = name, "S28", claim.name
	s.cookie = s.findCookieExtent()
	rename := Rename{Route: s.route, Rule: s.rule, SemanticsRule: "S28", From: claim.name, To: name, At: s.namePath()}
	if s.nameField != nil {
		rename.By = s.nameField.FieldValue
	}
	if claim.rival != nil {
		rename.Rival = fmt.Sprintf("%s rule %d", claim.rival.route, claim.rival.rule)
	}
	renames := slices.DeleteFunc(slices.Clone(n.renames), func(r Rename) bool {
		return r.SemanticsRule == "S28" && r.From == claim.name // an earlier try
	})
	q := &namedRule{resolved: n.resolved, sessions: slices.Clone(n.sessions), renames: append(renames, rename)}
	q.sessions[session] = &s
	return q
}

// settleHeaders withholds the sessions whose header is that of another namespace's, on a Gateway and host that both serve: a
// client that keeps one value of a header for an origin would lose the other's session with each request.
func (c *collisions) settleHeaders() {
	claims := c.listClaims(func(s *configuredSession) bool { return !s.isCookie() })
	if len(claims) < 2 {
		return
	}
	slices.SortStableFunc(claims, c.compare)
	var all []*namedSession
	for _, s := range c.listSessions(claims) {
		all = append(all, s.asHeader())
	}
	accepted := newCookieIndex(all)
	for _, claim := range claims {
		var rival *namedSession
		for _, m := range claim.members {
			if rival == nil {
				rival = accepted.findRival(c.session(m).asHeader())
			}
		}
		for _, m := range claim.members {
			if rival != nil {
				c.withheld[c.session(m)] = fmt.Sprintf("the header %s is that of %s rule %d, which goes first, and a client may reach both: "+
					"the rule has no session", claim.name, rival.route, rival.rule)
				continue
			}
			accepted.addSession(c.session(m).asHeader())
		}
	}
}

// asHeader is the session as one that meets those of other namespaces at its hostnames on its Gateway, whatever the paths.
func (s *namedSession) asHeader() *namedSession {
	h := *s
	h.scope, h.cookie = s.route.Namespace, cookieExtent{paths: []string{""}}
	for _, hostname := range s.hostnames {
		h.cookie.locations = append(h.cookie.locations, cookieLocation{strings.ToLower(s.name), s.gateway.Key(), hostname})
	}
	return &h
}

// namePath is the field of the route that a message about the session's name is best put at.
func (s *namedSession) namePath() string {
	if s.nameField != nil && s.nameField.Origin.Ref == s.route.Origin().Ref {
		return s.nameField.Path
	}
	return s.fieldPath().String()
}
