package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
)

// cookies finds cookies that some client would take for one another (S28). It is filled in the order of age.
type cookies struct {
	// wide are the hostnames of all cookies that stand for several hosts, and pathless says that one has no path.
	wide     map[string]bool
	pathless bool
	// at holds the cookies of each hostname, if some stand for several hosts; below those of the hostnames that one
	// covers, itself included.
	at, below map[pathKey]rivals
}

// spotKey is where cookies of one name and Domain meet.
type spotKey struct{ name, domain, hostname string }

// pathKey is a path there; anyPath is any of them, which is there if some cookie has no path.
type pathKey struct {
	spotKey
	path string
}

const anyPath = "*"

// rivals are the first cookie and the first of another scope: enough to find one of a scope that is not one's own.
type rivals struct{ first, other *Session }

// newCookies makes one for some of the sessions.
func newCookies(sessions []*Session) *cookies {
	c := &cookies{at: map[pathKey]rivals{}, below: make(map[pathKey]rivals, len(sessions))}
	for _, s := range sessions {
		c.pathless = c.pathless || slices.Contains(s.paths, "")
		for _, key := range s.spots {
			if !strings.HasPrefix(key.hostname, "*") {
				continue
			}
			if c.wide == nil {
				c.wide = map[string]bool{}
			}
			c.wide[key.hostname] = true
		}
	}
	return c
}

// places gives where a session's cookie is seen: its name and Domain at each of its hostnames, or with a Domain
// everywhere below that, whatever the hostname.
func (s *Session) places() []spotKey {
	domain, _ := s.domain()
	if domain != "" {
		return []spotKey{{s.Name, strings.ToLower(domain), "*"}}
	}
	var keys []spotKey
	for _, h := range s.rule.hostnames {
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

// wider gives the hostnames that cover another and are those of some cookie.
func (c *cookies) wider(hostname string) []string {
	if len(c.wide) == 0 {
		return nil
	}
	return slices.DeleteFunc(gateway.Coverings(hostname), func(h string) bool { return h == hostname || !c.wide[h] })
}

func (c *cookies) add(s *Session) {
	for _, key := range s.spots {
		c.put(c.below, key, s)
		if len(c.wide) == 0 {
			continue
		}
		c.put(c.at, key, s)
		for _, wider := range c.wider(key.hostname) {
			c.put(c.below, spotKey{key.name, key.domain, wider}, s)
		}
	}
}

func (c *cookies) put(spots map[pathKey]rivals, spot spotKey, s *Session) {
	note := func(path string) {
		key := pathKey{spot, path}
		switch r := spots[key]; {
		case r.first == nil:
			spots[key] = rivals{first: s}
		case r.first.Scope != s.Scope && r.other == nil:
			spots[key] = rivals{r.first, s}
		}
	}
	if c.pathless {
		note(anyPath)
	}
	for _, path := range s.paths {
		note(path)
	}
}

// rival gives a cookie of another scope that a client could take for a session's; nil if there is none.
func (c *cookies) rival(s *Session) *Session {
	for _, key := range s.spots {
		if r := c.among(c.below, key, s); r != nil {
			return r
		}
		for _, wider := range c.wider(key.hostname) {
			if r := c.among(c.at, spotKey{key.name, key.domain, wider}, s); r != nil {
				return r
			}
		}
	}
	return nil
}

func (c *cookies) among(spots map[pathKey]rivals, spot spotKey, s *Session) *Session {
	for _, path := range s.paths {
		meets := []string{path, ""}
		switch {
		case path == "":
			meets = []string{anyPath}
		case !c.pathless:
			meets = meets[:1]
		}
		for _, m := range meets {
			at := spots[pathKey{spot, m}]
			for _, r := range []*Session{at.first, at.other} {
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
	all := newCookies(sessions)
	for _, s := range sessions {
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

// see notes where the session's cookie is seen under its name.
func (s *Session) see() { s.paths, s.spots = s.cookiePaths(), s.places() }

// collide refuses the younger of two rules whose cookies collide; the older one's session stands.
func (d *decider) collide() {
	standing := newCookies(d.cookies())
	for _, r := range d.order {
		if r.Refused {
			continue
		}
		var own *cookies // among several
		if len(r.Sessions) > 1 {
			own = newCookies(r.Sessions)
		}
		for _, s := range r.Sessions {
			if !s.isCookie() || r.Refused {
				continue
			}
			rival := standing.rival(s)
			if own != nil {
				rival = cmp.Or(rival, own.rival(s))
				own.add(s)
			}
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

// cookies are the sessions in cookies.
func (d *decider) cookies() []*Session {
	var all []*Session
	for _, r := range d.order {
		for _, s := range r.Sessions {
			if s.isCookie() {
				all = append(all, s)
			}
		}
	}
	return all
}

// namePath is the field of the route that a message about the session's name is best put at.
func (s *Session) namePath() string {
	if s.named.Source.Object == s.Route.Source().Object {
		return s.named.Path
	}
	return s.rulePath().String()
}
