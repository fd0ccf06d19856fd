package kubernetes

import (
	"strings"
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
	if string(o.text) != start+"}" || string(o.status) != status {
		t.Errorf("got\n%s\n%s", o.text, o.status)
	}
	if o.ResourceVersion != "7" || nameSource("Gateway", o) != "Gateway/shop/edge" {
		t.Errorf("got %+v", o.ObjectMeta)
	}
	if again, err := reduce(o); err != nil || again != reduced {
		t.Error("what was reduced is reduced again")
	}
}

// TestReducePod holds that of a Pod no more is kept than whether it serves and where, and that what it says of itself besides is
// no change.
func TestReducePod(t *testing.T) {
	const start = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"shop","uid":"u"}`
	const serves = start + `,"status":{"conditions":[{"status":"True","type":"Ready"}],"phase":"Running","podIP":"10.0.0.1",` +
		`"podIPs":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}]}}`
	for what, pod := range map[string]struct{ metadata, phase, ready, kept string }{
		"it serves":       {"", "Running", "True", serves},
		"more is said":    {", labels: {app: a}, annotations: {b: c}, resourceVersion: '9'", "Running", "True", serves},
		"it is starting":  {"", "Pending", "False", start + "}"},
		"it is not ready": {"", "Running", "False", start + "}"},
		"it terminates":   {", deletionTimestamp: '2026-11-22T10:00:00Z'", "Running", "True", start + "}"},
		"it is over":      {"", "Succeeded", "True", start + "}"},
	} {
		u := &unstructured.Unstructured{}
		err := yaml.Unmarshal([]byte(`{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop, uid: u`+pod.metadata+`},
spec: {nodeName: n, containers: [{name: c, image: i, env: [{name: A, value: b}]}]},
status: {phase: `+pod.phase+`, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: "fd00::1"}], hostIP: 192.0.2.1,
  conditions: [{type: Initialized, status: "True"}, {type: Ready, status: "`+pod.ready+`", lastProbeTime: null}]}}`), &u.Object)
		if err != nil {
			t.Fatal(err)
		}
		reduced, err := reduce(u)
		if err != nil {
			t.Fatal(err)
		}
		if o := reduced.(*object); string(o.text) != pod.kept || o.status != nil || o.keeping() != 0 {
			t.Errorf("%s:\n got %s\nwant %s", what, o.text, pod.kept)
		}
	}
}

// TestReduceData holds that of an object with data no more is kept than what the compiler reads of it, whatever else is in it.
func TestReduceData(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for sent, want := range map[string]string{
		`{kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u, annotations: {n: l}}, data: {ca.crt: pem, b: "` + long + `"}, binaryData: {c: eA==}}`: "" +
			`{"apiVersion":"v1","data":{"ca.crt":"pem"},"kind":"ConfigMap","metadata":{"name":"a","namespace":"shop","uid":"u"}}`,
		`{kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u}, data: {b: "` + long + `"}}`: "" +
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop","uid":"u"}}`,
		`{kind: Secret, metadata: {name: a, namespace: shop, uid: u}, type: kubernetes.io/tls, data: {tls.crt: eA==, tls.key: eQ==, ca.crt: eg==, b: "` + long + `"}}`: "" +
			`{"apiVersion":"v1","data":{"ca.crt":"eg==","tls.crt":"eA==","tls.key":"eQ=="},"kind":"Secret",` +
			`"metadata":{"name":"a","namespace":"shop","uid":"u"},"type":"kubernetes.io/tls"}`,
	} {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(sent), &u.Object); err != nil {
			t.Fatal(err)
		}
		u.SetAPIVersion("v1")
		reduced, err := reduce(u)
		if err != nil {
			t.Fatal(err)
		}
		if o := reduced.(*object); string(o.text) != want {
			t.Errorf("%d bytes are kept:\n got %.300s\nwant %s", len(o.text), o.text, want)
		}
	}
}

// TestKeeping holds which objects have Pods followed.
func TestKeeping(t *testing.T) {
	for text, want := range map[string]int{
		`{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: a}, spec: {keepUnselected: 10m}}`:            1,
		`{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: a}, spec: {override: {keepUnselected: 1m}}}`: 1,
		`{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: a}, spec: {drainTimeout: 10m}}`:              0,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {keepUnselected: 10m}}`:                                            0,
	} {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		if o, err := reduce(u); err != nil || o.(*object).keeping() != want {
			t.Errorf("%s: %v, want %d", text, err, want)
		}
	}
}
