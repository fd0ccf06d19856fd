package policy

import (
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
)

// cookieIndex finds cookies that some client would take for one another (S28). It is filled in the order of age.
type cookieIndex struct {
	// wildcards are the hostnames of cookies that stand for several hosts, and pathless says that a cookie has no path.
	wildcards map[string]bool
	pathless  bool
	// at holds the cookies of each hostname, if some stand for several hosts; below those of the hostnames that one
	// covers, itself included.
	at, below map[cookieLocationPath]scopePair
}

// cookieLocationPath is a path at a location; anyPath is any of them, which is there if a cookie has no path.
type cookieLocationPath struct {
	cookieLocation
	path string
}

const anyPath = "*"

// scopePair are the first cookie and the first of another scope: enough to find one of a scope that is not one's own.
type scopePair struct{ first, other *namedSession }

// newCookieIndex makes one for some of the sessions.
func newCookieIndex(sessions []*namedSession) *cookieIndex {
	c := &cookieIndex{at: map[cookieLocationPath]scopePair{}, below: make(map[cookieLocationPath]scopePair, len(sessions))}
	for _, s := range sessions {
		c.pathless = c.pathless || slices.Contains(s.cookie.paths, "")
		for _, key := range s.cookie.locations {
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

// widerHostnames gives the hostnames that cover another and are those of some cookie.
func (c *cookieIndex) widerHostnames(hostname string) []string {
	if len(c.wildcards) == 0 {
		return nil
	}
	return slices.DeleteFunc(gateway.Coverings(hostname), func(h string) bool { return h == hostname || !c.wildcards[h] })
}

func (c *cookieIndex) addSession(s *namedSession) {
	for _, key := range s.cookie.locations {
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

func (c *cookieIndex) addAt(spots map[cookieLocationPath]scopePair, spot cookieLocation, s *namedSession) {
	note := func(path string) {
		key := cookieLocationPath{spot, path}
		switch r := spots[key]; {
		case r.first == nil:
			spots[key] = scopePair{first: s}
		case r.first.scope != s.scope && r.other == nil:
			spots[key] = scopePair{r.first, s}
		}
	}
	if c.pathless {
		note(anyPath)
	}
	for _, path := range s.cookie.paths {
		note(path)
	}
}

// findRival gives a cookie of another scope that a client could take for a session's; nil if there is none.
func (c *cookieIndex) findRival(s *namedSession) *namedSession {
	for _, key := range s.cookie.locations {
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

func (c *cookieIndex) findRivalAt(spots map[cookieLocationPath]scopePair, spot cookieLocation, s *namedSession) *namedSession {
	for _, path := range s.cookie.paths {
		meets := []string{path, ""}
		switch {
		case path == "":
			meets = []string{anyPath}
		case !c.pathless:
			meets = meets[:1]
		}
		for _, m := range meets {
			at := spots[cookieLocationPath{spot, m}]
			for _, r := range []*namedSession{at.first, at.other} {
				if r != nil && r.scope != s.scope {
					return r
				}
			}
		}
	}
	return nil
}

// findColliding gives the scopes among sessions whose cookies collide with one another.
func findColliding(sessions []*namedSession) map[string]bool {
	all := newCookieIndex(sessions)
	for _, s := range sessions {
		all.addSession(s)
	}
	found := map[string]bool{}
	for _, s := range sessions {
		if all.findRival(s) != nil {
			found[s.scope] = true
		}
	}
	return found
}
