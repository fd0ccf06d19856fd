package kubernetes

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// ownedObjects are those of a Gateway, by kind and name.
type ownedObjects map[string]*unstructured.Unstructured

// listOwned gives the objects that run a Gateway's proxies, by kind and name: those of its namespace, for an object
// elsewhere can name any owner.
func (p *Proxies) listOwned(g *managedGateway) ownedObjects {
	all := ownedObjects{}
	for _, store := range p.stores {
		own, _ := store.ByIndex(cache.NamespaceIndex, g.Namespace) // fails only without that index
		for _, one := range own {
			if u, is := one.(*unstructured.Unstructured); is && controllerOf(u) == g.UID {
				all[objectName(u)] = u
			}
		}
	}
	return all
}

func controllerOf(o metav1.Object) types.UID {
	if of := metav1.GetControllerOfNoCopy(o); of != nil {
		return of.UID
	}
	return ""
}

// countReplicas is how many replicas a Deployment among objects has; nil for none.
func countReplicas(owned ownedObjects) *int32 {
	for _, o := range owned {
		if n, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); found && o.GetKind() == deploymentKind {
			replicas := int32(n) //nolint:gosec // it came as one
			return &replicas
		}
	}
	return nil
}

// withoutBusy leaves out what runs proxies as long as what takes its place runs none.
func (p *Proxies) withoutBusy(stale ownedObjects, desired []*unstructured.Unstructured) ownedObjects {
	serving := slices.ContainsFunc(desired, func(o *unstructured.Unstructured) bool {
		if o.GetKind() != deploymentKind && o.GetKind() != daemonSetKind {
			return false
		}
		live := p.findOwn(o)
		return live != nil && countReady(live) > 0
	})
	maps.DeleteFunc(stale, func(_ string, o *unstructured.Unstructured) bool {
		return !serving && countReady(o) > 0
	})
	return stale
}

// countReady is how many proxies of a Deployment or DaemonSet are ready.
func countReady(o *unstructured.Unstructured) int64 {
	field := map[string]string{deploymentKind: "readyReplicas", daemonSetKind: "numberReady"}[o.GetKind()]
	n, _, _ := unstructured.NestedInt64(o.Object, "status", field)
	return n
}
