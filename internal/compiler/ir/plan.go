package ir

import (
	"fmt"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Plan is what every target is written from.
type Plan struct {
	// Proxy is the whole configuration of a proxy; nil for a target whose control plane makes listeners, routes and
	// clusters itself. The other fields are for such a target, which adds sessions to what the control plane makes.
	Proxy *Config
	// Rules are those that requests reach, each once on each listener: by the listener's key, then the older route
	// first, then by index. Most have no session; yet they have names that those with one must not share.
	Rules []*AttachedRule
	// Compare puts the one of two objects first that was there first.
	Compare func(a, b object.Origin) int
	// Gateways are those of Rules, the older first.
	Gateways []*Gateway
	// Routes are all route objects of the input: those of Gateway API, the older first, then the VirtualServices of Rules.
	Routes []*RouteObject
	// Objects are the input's objects of other kinds, by kind, the older first.
	Objects map[string][]*Object
	// Written are the input's objects of kinds that limpet writes, by name.
	Written map[object.Ref]*WrittenObject
}

// WrittenObject is an object of a kind that limpet writes.
type WrittenObject struct {
	Subject report.Subject
	// Ours says that limpet wrote it, and Owner for whom; empty where that was not said.
	Ours  bool
	Owner string
}

// CheckOwner reports an error where an object that is about to be written, for an owner, is in the input as another's.
func (p *Plan) CheckOwner(ref object.Ref, owner string, rep *report.Report) {
	const cure = "compile the inputs of both together, or leave the Gateway to one of them; " +
		"to take the object over, delete it first"
	was := p.Written[ref]
	switch {
	case was == nil, was.Ours && (was.Owner == "" || was.Owner == owner):
	case !was.Ours:
		rep.FailAt(was.Subject, "metadata.labels", fmt.Sprintf("limpet would write %s, and this one is not limpet's: rename it", ref))
	default:
		rep.FailAt(was.Subject, "metadata.labels", fmt.Sprintf(
			"limpet would write %s for the owner %q, and it is %q's: %s", ref, owner, was.Owner, cure))
	}
}

// Object is an object of the input.
type Object struct {
	object.Ref
	// Subject is the object as problems name it, and knows the lines of its fields.
	Subject report.Subject
	// Origin says how old it is.
	Origin object.Origin
	Labels map[string]string
	// JSON is the object as it was read, without its status, for those who write it again with something added.
	JSON []byte
}
