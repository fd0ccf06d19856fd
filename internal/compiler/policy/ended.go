package policy

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// EndedSessions are the sessions of a scope that an edit of the input ends, or whose cookies it moves.
type EndedSessions struct {
	// Route is the route whose sessions they are, as it is after the edit if it still is there, else as it was, and then
	// Gone is true.
	Route *gateway.Route
	Gone  bool
	// Rule is the index of the rule in it, -1 if the rule is not there any more. Had are the rules that had the sessions
	// before the edit, by the scopes that they would have by themselves.
	Rule int
	Had  []string
	// Why says what ends them.
	Why string
}

// Path leads to the rule in the route.
func (e *EndedSessions) Path() string {
	if e.Rule < 0 {
		return "spec.rules"
	}
	return fmt.Sprintf("spec.rules[%d]", e.Rule)
}

// Sessions is what of decisions says which sessions there are.
type Sessions struct {
	paths   []*Decision // those with a session
	routes  []*gateway.Route
	cookies map[string]keptCookies
}

// Sessions gives what of the decisions says which sessions there are.
func (d *Decisions) Sessions() *Sessions {
	s := &Sessions{cookies: d.indexCookies()}
	for _, path := range d.Paths {
		if path.Scope != "" && len(path.Policies) > 0 {
			s.paths = append(s.paths, path)
		}
	}
	known := map[*gateway.Route]bool{}
	for key := range d.rules {
		if !known[key.route] {
			known[key.route] = true
			s.routes = append(s.routes, key.route)
		}
	}
	return s
}

// LongLived lists, by route, the sessions that may go on without a request for longer than a time. None of them has
// ended.
func (s *Sessions) LongLived(unused time.Duration) (all []EndedSessions) {
	for _, path := range s.paths {
		if longest := path.Policies[0].LongestUnused(); longest == 0 || longest > unused {
			all = append(all, EndedSessions{Route: path.Route, Rule: path.Rule, Had: []string{path.ownScope()}})
		}
	}
	return all
}

// FindEndedSessions compares what was decided before an edit of the input with what is decided after it. A session that
// the edit lets live has its scope and its name, in the same cookie or header.
func FindEndedSessions(before, after []*Sessions) (ended []EndedSessions) {
	now, wereKept := newSessionIndex(after), joinCookies(before)
	type place struct {
		route object.Ref
		key   string
	}
	reported := map[place]int{}
	for _, s := range before {
		for _, was := range s.paths {
			e, key := now.findEnd(was, wereKept[was.Scope])
			at := place{was.Route.Ref(), key}
			switch i, known := reported[at]; {
			case e == nil:
			case !known:
				reported[at] = len(ended)
				ended = append(ended, *e)
			case !slices.Contains(ended[i].Had, e.Had[0]):
				ended[i].Had = append(ended[i].Had, e.Had[0])
			}
		}
	}
	return ended
}

// joinCookies gives where cookies are in all of some decisions.
func joinCookies(of []*Sessions) map[string]keptCookies {
	if len(of) == 1 {
		return of[0].cookies
	}
	all := map[string]keptCookies{}
	for _, s := range of {
		for scope, c := range s.cookies { // an XBackend's may be in several
			kept := all[scope]
			all[scope] = keptCookies{slices.Concat(kept.paths, c.paths), slices.Concat(kept.hosts, c.hosts)}
		}
	}
	return all
}

// sessionIndex is the sessions after an edit: by their scope, route and listener, since policies of listeners may be
// others; for those of a listener that is not there by their scope and route, and for those of a route that is not
// there by their scope alone.
type sessionIndex struct {
	byListener map[scopeOnListener]*Decision
	byRoute    map[scopeOnRoute][]*Decision
	byScope    map[string][]*Decision
	cookies    map[string]keptCookies
	rules      func() *ruleIndex // which takes long to make, and is asked for where sessions are lost or shared
}

type scopeOnRoute struct {
	scope string
	route object.Ref
}

type scopeOnListener struct {
	scopeOnRoute
	gateway  object.Ref
	listener string
}

func (d *Decision) onRoute() scopeOnRoute { return scopeOnRoute{d.Scope, d.Route.Ref()} }

func (d *Decision) onListener() scopeOnListener {
	return scopeOnListener{d.onRoute(), d.Path.Gateway, d.Path.Listener}
}

func newSessionIndex(of []*Sessions) *sessionIndex {
	x := &sessionIndex{
		byListener: map[scopeOnListener]*Decision{}, byRoute: map[scopeOnRoute][]*Decision{},
		byScope: map[string][]*Decision{},
		cookies: joinCookies(of),
	}
	for _, s := range of {
		for _, path := range s.paths {
			at := path.onRoute()
			x.byListener[path.onListener()] = path
			x.byRoute[at], x.byScope[path.Scope] = append(x.byRoute[at], path), append(x.byScope[path.Scope], path)
		}
	}
	x.rules = sync.OnceValue(func() *ruleIndex { return newRuleIndex(of) })
	return x
}

// findAfter gives where the sessions of a path are after the edit, nil if nowhere: of several places one where they
// live on, if there is one.
func (x *sessionIndex) findAfter(was *Decision) *Decision {
	if is := x.byListener[was.onListener()]; is != nil {
		return is
	}
	places := x.byRoute[was.onRoute()]
	if len(places) == 0 {
		places = x.byScope[was.Scope]
	}
	if len(places) == 0 {
		return nil
	}
	i := slices.IndexFunc(
		places,
		func(is *Decision) bool { return describeDifference(&was.Policies[0], &is.Policies[0]) == "" },
	)
	return places[max(i, 0)]
}

// findEnd says what has ended the sessions of a path, nil for nothing, and the key by which they are told of once in a
// route.
func (x *sessionIndex) findEnd(was *Decision, kept keptCookies) (e *EndedSessions, key string) {
	is := x.findAfter(was)
	e, key = &EndedSessions{Route: was.Route, Rule: -1}, was.Scope
	var own *Decision
	if is == nil || is.ofRoute || was.ofRoute {
		own = x.rules().findRebound(was)
	}
	switch {
	case own != nil:
		e.Route, e.Rule = own.Route, own.Rule
		e.Why = fmt.Sprintf(
			"its sessions belonged to %s and belong to %s (spec.scope of a policy for the route)",
			was.Scope,
			own.Scope,
		)
		key += " in " + own.Scope
	case is != nil:
		e.Route, e.Rule = is.Route, is.Rule
		if e.Why = describeDifference(&was.Policies[0], &is.Policies[0]); e.Why == "" {
			e.Why = describeMove(kept, x.cookies[was.Scope])
		}
	default:
		e.Route, e.Rule, e.Why = describeLoss(was, x.rules())
		e.Gone = x.rules().routes[was.Route.Ref()] == nil
	}
	if e.Why == "" {
		return nil, key
	}
	e.Had = []string{was.ownScope()}
	return e, key
}
