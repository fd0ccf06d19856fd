package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/compiler/gateway"
)

// cookies finds cookies that some client would take for one another (S28). It is filled in the order of age.
type cookies struct {
	// at holds the cookies of each hostname; below those of the hostnames that one covers, itself included.
	at, below map[spotKey]*spot
}

// spotKey is where cookies of one name and Domain meet.
type spotKey struct{ name, domain, hostname string }

// spot holds, by path, the first cookie and the first of another scope: enough to find one of a scope that is not
// one's own. The path "*" is any of them.
type spot struct{ first, other map[string]*Session }

const anyPath = "*"

func newCookies() *cookies { return &cookies{at: map[spotKey]*spot{}, below: map[spotKey]*spot{}} }

// places gives where a session's cookie is seen: its name and Domain at each of its hostnames, or with a Domain
// everywhere below that, whatever the hostname.
func (s *Session) places() []spotKey {
	domain, _ := s.domain()
	if domain != "" {
		return []spotKey{{s.Name, strings.ToLower(domain), "*"}}
	}
	var keys []spotKey
	for _, h := range s.rule.key.listener.Hostnames(s.Route) {
		keys = append(keys, spotKey{s.Name, "", h})
	}
	return keys
}

// domain is the cookie's Domain attribute, and where it is written.
func (s *Session) domain() (string, bool) {
	f := s.Effective.Field("cookie.domain")
	if f == nil {
		return "", false
	}
	domain, is := f.Value.(string)
	return domain, is && domain != ""
}

func (c *cookies) add(s *Session) {
	for _, key := range s.places() {
		put(c.at, key, s)
		for _, wider := range gateway.Coverings(key.hostname) {
			put(c.below, spotKey{key.name, key.domain, wider}, s)
		}
	}
}

func put(spots map[spotKey]*spot, key spotKey, s *Session) {
	p := spots[key]
	if p == nil {
		p = &spot{first: map[string]*Session{}, other: map[string]*Session{}}
		spots[key] = p
	}
	for _, path := range append(slices.Clone(s.paths), anyPath) {
		switch first := p.first[path]; {
		case first == nil:
			p.first[path] = s
		case first.Scope != s.Scope && p.other[path] == nil:
			p.other[path] = s
		}
	}
}

// rival gives a cookie of another scope that a client could take for a session's; nil if there is none.
func (c *cookies) rival(s *Session) *Session {
	for _, key := range s.places() {
		if r := c.below[key].rival(s); r != nil {
			return r
		}
		for _, wider := range gateway.Coverings(key.hostname) {
			if r := c.at[spotKey{key.name, key.domain, wider}].rival(s); r != nil {
				return r
			}
		}
	}
	return nil
}

func (p *spot) rival(s *Session) *Session {
	if p == nil {
		return nil
	}
	for _, path := range s.paths {
		meets := []string{path, ""}
		if path == "" {
			meets = []string{anyPath}
		}
		for _, m := range meets {
			for _, r := range []*Session{p.first[m], p.other[m]} {
				if r != nil && r.Scope != s.Scope {
					return r
				}
			}
		}
	}
	return nil
}

// colliding gives the scopes among sessions whose cookies collide with one another.
func colliding(sessions []*Session) map[string]bool {
	all := newCookies()
	for _, s := range sessions {
		s.paths = s.cookiePaths()
		all.add(s)
	}
	found := map[string]bool{}
	for _, s := range sessions {
		if all.rival(s) != nil {
			found[s.Scope] = true
		}
	}
	return found
}

// collide refuses the younger of two rules whose cookies collide; the older one's session stands.
func (d *decider) collide() {
	standing := newCookies()
	for _, r := range d.order {
		own := newCookies()
		for _, s := range r.Sessions {
			if !s.isCookie() || r.Refused {
				continue
			}
			rival := standing.rival(s)
			if rival == nil {
				rival = own.rival(s)
			}
			own.add(s)
			if rival != nil {
				s.Refusals = append(s.Refusals, Refusal{s.namePath(), fmt.Sprintf(
					"the cookie %q would overwrite that of %s rule %d, which is older: their names, Domains and paths are the same or one has no path, and a client may reach both",
					s.Name, rival.Route, rival.Rule)})
				r.Refused = true
			}
		}
		for _, s := range r.Sessions {
			if s.isCookie() && !r.Refused {
				standing.add(s)
			}
		}
	}
}

// namePath is the field of the route that a message about the session's name is best put at.
func (s *Session) namePath() string {
	if s.named.Source.Object == s.Route.Source().Object {
		return s.named.Path
	}
	return s.rulePath().String()
}
