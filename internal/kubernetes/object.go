package kubernetes

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// object is what is kept of an API server's object.
type object struct {
	// ObjectMeta has what tells one object and its state from others; the text has the rest.
	metav1.ObjectMeta
	// text is the object as JSON without its status, and without what changes whenever that is written.
	text []byte
	// status is as the API server has it, nil for none.
	status json.RawMessage
}

// lastApplied is kubectl's own copy of the object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// reduce makes an object of what an API server sends. What is none stays, for it was reduced before.
func reduce(sent any) (any, error) {
	u, whole := sent.(*unstructured.Unstructured)
	if !whole {
		return sent, nil
	}
	o := &object{ObjectMeta: metav1.ObjectMeta{
		Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
	}}
	if status, has := u.Object["status"]; has {
		text, err := json.Marshal(status)
		if err != nil {
			return nil, fmt.Errorf("%s %s/%s: status: %w", u.GetKind(), o.Namespace, o.Name, err)
		}
		o.status = text
		delete(u.Object, "status")
	}
	u.SetManagedFields(nil)
	u.SetResourceVersion("")
	if annotations := u.GetAnnotations(); annotations[lastApplied] != "" {
		delete(annotations, lastApplied)
		u.SetAnnotations(annotations)
	}
	text, err := json.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("%s %s/%s: %w", u.GetKind(), o.Namespace, o.Name, err)
	}
	o.text = text
	return o, nil
}

// whole is the object as JSON with its status.
func (o *object) whole() []byte {
	if o.status == nil {
		return o.text
	}
	text := append([]byte{}, o.text[:len(o.text)-1]...)
	text = append(text, `,"status":`...)
	text = append(text, o.status...)
	return append(text, '}')
}

// nameSource is what messages call an object of a kind instead of a file.
func nameSource(kind string, o metav1.Object) string {
	if o.GetNamespace() == "" {
		return kind + "/" + o.GetName()
	}
	return kind + "/" + o.GetNamespace() + "/" + o.GetName()
}
