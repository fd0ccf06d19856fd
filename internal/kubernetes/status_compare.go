package kubernetes

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// tell sends events for what has become of an object.
func (w *StatusWriter) tell(written *unstructured.Unstructured, of *object) {
	if w.Events == nil {
		return
	}
	var before map[string]any
	if of.status != nil {
		_ = json.Unmarshal(of.status, &before)
	}
	after, _, _ := unstructured.NestedMap(written.Object, "status")
	w.Events.tell(&corev1.ObjectReference{
		APIVersion: written.GetAPIVersion(), Kind: written.GetKind(), Namespace: written.GetNamespace(),
		Name: written.GetName(),
		UID:  written.GetUID(), ResourceVersion: written.GetResourceVersion(),
	}, before, after)
}

// comparison is the difference of an object's status from the desired one.
type comparison struct {
	of       *object
	resource schema.GroupVersionResource
	// patch makes the status the desired one; nil if it is. It names the resourceVersion that was seen last: the API
	// server refuses it if the object has changed.
	patch []byte
}

func (w *StatusWriter) compare(key statusKey) (c comparison, err error) {
	w.lock.Lock()
	desired, confirmed := w.desired[key], w.confirmed[key]
	w.lock.Unlock()
	c.of, c.resource, err = w.Source.findObject(key.kind, key.namespace, key.name)
	if err != nil || desired == nil ||
		bytes.Equal(confirmed.desired, desired) && bytes.Equal(confirmed.current, c.of.status) {
		return c, err
	}
	changes, err := findChanges(desired, c.of.status, key.kind.Group != "") // a Service has a status of others, too
	if err != nil {
		return c, err
	}
	if len(changes) == 0 {
		w.lock.Lock()
		defer w.lock.Unlock()
		w.confirmed[key] = confirmedStatus{desired, c.of.status}
		return c, nil
	}
	c.patch, err = json.Marshal(
		map[string]any{"metadata": map[string]any{"resourceVersion": c.of.ResourceVersion}, "status": changes},
	)
	return c, err
}

// findChanges returns the fields of a status that have to change. Where the whole status is limpet's, nil removes a
// field.
func findChanges(desired, current []byte, whole bool) (map[string]any, error) {
	wanted, have := map[string]any{}, map[string]any{}
	err := json.Unmarshal(desired, &wanted)
	if current != nil {
		err = errors.Join(err, json.Unmarshal(current, &have))
	}
	changes := map[string]any{}
	for field, value := range wanted {
		if !reflect.DeepEqual(have[field], value) {
			changes[field] = value
		}
	}
	for field := range have {
		if _, stays := wanted[field]; !stays && whole {
			changes[field] = nil
		}
	}
	return changes, err
}
