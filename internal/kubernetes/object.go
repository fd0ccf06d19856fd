package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// object is what is kept of an API server's object.
type object struct {
	// ObjectMeta has what tells one object and its state from others; the text has the rest.
	metav1.ObjectMeta
	// text is the object as JSON without its status, and without what changes whenever that is written.
	text []byte
	// status is as the API server has it, nil for none.
	status json.RawMessage
	// addresses are those that a Gateway asks for whose proxies limpet runs: its listeners are at none of them.
	addresses []gatewayv1.GatewaySpecAddress
	// run says that it is such a Gateway.
	run bool
	// references are the Secrets and ConfigMaps that it refers to, by nameSource.
	references []string
	// keeps says that it is a policy which keeps Pods that Services no longer select.
	keeps bool
}

// takeAddresses removes the addresses from a Gateway whose proxies limpet runs; false for any other. The proxies'
// Service gets them: only Pods know what the proxies listen on.
func (o *object) takeAddresses() bool {
	g := &gatewayv1.Gateway{}
	if json.Unmarshal(o.text, g) != nil || !isManaged(g.Annotations) {
		return false
	}
	o.run = true
	if len(g.Spec.Addresses) == 0 {
		return true
	}
	o.addresses = g.Spec.Addresses
	if text, err := setAddresses(o.text, nil); err == nil {
		o.text = text
	}
	return true
}

// keeping counts the object, nil for none, if it keeps such Pods.
func (o *object) keeping() int {
	if o != nil && o.keeps {
		return 1
	}
	return 0
}

// lastApplied is kubectl's own copy of the object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// reduce makes an object of what an API server sends. A value that was reduced before stays.
func reduce(sent any) (any, error) {
	u, whole := sent.(*unstructured.Unstructured)
	if !whole {
		return sent, nil
	}
	o := &object{ObjectMeta: describeState(u)}
	if u.GroupVersionKind().GroupKind() == podKind {
		u.Object = reducePod(u)
	} else if of, is := dataKinds[u.GroupVersionKind().GroupKind()]; is {
		u.Object = reduceData(u, of)
	} else if status, has := u.Object["status"]; has {
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
	if _, is := dataKinds[u.GroupVersionKind().GroupKind()]; !is {
		o.references = listReferences(u, text)
	}
	o.text, o.keeps = text, u.GroupVersionKind().GroupKind() == policyKind && bytes.Contains(text, keepField)
	return o, nil
}

// describeState is what tells an object and its state from others.
func describeState(u *unstructured.Unstructured) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:       u.GetNamespace(),
		Name:            u.GetName(),
		UID:             u.GetUID(),
		ResourceVersion: u.GetResourceVersion(),
	}
}

// dataKinds are the kinds of which the compiler reads a few entries of their data, with the names of these.
var dataKinds = map[schema.GroupKind][]string{
	{Kind: "Secret"}:    {corev1.TLSCertKey, corev1.TLSPrivateKeyKey, corev1.ServiceAccountRootCAKey},
	{Kind: "ConfigMap"}: {corev1.ServiceAccountRootCAKey},
}

// reduceData keeps, of an object with data, only what the compiler reads: a cluster has many of up to a megabyte, and
// limpet needs few. A change in the rest of one is no change.
func reduceData(u *unstructured.Unstructured, names []string) map[string]any {
	kept := map[string]any{
		"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(),
		"metadata": map[string]any{"namespace": u.GetNamespace(), "name": u.GetName(), "uid": string(u.GetUID())},
	}
	if of, has := u.Object["type"]; has {
		kept["type"] = of
	}
	has, _ := u.Object["data"].(map[string]any)
	data := map[string]any{}
	for _, name := range names {
		if text, is := has[name]; is {
			data[name] = text
		}
	}
	if len(data) > 0 {
		kept["data"] = data
	}
	return kept
}

// keepField is the field of a policy that keeps pods.
var keepField = []byte(`"keepUnselected"`)

// reducePod keeps, of a Pod, only whether it serves and where: a cluster has many Pods with large statuses.
func reducePod(u *unstructured.Unstructured) map[string]any {
	metadata := map[string]any{"namespace": u.GetNamespace(), "name": u.GetName(), "uid": string(u.GetUID())}
	pod := map[string]any{"apiVersion": "v1", "kind": podKind.Kind, "metadata": metadata}
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	conditions, _ := status["conditions"].([]any)
	ready := slices.ContainsFunc(conditions, func(one any) bool {
		c, _ := one.(map[string]any)
		return c["type"] == string(corev1.PodReady) && c["status"] == string(corev1.ConditionTrue)
	})
	if ready && status["phase"] == string(corev1.PodRunning) && u.GetDeletionTimestamp() == nil {
		pod["status"] = map[string]any{
			"phase": status["phase"], "podIP": status["podIP"], "podIPs": status["podIPs"],
			"conditions": []any{map[string]any{"type": string(corev1.PodReady), "status": string(corev1.ConditionTrue)}},
		}
	}
	return pod
}

// nameSource is what messages call an object of a kind instead of a file.
func nameSource(kind string, o metav1.Object) string {
	if o.GetNamespace() == "" {
		return kind + "/" + o.GetName()
	}
	return kind + "/" + o.GetNamespace() + "/" + o.GetName()
}
