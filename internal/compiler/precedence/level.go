package precedence

// Level is a place in the order of precedence (S5). 1 is the strongest.
type Level uint8

// The levels that no SessionPersistencePolicy has. [LevelOf] gives the others.
const (
	// InlineRule is the rule's own sessionPersistence.
	InlineRule Level = 9
	// InlineXBackend is an XBackend's own sessionPersistence.
	InlineXBackend Level = 14
	// BackendTraffic is the sessionPersistence of an XBackendTrafficPolicy.
	BackendTraffic Level = 15
	// BuiltIn is below every document: it is effective where no document writes anything.
	BuiltIn Level = 28
)

// HierarchyLevel is what a policy is attached to, from the top of the hierarchy to its bottom (S2).
type HierarchyLevel uint8

// The levels.
const (
	OnGatewayClass HierarchyLevel = iota
	OnGateway
	OnListener
	OnNamespace
	OnRoute
	OnRule
	OnService
	OnPort
)

// Part is one of the blocks that a SessionPersistencePolicy may hold.
type Part uint8

// The parts: the fields of the spec itself, and those below spec.override and spec.default.
const (
	Override Part = iota
	Plain
	Default
)

var precedenceTable = [...][8]Level{
	Override: {
		OnGatewayClass: 1,
		OnGateway:      2,
		OnListener:     3,
		OnNamespace:    4,
		OnRoute:        5,
		OnRule:         6,
		OnService:      7,
		OnPort:         8,
	},
	Plain: {
		OnRule:         10,
		OnRoute:        11,
		OnPort:         12,
		OnService:      13,
		OnNamespace:    16,
		OnListener:     17,
		OnGateway:      18,
		OnGatewayClass: 19,
	},
	Default: {
		OnPort:         20,
		OnService:      21,
		OnRule:         22,
		OnRoute:        23,
		OnNamespace:    24,
		OnListener:     25,
		OnGateway:      26,
		OnGatewayClass: 27,
	},
}

var (
	partNames      = [...]string{Override: "override", Plain: "plain", Default: "default"}
	hierarchyNames = [...]string{
		OnGatewayClass: "the GatewayClass", OnGateway: "the Gateway", OnListener: "the listener",
		OnNamespace: "the Namespace",
		OnRoute:     "the route", OnRule: "the rule", OnService: "the Service", OnPort: "the Service's port",
	}
	precedenceNames = nameLevels()
)

// LevelOf is the level of a part of a SessionPersistencePolicy that is attached there in the hierarchy.
func LevelOf(p Part, l HierarchyLevel) Level { return precedenceTable[p][l] }

// IsOverride reports whether it is one of overrides.
func (r Level) IsOverride() bool { return r >= 1 && r <= 8 }

// hierarchy is what blocks of the level are attached to.
func (r Level) hierarchy() HierarchyLevel {
	switch r {
	case InlineRule:
		return OnRule
	case InlineXBackend, BackendTraffic:
		return OnService
	}
	for _, levels := range precedenceTable {
		for l, level := range levels {
			if level == r {
				return HierarchyLevel(l)
			}
		}
	}
	return OnGatewayClass
}

// IsOnService reports whether the level belongs to a Service, a port of one, or an XBackend with a policy, so that it
// brings no path of its own (S23) and may hold the policies of several Services (S15).
func (r Level) IsOnService() bool {
	l := r.hierarchy()
	return (l == OnService || l == OnPort) && r != InlineXBackend && r != BuiltIn
}

// String says which block it is and on what, such as "override on the Gateway".
func (r Level) String() string {
	if int(r) < len(precedenceNames) {
		return precedenceNames[r]
	}
	return ""
}

func nameLevels() (names [BuiltIn + 1]string) {
	for part, levels := range precedenceTable {
		for level, r := range levels {
			names[r] = partNames[part] + " on " + hierarchyNames[level]
		}
	}
	names[InlineRule] = "inline in the rule"
	names[InlineXBackend] = "inline in the XBackend"
	names[BackendTraffic] = "XBackendTrafficPolicy"
	names[BuiltIn] = "built in"
	return names
}
