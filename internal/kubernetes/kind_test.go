package kubernetes

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// TestBuiltIn holds that every kind which the compiler reads is one that an API server has, or one with a CRD.
func TestBuiltIn(t *testing.T) {
	for _, kind := range resource.ListKinds() {
		at, known := builtIn[kind.GroupKind]
		withDomain := len(kind.Group) > 0 && kind.Group != "discovery.k8s.io"
		if known == withDomain {
			t.Errorf("%v: built in is %v", kind.GroupKind, known)
		}
		if known && at.Version != kind.Versions[0] {
			t.Errorf("%v is followed in %s", kind.GroupKind, at.Version)
		}
	}
}

// TestFindCustomKinds holds which version of a CRD is followed, and that one which is not established is not.
func TestFindCustomKinds(t *testing.T) {
	gateways := schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: "Gateway"}
	define := func(established apiextensionsv1.ConditionStatus, served ...string) *apiextensionsv1.CustomResourceDefinition {
		d := &apiextensionsv1.CustomResourceDefinition{}
		d.Spec.Group, d.Spec.Names.Kind, d.Spec.Names.Plural = gateways.Group, gateways.Kind, "gateways"
		for _, v := range []string{"v1beta1", "v1"} {
			version := apiextensionsv1.CustomResourceDefinitionVersion{Name: v}
			for _, s := range served {
				version.Served = version.Served || s == v
			}
			d.Spec.Versions = append(d.Spec.Versions, version)
		}
		d.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: established}}
		return d
	}
	ended := define(apiextensionsv1.ConditionTrue, "v1")
	ended.DeletionTimestamp = &metav1.Time{}
	for name, c := range map[string]struct {
		definition *apiextensionsv1.CustomResourceDefinition
		want       string
	}{
		"both versions":   {define(apiextensionsv1.ConditionTrue, "v1beta1", "v1"), "v1"},
		"the older alone": {define(apiextensionsv1.ConditionTrue, "v1beta1"), "v1beta1"},
		"none":            {define(apiextensionsv1.ConditionTrue), ""},
		"not established": {define(apiextensionsv1.ConditionFalse, "v1"), ""},
		"being deleted":   {ended, ""},
	} {
		found := findCustomKinds([]*apiextensionsv1.CustomResourceDefinition{c.definition})
		if got := found[gateways]; got.Version != c.want || c.want != "" && got.Resource != "gateways" || len(found) > 1 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// TestReduce holds what is kept of an object: not what changes whenever somebody writes its status.
func TestReduce(t *testing.T) {
	u := &unstructured.Unstructured{}
	err := yaml.Unmarshal([]byte(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: edge
  namespace: shop
  generation: 3
  resourceVersion: "7"
  uid: u
  annotations: {kubectl.kubernetes.io/last-applied-configuration: long, other: stays}
  managedFields: [{manager: somebody}]
spec: {gatewayClassName: limpet}
status: {conditions: []}
`), &u.Object)
	if err != nil {
		t.Fatal(err)
	}
	reduced, err := reduce(u)
	if err != nil {
		t.Fatal(err)
	}
	o := reduced.(*object)
	const (
		start = `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"annotations":{"other":"stays"},"generation":3,` +
			`"name":"edge","namespace":"shop","uid":"u"},"spec":{"gatewayClassName":"limpet"}`
		status = `{"conditions":[]}`
	)
	if string(o.text) != start+"}" || string(o.status) != status || string(o.whole()) != start+`,"status":`+status+"}" {
		t.Errorf("got\n%s\n%s\n%s", o.text, o.status, o.whole())
	}
	if o.ResourceVersion != "7" || nameSource("Gateway", o) != "Gateway/shop/edge" {
		t.Errorf("got %+v", o.ObjectMeta)
	}
	if again, err := reduce(o); err != nil || again != reduced {
		t.Error("what was reduced is reduced again")
	}
}
