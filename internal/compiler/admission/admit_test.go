package admission

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// decodeObject reads YAML into what Admit takes.
func decodeObject(t testing.TB, text string) map[string]any {
	t.Helper()
	json, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return decodeYAML(t, json)
}

func admitMessages(t testing.TB, a *Admitter, obj map[string]any) []string {
	t.Helper()
	texts := []string{}
	for _, e := range a.Admit(obj) {
		texts = append(texts, e.Error())
	}
	return texts
}

func withExtra(t *testing.T) *Admitter {
	t.Helper()
	text, err := os.ReadFile("testdata/extra.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Gateway16, text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestNewRefuses(t *testing.T) {
	structural := "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: a.b, names: {kind: C}, versions: [%]}}"
	for name, c := range map[string]struct {
		gen   APIRelease
		extra string
		want  string
	}{
		"generation":  {"1.8", "", `unknown generation of Gateway API "1.8": supported are "1.6" and "1.7"`},
		"not YAML":    {Gateway16, "a: [", "further CRD 1:"},
		"not a CRD":   {Gateway16, "{apiVersion: v1, kind: Service}", `further CRD 1: Service of "v1" is not a CustomResourceDefinition`},
		"no schema":   {Gateway17, strings.Replace(structural, "%", "{name: v1, served: true}", 1), "C.a.b: version v1 has no schema"},
		"bad schema":  {Gateway17, strings.Replace(structural, "%", "{name: v1, served: true, schema: {openAPIV3Schema: {patternProperties: {a: {}}}}}", 1), "C.a.b: version v1:"},
		"second text": {Gateway17, "[]", "further CRD 1:"},
	} {
		if _, err := New(c.gen, []byte(c.extra)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestKnows(t *testing.T) {
	a := withExtra(t)
	for _, c := range []struct {
		group, version, kind string
		want                 bool
	}{
		{"gateway.networking.k8s.io", "v1", "HTTPRoute", true},
		{"gateway.networking.k8s.io", "v1beta1", "HTTPRoute", true},
		{"gateway.networking.k8s.io", "v1alpha2", "HTTPRoute", false},
		{"gateway.networking.k8s.io", "v1", "TCPRoute", true},
		{"gateway.networking.x-k8s.io", "v1alpha1", "XBackend", true},
		{"gateway.networking.k8s.io", "v1alpha1", "XBackend", false},
		{"test.limpet.dev", "v1", "Lamp", true},
		{"test.limpet.dev", "v0", "Lamp", false},
		{"", "v1", "Service", false},
		{"..", "v1", "/", false},
		{"", "", "", false},
	} {
		gvk := schema.GroupVersionKind{Group: c.group, Version: c.version, Kind: c.kind}
		if got := a.findVersion(gvk) != nil; got != c.want {
			t.Errorf("%s: %v", gvk, got)
		}
	}
}

func TestTypes(t *testing.T) {
	a := newAdmitter(t, Gateway16)
	for text, want := range map[string]string{
		`{}`:                                   "apiVersion: Required value|kind: Required value",
		`{apiVersion: "", kind: null}`:         "apiVersion: Required value|kind: Required value",
		`{apiVersion: 1, kind: [a]}`:           `apiVersion: Invalid value: 1: must be a string|kind: Invalid value: ["a"]: must be a string`,
		`{apiVersion: v1, kind: Service}`:      `kind: Invalid value: "Service": no matches for kind "Service" in version "v1"`,
		`{apiVersion: a/b/c, kind: HTTPRoute}`: `kind: Invalid value: "HTTPRoute": no matches for kind "HTTPRoute" in version "a/b/c"`,
		`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, spec: {}, metadata: []}`: `metadata: Invalid value: "array": metadata in body must be of type object: "array"|` +
			"metadata: Invalid value: json: cannot unmarshal array into Go value of type v1.ObjectMeta|" + unchecked,
		`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, spec: {}, metadata: {name: a, labels: {b: 1}}}`: "metadata: Invalid value: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string|" + unchecked,
		`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, spec: {}, metadata: {generateName: a-}}`:        "metadata.name: Required value: name or generateName is required|" + unchecked,
	} {
		if got := strings.Join(admitMessages(t, a, decodeObject(t, text)), "|"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
	}
}

const unchecked = "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"

func TestExtra(t *testing.T) {
	a := withExtra(t)
	lamp := decodeObject(t, "{apiVersion: test.limpet.dev/v1, kind: Lamp, metadata: {name: a}, spec: {}}")
	if got := admitMessages(t, a, lamp); len(got) != 0 || !reflect.DeepEqual(lamp["spec"], map[string]any{"colour": "red"}) {
		t.Errorf("%v: %v", got, lamp["spec"])
	}
	lamp = decodeObject(t, "{apiVersion: test.limpet.dev/v1, kind: Lamp, metadata: {name: a}, spec: {colour: green, watts: 70}}")
	want := []string{
		"spec: Invalid value: no green lamps",
		"spec.watts: Invalid value: 70: spec.watts in body should be less than or equal to 60",
	}
	if got := admitMessages(t, a, lamp); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestCostlyRules shows that an object whose rules would run for minutes is refused within a server's budget. The
// rule is one that no server would take into a CRD.
func TestCostlyRules(t *testing.T) {
	class := decodeObject(t, "{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: a}, spec: {}}")
	cost := make([]any, 1000)
	for i := range cost {
		cost[i] = "x"
	}
	class["spec"].(map[string]any)["cost"] = cost
	start := time.Now()
	got := strings.Join(admitMessages(t, withExtra(t), class), "|")
	if !strings.Contains(got, "call cost exceeds limit") {
		t.Errorf("got %q", got)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestStatusIsLeftAlone: creation ignores it, so neither its faults nor its defaults matter.
func TestStatusIsLeftAlone(t *testing.T) {
	a := newAdmitter(t, Gateway16)
	const gateway = "{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: a}," +
		" spec: {gatewayClassName: a, listeners: [{name: a, port: 80, protocol: HTTP}]}"
	for _, status := range []string{"", ", status: {addresses: 1, unknown: 2}", ", status: null"} {
		obj := decodeObject(t, gateway+status+"}")
		want, had := obj["status"]
		if got := admitMessages(t, a, obj); len(got) != 0 {
			t.Errorf("status %v: %q", want, got)
		}
		if got, has := obj["status"]; has != had || !reflect.DeepEqual(got, want) {
			t.Errorf("status %v became %v", want, got)
		}
	}
}

// TestExportedObject admits what kubectl get -o yaml gives, though a server would not create it a second time.
func TestExportedObject(t *testing.T) {
	const class = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata:
  name: limpet
  namespace: dropped
  creationTimestamp: "2026-11-21T15:00:00Z"
  generation: 3
  managedFields:
  - {apiVersion: gateway.networking.k8s.io/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}, manager: kubectl, operation: Update, time: "2026-11-21T15:00:00Z"}
  resourceVersion: "812"
  uid: 5e4b6a0e-9d5c-4a57-8a38-0c6a8fdd7b4e
spec: {controllerName: limpet.dev/controller}
status: {conditions: []}`
	obj, want := decodeObject(t, class), decodeObject(t, class)
	delete(want["metadata"].(map[string]any), "namespace")
	if got := admitMessages(t, newAdmitter(t, Gateway17), obj); len(got) != 0 || !reflect.DeepEqual(obj, want) {
		t.Errorf("%q: %v", got, obj)
	}
}

// TestUnknownFieldsStay: callers may know more fields than the CRD, such as an older release's idleTimeout.
func TestUnknownFieldsStay(t *testing.T) {
	a := newAdmitter(t, Gateway16)
	obj := decodeObject(t, routeWith("{idleTimeout: 1m}"))
	errs := a.Admit(obj)
	if len(errs) != 1 || !IsUnknownField(errs[0]) || errs[0].Field != "spec.rules[0].sessionPersistence.idleTimeout" {
		t.Fatalf("got %v", errs)
	}
	got := obj["spec"].(map[string]any)["rules"].([]any)[0].(map[string]any)["sessionPersistence"]
	if want := map[string]any{"idleTimeout": "1m", "type": "Cookie"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func routeWith(sessionPersistence string) string {
	return "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: b}," +
		" spec: {rules: [{sessionPersistence: " + sessionPersistence + "}]}}"
}

// TestConcurrentUse admits the corpus from several goroutines over one fresh admitter with CRDs of its own.
func TestConcurrentUse(t *testing.T) {
	a, cases := withExtra(t), readCorpus(t)
	want := make([][]string, len(cases))
	for i, c := range cases {
		want[i] = admitMessages(t, a, c.parse(t))
	}
	b := withExtra(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i, c := range cases {
				if got := admitMessages(t, b, c.parse(t)); !slices.Equal(got, want[i]) {
					t.Errorf("%s: got %q, want %q", c.id, got, want[i])
				}
			}
		})
	}
	group.Wait()
}

func TestComparePaths(t *testing.T) {
	ordered := []string{
		"metadata.name", "spec", "spec.rules", "spec.rules[2]", "spec.rules[2].a", "spec.rules[2].b[9]",
		"spec.rules[2].b[10]", "spec.rules[10]", "spec.rules[10].a", "spec.rules[x]", "<nil>",
	}
	for i, a := range ordered {
		for j, b := range ordered {
			got := comparePaths(a, b)
			if (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%q and %q: %d", a, b, got)
			}
		}
	}
}
