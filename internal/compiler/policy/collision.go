package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
)

// cookieIndex finds cookies that some client would take for one another (S28). It is filled in the order of age.
type cookieIndex struct {
	// wildcards are the hostnames of all cookies that stand for several hosts, and pathless says that one has no path.
	wildcards map[string]bool
	pathless  bool
	// at holds the cookies of each hostname, if some stand for several hosts; below those of the hostnames that one
	// covers, itself included.
	at, below map[cookieLocationPath]scopePair
}

// cookieLocation is where cookies of one name and Domain meet.
type cookieLocation struct{ name, domain, hostname string }

// cookieLocationPath is a path there; anyPath is any of them, which is there if some cookie has no path.
type cookieLocationPath struct {
	cookieLocation
	path string
}

const anyPath = "*"

// scopePair are the first cookie and the first of another scope: enough to find one of a scope that is not one's own.
type scopePair struct{ first, other *Session }

// newCookieIndex makes one for some of the sessions.
func newCookieIndex(sessions []*Session) *cookieIndex {
	c := &cookieIndex{at: map[cookieLocationPath]scopePair{}, below: make(map[cookieLocationPath]scopePair, len(sessions))}
	for _, s := range sessions {
		c.pathless = c.pathless || slices.Contains(s.pathByMatch, "")
		for _, key := range s.locations {
			if !strings.HasPrefix(key.hostname, "*") {
				continue
			}
			if c.wildcards == nil {
				c.wildcards = map[string]bool{}
			}
			c.wildcards[key.hostname] = true
		}
	}
	return c
}

// cookieLocations gives where a session's cookie is seen: its name and Domain at each of its hostnames, or with a Domain
// everywhere below that, whatever the hostname.
func (s *Session) cookieLocations() []cookieLocation {
	domain, _ := s.cookieDomain()
	if domain != "" {
		return []cookieLocation{{s.Name, strings.ToLower(domain), "*"}}
	}
	var keys []cookieLocation
	for _, h := range s.rule.hostnames {
		keys = append(keys, cookieLocation{s.Name, "", h})
	}
	return keys
}

// cookieDomain is the cookie's Domain attribute, and where it is written.
func (s *Session) cookieDomain() (string, bool) {
	f := s.Effective.Field("cookie.domain")
	if f == nil {
		return "", false
	}
	domain, is := f.Value.(string)
	return domain, is && domain != ""
}

// widerHostnames gives the hostnames that cover another and are those of some cookie.
func (c *cookieIndex) widerHostnames(hostname string) []string {
	if len(c.wildcards) == 0 {
		return nil
	}
	return slices.DeleteFunc(gateway.Coverings(hostname), func(h string) bool { return h == hostname || !c.wildcards[h] })
}

func (c *cookieIndex) addSession(s *Session) {
	for _, key := range s.locations {
		c.addAt(c.below, key, s)
		if len(c.wildcards) == 0 {
			continue
		}
		c.addAt(c.at, key, s)
		for _, wider := range c.widerHostnames(key.hostname) {
			c.addAt(c.below, cookieLocation{key.name, key.domain, wider}, s)
		}
	}
}

func (c *cookieIndex) addAt(spots map[cookieLocationPath]scopePair, spot cookieLocation, s *Session) {
	note := func(path string) {
		key := cookieLocationPath{spot, path}
		switch r := spots[key]; {
		case r.first == nil:
			spots[key] = scopePair{first: s}
		case r.first.Scope != s.Scope && r.other == nil:
			spots[key] = scopePair{r.first, s}
		}
	}
	if c.pathless {
		note(anyPath)
	}
	for _, path := range s.pathByMatch {
		note(path)
	}
}

// findRival gives a cookie of another scope that a client could take for a session's; nil if there is none.
func (c *cookieIndex) findRival(s *Session) *Session {
	for _, key := range s.locations {
		if r := c.findRivalAt(c.below, key, s); r != nil {
			return r
		}
		for _, wider := range c.widerHostnames(key.hostname) {
			if r := c.findRivalAt(c.at, cookieLocation{key.name, key.domain, wider}, s); r != nil {
				return r
			}
		}
	}
	return nil
}

func (c *cookieIndex) findRivalAt(spots map[cookieLocationPath]scopePair, spot cookieLocation, s *Session) *Session {
	for _, path := range s.pathByMatch {
		meets := []string{path, ""}
		switch {
		case path == "":
			meets = []string{anyPath}
		case !c.pathless:
			meets = meets[:1]
		}
		for _, m := range meets {
			at := spots[cookieLocationPath{spot, m}]
			for _, r := range []*Session{at.first, at.other} {
				if r != nil && r.Scope != s.Scope {
					return r
				}
			}
		}
	}
	return nil
}

// findColliding gives the scopes among sessions whose cookies collide with one another.
func findColliding(sessions []*Session) map[string]bool {
	all := newCookieIndex(sessions)
	for _, s := range sessions {
		all.addSession(s)
	}
	found := map[string]bool{}
	for _, s := range sessions {
		if all.findRival(s) != nil {
			found[s.Scope] = true
		}
	}
	return found
}

// locateCookie notes where the session's cookie is seen under its name.
func (s *Session) locateCookie() { s.pathByMatch, s.locations = s.cookiePaths(), s.cookieLocations() }

// rejectCookieCollisions refuses the younger of two rules whose cookies collide; the older one's session stands.
func (d *decider) rejectCookieCollisions() {
	accepted := newCookieIndex(d.cookieSessions())
	for _, r := range d.order {
		if r.Refused {
			continue
		}
		var own *cookieIndex // among several
		if len(r.Sessions) > 1 {
			own = newCookieIndex(r.Sessions)
		}
		for _, s := range r.Sessions {
			if !s.isCookie() || r.Refused {
				continue
			}
			rival := accepted.findRival(s)
			if own != nil {
				rival = cmp.Or(rival, own.findRival(s))
				own.addSession(s)
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
				accepted.addSession(s)
			}
		}
	}
}

// cookieSessions are the sessions in cookies.
func (d *decider) cookieSessions() []*Session {
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
	if s.nameValue.Origin.Ref == s.Route.Origin().Ref {
		return s.nameValue.Path
	}
	return s.rulePath().String()
}
