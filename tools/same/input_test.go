package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const shopText = `# options: target=istio strict gateway-api=1.7 istio=native-pin=true keys=sealed wasm=/x.wasm bind=::1
kind: GatewayClass
metadata: {name: limpet}
---
kind: Gateway
metadata: {name: web, namespace: infra}
spec: {gatewayClassName: limpet, listeners: [{name: http, port: 80}]}
---
kind: HTTPRoute
metadata: {name: cart}
spec: {parentRefs: [{name: web, sectionName: http}], hostnames: [a.example.com]}
---
kind: List
items: [{kind: Service, metadata: {name: cart, namespace: shop}}, {kind: Secret, metadata: {name: key}}]
---
kind: EndpointSlice
metadata: {name: cart-1, labels: {kubernetes.io/service-name: cart}}
`

func TestParseOptions(t *testing.T) {
	got, err := parseOptions([]byte(shopText), "keys.json")
	want := flags{target: "istio", strict: true, reading: []string{"--gateway-api=1.7"}}
	want.writing = append(defaultFlags("").writing,
		"--istio=native-pin=true", "--keys", "keys.json", "--filter-path=/x.wasm", "--bind=::1")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	got, err = parseOptions([]byte("kind: Service\n"), "")
	if err != nil || !reflect.DeepEqual(got, defaultFlags("envoy")) {
		t.Errorf("without options: %+v, %v", got, err)
	}
	if _, err := parseOptions([]byte("# options: keys=new\n"), ""); err == nil {
		t.Error("unknown keys are taken")
	}
}

func TestArgs(t *testing.T) {
	f := flags{target: "istio", strict: true, reading: []string{"-r"}, writing: []string{"-w"}}
	in := input{path: "in.yaml", flags: f}
	for _, c := range []struct {
		got  []string
		want string
	}{
		{in.compileArgs(), "compile -f in.yaml -t istio -r --strict -w"},
		{in.checkArgs(), "check -f in.yaml -t istio -r --strict -o yaml"},
		{in.describeArgs("Gateway/a"), "describe -f in.yaml -t istio -r Gateway/a -o json"},
	} {
		if got := strings.Join(c.got, " "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestFindObjects(t *testing.T) {
	want := []string{"Gateway/infra/web", "GatewayClass/limpet", "HTTPRoute/default/cart", "Service/shop/cart"}
	if got := findObjects(shopText); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestReadInputs reads what is in a tree like ours, and refuses one in which the goldens are missing.
func TestReadInputs(t *testing.T) {
	tree := filepath.Join("..", "..")
	goldens, err := readGoldens(tree, "keys.json")
	if err != nil || len(goldens) < minGoldens {
		t.Fatalf("%d goldens, %v", len(goldens), err)
	}
	examples, err := readExamples(tree)
	if err != nil || len(examples) < len(targets)*3 {
		t.Errorf("%d examples, %v", len(examples), err)
	}
	for _, in := range examples {
		if len(in.objects) == 0 {
			t.Errorf("%s has no objects to describe", in.name)
		}
	}
	if _, err := readGoldens(t.TempDir(), ""); err == nil {
		t.Error("an empty tree has goldens")
	}
	if _, err := readExamples(t.TempDir()); err == nil {
		t.Error("an empty tree has examples")
	}
}

func TestWriteKeys(t *testing.T) {
	file, err := writeKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
