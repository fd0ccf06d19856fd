package policy

import "fmt"

// cookieCollisions are the refusals of sessions whose cookies would overwrite those of older rules.
type cookieCollisions map[*configuredSession]Refusal

// detectCollisions refuses the younger of two rules whose cookies collide; the older one's session stays (S28). The rules are
// in the order of age.
func detectCollisions(rules []*configuredRule) cookieCollisions {
	found := cookieCollisions{}
	accepted := newCookieIndex(listCookies(rules...))
	for _, r := range rules {
		if r.isRefused() {
			continue
		}
		if s, rival := r.findRival(accepted); rival != nil {
			found[s] = newCollision(s, rival)
			continue
		}
		for _, s := range r.sessions {
			if s.isCookie() {
				accepted.addSession(s.namedSession)
			}
		}
	}
	return found
}

// findRival gives the first of the rule's sessions whose cookie meets another, and that one: of an older rule, or of another
// of the rule's backends. Without any both are nil.
func (r *configuredRule) findRival(accepted *cookieIndex) (*configuredSession, *namedSession) {
	var own *cookieIndex
	if len(r.sessions) > 1 {
		own = newCookieIndex(listCookies(r))
	}
	for _, s := range r.sessions {
		if !s.isCookie() {
			continue
		}
		rival := accepted.findRival(s.namedSession)
		if rival == nil && own != nil {
			rival = own.findRival(s.namedSession)
			own.addSession(s.namedSession)
		}
		if rival != nil {
			return s, rival
		}
	}
	return nil, nil
}

// listCookies gives the sessions in cookies.
func listCookies(rules ...*configuredRule) (cookies []*namedSession) {
	for _, r := range rules {
		for _, s := range r.sessions {
			if s.isCookie() {
				cookies = append(cookies, s.namedSession)
			}
		}
	}
	return cookies
}

func newCollision(s *configuredSession, rival *namedSession) Refusal {
	why := "which is older"
	if rival.route.Created.Equal(s.route.Created) {
		why = "which comes first"
	}
	other := fmt.Sprintf("%s rule %d, %s", rival.route, rival.rule, why)
	if rival.route == s.route && rival.rule == s.rule {
		other = "another backend of the same rule"
	}
	return Refusal{s.namePath(), fmt.Sprintf(
		"the cookie %q would overwrite that of %s: "+
			"their names, Domains and paths are the same or one has no path, and a client may reach both",
		s.name, other)}
}

// namePath is the field of the route that a message about the session's name is best put at.
func (s *namedSession) namePath() string {
	if s.nameField != nil && s.nameField.Origin.Ref == s.route.Origin().Ref {
		return s.nameField.Path
	}
	return s.fieldPath().String()
}
