package ir

import "github.com/limpet-proxy/limpet/internal/compiler/object"

// RouteObject is a route object of the input.
type RouteObject struct {
	Object
	// Rules are all of its rules, whether requests reach them or not.
	Rules []*Rule
	// InlineSessions are the session persistence that stands in it, by path.
	InlineSessions []InlineSession
}

// InlineSession is session persistence that stands in a route.
type InlineSession struct {
	// Path leads to it, such as spec.rules[0].sessionPersistence.
	Path string
	// SessionName is the name that it gives; empty for none.
	SessionName string
}

// Rule is a rule of a route object. Two rules are the same if their pointers are.
type Rule struct {
	Route *RouteObject
	Index int
	// Name is the rule's own; empty for none.
	Name string
	// MatchNames has an entry for each match in the document: its name, empty for none. A rule without matches has one
	// that every request meets.
	MatchNames []string
	// Backends has an entry for each backendRef, in their order.
	Backends []BackendRef
	// Delegates says that another route object has the rule's routes.
	Delegates bool
	// Retries says that it asks for requests that fail to be tried again.
	Retries bool
	// RetriesCodes says that it asks so for requests that hosts answer with some status.
	RetriesCodes bool
	// Mirrors says that others get copies of its requests.
	Mirrors bool
	// CORS is what the rule itself says of CORS; nil for nothing.
	CORS *CORS
}

// CountMatches is how many matches the rule has, be they written or not.
func (r *Rule) CountMatches() int { return max(1, len(r.MatchNames)) }

// DistinctBackends are the backends that the rule leads to, each once, in the order of its backendRefs.
func (r *Rule) DistinctBackends() []*Backend {
	var found []*Backend
	seen := map[*Backend]bool{}
	for _, ref := range r.Backends {
		if ref.Backend != nil && !seen[ref.Backend] {
			seen[ref.Backend] = true
			found = append(found, ref.Backend)
		}
	}
	return found
}

// BackendRef is a backend of a rule and its share.
type BackendRef struct {
	// Kind is as it is written; empty for a Service.
	Kind string
	// Backend is nil where the reference leads nowhere.
	Backend *Backend
	Weight  int32
}

// Backend is what backendRefs lead to. Two are the same if their pointers are.
type Backend struct {
	object.Ref
	// Port is 0 where it is not known.
	Port int32
	// Subset is the name of a part of the hosts; empty for all.
	Subset string
	// Tag is what tokens name it by.
	Tag uint32
}

// AttachedRule is a rule on one listener that its route is attached to.
type AttachedRule struct {
	*Rule
	Listener *GatewayListener
	// Hostnames are those that the route and the listener have in common, in order; "*" is every host.
	Hostnames []string
	// Sessions are the rule's sessions there. Listeners with the same sessions share one value.
	Sessions *RuleSessions
}
