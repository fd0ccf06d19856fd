package resource

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// ListenerSet is an admitted ListenerSet.
type ListenerSet = Object[gatewayv1.ListenerSet]

var listenerSetKind = newKind(definition[gatewayv1.ListenerSet]{
	Traits: Traits{HasStatus: true},
	group:  gatewayv1.GroupName, kind: object.KindListenerSet, versions: []string{"v1"}, ownProxy: true, localFaults: true,
	fields: func() support.Fields {
		return support.Join(
			support.Under("spec.parentRef", support.All("group", "kind", "namespace", "name")),
			support.Under("spec.listeners[]", listenerFields()),
		)
	},
	findFaults: func(s *ListenerSet) (faults []Fault) {
		for i, entry := range s.Value.Spec.Listeners {
			l := EntryListener(entry)
			faults = append(faults, findOptionFaults(i, &l)...)
		}
		return faults
	},
	checkUnverified: func(s *gatewayv1.ListenerSet) (errs field.ErrorList) {
		for i, l := range s.Spec.Listeners {
			errs = append(errs, checkRange(field.NewPath("spec", "listeners").Index(i).Child("port"), l.Port, 1, 65535)...)
		}
		return errs
	},
	list: func(o *Objects) *[]*ListenerSet { return &o.ListenerSets },
})

// GatewayOf is the key of the Gateway that a ListenerSet is for; empty for a parent of another kind.
func GatewayOf(s *ListenerSet) string {
	ref := s.Value.Spec.ParentRef
	if ref.Kind != nil && *ref.Kind != object.KindGateway || ref.Group != nil && *ref.Group != gatewayv1.GroupName {
		return ""
	}
	if ref.Namespace != nil {
		return string(*ref.Namespace) + "/" + string(ref.Name)
	}
	return s.Namespace + "/" + string(ref.Name)
}

// SetsByGateway gives the ListenerSets for each Gateway, by its key.
func (o *Objects) SetsByGateway() map[string][]*ListenerSet {
	sets := map[string][]*ListenerSet{}
	for _, s := range o.ListenerSets {
		key := GatewayOf(s)
		sets[key] = append(sets[key], s)
	}
	return sets
}

// AllowsSet reports whether a Gateway takes listeners from a ListenerSet of its own. By default it takes none.
func (o *Objects) AllowsSet(g *Object[gatewayv1.Gateway], s *ListenerSet) bool {
	allowed := g.Value.Spec.AllowedListeners
	if allowed == nil || allowed.Namespaces == nil || allowed.Namespaces.From == nil {
		return false
	}
	switch *allowed.Namespaces.From {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return s.Namespace == g.Namespace
	case gatewayv1.NamespacesFromSelector:
		return o.selects(allowed.Namespaces.Selector, s.Namespace)
	default:
		return false
	}
}

// selects reports whether a selector selects a namespace. Of one that is not in the input the name alone is known.
func (o *Objects) selects(selector *metav1.LabelSelector, namespace string) bool {
	set := labels.Set{corev1.LabelMetadataName: namespace}
	if i := slices.IndexFunc(o.Namespaces, func(n *Object[Namespace]) bool { return n.Name == namespace }); i >= 0 {
		set = o.Namespaces[i].Labels
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(set)
}

// EntryListener is an entry of a ListenerSet in the shape of a Gateway's listener.
func EntryListener(e gatewayv1.ListenerEntry) gatewayv1.Listener {
	return gatewayv1.Listener(e)
}
