package precedence

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// TrafficPath is one path that a request can take: through a listener to a rule and, in 1.7, on to one backend. Each is
// resolved on its own (S6).
type TrafficPath struct {
	// Class is the name of the Gateway's class.
	Class    string
	Gateway  object.Ref
	Listener string
	Route    object.Ref
	// Rule is the rule's name, empty if it has none.
	Rule string
	// Backends are the Services and XBackends that the session spans, each with the name of its port if that has one:
	// every one of the rule's up to 1.6 and for the seed (S15, S36), a single one in 1.7.
	Backends []object.TargetRef
}

// Targets are all that a policy can be attached to on the path, and nothing else, so that no policy spills (S16).
func (p TrafficPath) Targets() []object.TargetRef {
	all := append(make([]object.TargetRef, 0, 6+2*len(p.Backends)),
		object.TargetRef{Ref: object.Ref{Kind: object.KindGatewayClass, Name: p.Class}},
		object.TargetRef{Ref: p.Gateway},
		object.TargetRef{Ref: p.Gateway, Section: p.Listener},
		object.TargetRef{Ref: object.Ref{Kind: object.KindNamespace, Name: p.Route.Namespace}},
		object.TargetRef{Ref: p.Route},
		object.TargetRef{Ref: p.Route, Section: p.Rule},
	)
	for _, b := range p.Backends {
		if all = append(all, object.TargetRef{Ref: b.Ref}); b.Section != "" {
			all = append(all, b)
		}
	}
	return all
}

// IsOfClass reports whether requests come through a Gateway of a class; empty is any.
func (p TrafficPath) IsOfClass(class string) bool { return class == "" || class == p.Class }

// Index holds blocks by what they attach to. A rule's inline block belongs to that rule alone and needs no index.
type Index map[object.TargetRef][]SettingsBlock

// Add takes in the blocks at a target. It does not write to them.
func (x Index) Add(target object.TargetRef, blocks []SettingsBlock) {
	if there, some := x[target]; some {
		x[target] = append(there, blocks...)
	} else {
		x[target] = slices.Clip(blocks)
	}
}

// BlocksOn gives the blocks that a request meets on its path, in no particular order.
func (x Index) BlocksOn(w TrafficPath) []SettingsBlock {
	var blocks []SettingsBlock
	targets := w.Targets()
	for i, t := range targets {
		if !slices.Contains(targets[:i], t) { // an unnamed rule is no section, and a Service may stand twice in a rule
			blocks = append(blocks, x[t]...)
		}
	}
	return slices.DeleteFunc(blocks, func(b SettingsBlock) bool { return !w.IsOfClass(b.Class) })
}
