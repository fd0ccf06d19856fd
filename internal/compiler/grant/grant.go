// Package grant says which references may cross namespaces: those that a ReferenceGrant allows in the namespace that
// they lead to (Gateway API, ReferenceGrant).
package grant

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// From is what refers: a kind of Gateway API in a namespace.
type From struct{ Kind, Namespace string }

// To is what is referred to: an object of the core group.
type To struct{ Kind, Namespace, Name string }

// Grants are the ReferenceGrants of the input, by their namespace.
type Grants map[string][]*resource.Object[gatewayv1.ReferenceGrant]

// New gives the grants among the objects.
func New(objects *resource.Objects) Grants {
	g := Grants{}
	for _, o := range objects.Grants {
		g[o.Namespace] = append(g[o.Namespace], o)
	}
	return g
}

// Allow reports whether a reference may be followed. One within a namespace needs no grant.
func (g Grants) Allow(from From, to To) bool {
	if from.Namespace == to.Namespace {
		return true
	}
	for _, o := range g[to.Namespace] {
		if containsFrom(o.Value.Spec.From, from) && containsTo(o.Value.Spec.To, to) {
			return true
		}
	}
	return false
}

func containsFrom(list []gatewayv1.ReferenceGrantFrom, from From) bool {
	for _, f := range list {
		if f.Group == gatewayv1.GroupName && string(f.Kind) == from.Kind && string(f.Namespace) == from.Namespace {
			return true
		}
	}
	return false
}

// containsTo goes through what may be referred to; an entry without a name stands for every object of the kind.
func containsTo(list []gatewayv1.ReferenceGrantTo, to To) bool {
	for _, t := range list {
		if t.Group == "" && string(t.Kind) == to.Kind && (t.Name == nil || *t.Name == "" || string(*t.Name) == to.Name) {
			return true
		}
	}
	return false
}
