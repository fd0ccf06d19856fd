package report

import (
	"slices"
	"strconv"
	"strings"
)

// Place is where in an object a problem is, as far as that decides what becomes of the object. The zero value is the
// object as a whole, and what is outside all sections.
type Place struct {
	Section Section
	// Index is that of the section's item; -1 for the list as a whole, and where the section is no list.
	Index int
	// InBackendRef says that it is in a reference to a backend, and InBalancing that it is in a load balancer policy.
	InBackendRef, InBalancing bool
}

// Section is a part of an object that a problem can affect alone.
type Section uint8

// The sections. Those without a comment are of routes.
const (
	NoSection Section = iota
	Rules
	ParentRefs
	TargetRefs       // of a policy
	Listeners        // of a Gateway or a ListenerSet
	FrontendDefault  // how a Gateway's clients are verified, unless their port says otherwise
	FrontendPerPort  // and on one port
	GatewayBackend   // what a Gateway shows backends
	VirtualHost      // of an HTTPProxy
	ProxyConnections // of an HTTPProxy: where they lead
)

// sections are the sections by how paths to them begin. No beginning is that of another one.
var sections = []struct {
	path    string
	section Section
}{
	{"spec.rules", Rules},
	{"spec.routes", Rules},
	{"spec.parentRefs", ParentRefs},
	{"spec.targetRefs", TargetRefs},
	{"spec.listeners", Listeners},
	{"spec.tls.frontend.default", FrontendDefault},
	{"spec.tls.frontend.perPort", FrontendPerPort},
	{"spec.tls.backend", GatewayBackend},
	{"spec.virtualhost", VirtualHost},
	{"spec.tcpproxy", ProxyConnections},
}

// PlaceOf parses a field's path, which Kubernetes' field errors have as text. Nothing else parses it.
func PlaceOf(path string) Place {
	p := Place{
		InBackendRef: strings.Contains(path, ".backendRefs") || strings.Contains(path, ".services"),
		InBalancing:  strings.Contains(path, ".loadBalancerPolicy"),
	}
	for _, s := range sections {
		rest, begins := strings.CutPrefix(path, s.path)
		if begins && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			p.Section, p.Index = s.section, readIndex(rest)
			break
		}
	}
	return p
}

// readIndex reads the index that the rest of a path begins with; -1 for none.
func readIndex(rest string) int {
	rest, is := strings.CutPrefix(rest, "[")
	digits, _, closed := strings.Cut(rest, "]")
	if index, err := strconv.Atoi(digits); is && closed && err == nil {
		return index
	}
	return -1
}

// IsInItem reports whether a place is in some item of one of the sections.
func (p Place) IsInItem(sections ...Section) bool {
	return p.Index >= 0 && slices.Contains(sections, p.Section)
}

// IsIn reports whether a place is in an item of a section.
func (p Place) IsIn(s Section, index int) bool { return p.Section == s && p.Index == index }
