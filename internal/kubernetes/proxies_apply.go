package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// client gives access to objects of the same kind and namespace.
func (p *Proxies) client(o *unstructured.Unstructured) dynamic.ResourceInterface {
	kind := o.GroupVersionKind()
	return p.Source.client.Resource(kind.GroupVersion().WithResource(proxyKinds[kind])).Namespace(o.GetNamespace())
}

// findOwn returns an object as it was seen last; nil if limpet has none of that name.
func (p *Proxies) findOwn(o *unstructured.Unstructured) *unstructured.Unstructured {
	one, _, _ := p.stores[o.GroupVersionKind()].GetByKey(o.GetNamespace() + "/" + o.GetName())
	live, _ := one.(*unstructured.Unstructured)
	return live
}

// checkOwner returns an error if an object of the same name exists that is not the Gateway's: it is left alone.
func (p *Proxies) checkOwner(ctx context.Context, g *managedGateway, o *unstructured.Unstructured) error {
	if live := p.findOwn(o); live != nil && controllerOf(live) == g.UID {
		return nil
	}
	there, err := p.client(o).Get(ctx, o.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case controllerOf(there) != g.UID:
		return fmt.Errorf(
			"%s %s/%s: there is one that is not this Gateway's: it stays as it is",
			o.GetKind(),
			o.GetNamespace(),
			o.GetName(),
		)
	}
	return nil
}

// apply applies an object, unless the live one is as it was applied last.
func (p *Proxies) apply(ctx context.Context, g *managedGateway, o *unstructured.Unstructured) error {
	wanted, live := hashOf(o.Object), p.findOwn(o)
	p.lock.Lock()
	last := p.applied[g.UID][objectName(o)]
	p.lock.Unlock()
	if live != nil && last.wanted == wanted && last.seen == hashLive(live) {
		return nil
	}
	is, err := p.client(o).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: proxyManager, Force: true})
	if err != nil {
		return fmt.Errorf("%s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.applied[g.UID] == nil {
		p.applied[g.UID] = map[string]appliedObject{}
	}
	p.applied[g.UID][objectName(o)] = appliedObject{wanted, hashLive(is)}
	return nil
}

func hashOf(fields map[string]any) [sha256.Size]byte {
	text, _ := json.Marshal(fields) // which came as JSON, or is applied as such
	return sha256.Sum256(text)
}

// hashLive is the hash of a live object without its status and versions: it changes when others change what limpet
// sets.
func hashLive(o *unstructured.Unstructured) [sha256.Size]byte {
	fields := maps.Clone(o.Object)
	delete(fields, "status")
	metadata := maps.Clone(o.Object["metadata"].(map[string]any))
	for _, name := range []string{"resourceVersion", "managedFields", "generation"} {
		delete(metadata, name)
	}
	fields["metadata"] = metadata
	return hashOf(fields)
}

// removeAll deletes objects, with all that they own.
func (p *Proxies) removeAll(ctx context.Context, objects ownedObjects) (failed error) {
	background := metav1.DeletePropagationBackground
	for _, o := range objects {
		uid := o.GetUID()
		err := p.client(o).Delete(ctx, o.GetName(), metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background,
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failed = errors.Join(failed, fmt.Errorf("%s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err))
		}
	}
	return failed
}
