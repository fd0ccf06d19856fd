package compiler

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// writtenCases are inputs for control planes, whose generated kinds are together all that limpet writes for them.
var writtenCases = []struct {
	input string
	kinds []string
	set   func(*Options)
}{
	{"eg-cart", []string{"ClientTrafficPolicy", "EnvoyExtensionPolicy", "EnvoyPatchPolicy", "EnvoyProxy"}, nil},
	{"istio-gateway-api", []string{"EnvoyFilter", "WasmPlugin"}, nil},
	{"istio-split-16", []string{"EnvoyFilter", "HTTPRoute", "HTTPRoute", "WasmPlugin"}, nil},
	{"istio-gateway-api", []string{"EnvoyFilter", "TrafficExtension"}, func(o *Options) { o.Istio.TrafficExtension = true }},
}

// TestWrittenObjectsComeBack gives what limpet wrote back to it with the input, as who compiles what is in a cluster does: limpet's
// own objects are written again as they were, and each kind alone, as another owner's, takes the sessions and is named.
func TestWrittenObjectsComeBack(t *testing.T) {
	for _, c := range writtenCases {
		input, o := readGolden(t, c.input)
		if c.set != nil {
			c.set(&o)
		}
		first, err := Compile([]Source{input}, o)
		if err != nil {
			t.Fatal(err)
		}
		written := listWritten(t, first.Main())
		if kinds := kindsOf(written); !slices.Equal(kinds, c.kinds) {
			t.Fatalf("%s: %q are written, want %q", c.input, kinds, c.kinds)
		}
		again, err := Compile([]Source{input, renderDocuments(t, written)}, o)
		if err != nil || !bytes.Equal(again.Main(), first.Main()) || worstOf(again) != worstOf(first) {
			t.Errorf("%s: with its own objects it comes to something else: %v", c.input, err)
		}
		for i, one := range written {
			t.Run(fmt.Sprintf("%s/%s", c.input, c.kinds[i]), func(t *testing.T) { checkForeign(t, input, o, one) })
		}
	}
}

// checkForeign compiles with an object of another owner's in the input: nothing with sessions is written, and the owner is named.
func checkForeign(t *testing.T, input Source, o Options, one map[string]any) {
	t.Helper()
	metadata := one["metadata"].(map[string]any)
	metadata["labels"] = object.OwnerLabels("team-b")
	got, err := Compile([]Source{input, renderDocuments(t, []map[string]any{one})}, o)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%s %s/%s", one["kind"], metadata["namespace"], metadata["name"])
	if !saysOf(got, name, `"team-b"'s`) || !saysOf(got, "", "limpet would write "+name+", which is another's") {
		t.Errorf("%s of team-b: %v", name, got.Warnings)
	}
	if first := got.Warnings[0].String(); !strings.HasPrefix(first, `no rule has sessions: limpet's objects in the input are "team-b"'s`) {
		t.Errorf("first of all it says %q", first)
	}
	checkBare(t, got, name)
	o.Strict = true
	if _, err := Compile([]Source{input, renderDocuments(t, []map[string]any{one})}, o); err == nil {
		t.Errorf("%s of team-b passes as strict", name)
	}
}

// checkBare holds that nothing of limpet's is written, and no route to another owner's.
func checkBare(t *testing.T, got *Result, name string) {
	t.Helper()
	for _, kind := range []string{"HTTPRoute", "EnvoyExtensionPolicy", "EnvoyProxy", "EnvoyFilter", "WasmPlugin", "TrafficExtension"} {
		if bytes.Contains(got.Main(), []byte("kind: "+kind+"\n")) {
			t.Errorf("with %s as another's, a %s is written", name, kind)
		}
	}
}

// saysOf tells whether something of an object, or of any, is left out, in these words.
func saysOf(r *Result, name, words string) bool {
	return slices.ContainsFunc(r.Warnings, func(p Problem) bool {
		return p.Verdict() == Refused && (name == "" || p.Object == name) && strings.Contains(p.Message, words)
	})
}

// TestNamesOfOthers has objects of the user's under the names that limpet writes: they are never written over.
func TestNamesOfOthers(t *testing.T) {
	input, o := readGolden(t, "eg-cart")
	for kind, spec := range map[string]string{
		"EnvoyProxy":           "{}",
		"EnvoyExtensionPolicy": "{targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: other}]}",
		"ClientTrafficPolicy":  "{targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: other}]}",
	} {
		name := "limpet-web"
		if kind == "EnvoyExtensionPolicy" {
			name = "limpet"
		}
		theirs := fmt.Sprintf("apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: %s\nmetadata: {namespace: shop, name: %s}\nspec: %s\n",
			kind, name, spec)
		got, err := Compile([]Source{input, {Name: "theirs.yaml", Data: []byte(theirs)}}, o)
		if err != nil {
			t.Fatal(err)
		}
		if !saysOf(got, kind+" shop/"+name, "this one is not limpet's: rename it") || bytes.Contains(got.Main(), []byte("kind: "+kind+"\n")) {
			t.Errorf("%s shop/%s: %v", kind, name, got.Warnings)
		}
	}
}

// TestProxyOfClassOfAnotherOwner has the EnvoyProxy of a class, in a namespace of neither Gateways nor routes, as another owner's: what
// needs it are the Gateways of the class.
func TestProxyOfClassOfAnotherOwner(t *testing.T) {
	input, o := readGolden(t, "eg-proxy-of-class")
	labelled := bytes.Replace(input.Data, []byte("metadata: {name: fleet, namespace: platform}"), []byte("metadata: {name: fleet, namespace: platform, "+
		"labels: {app.kubernetes.io/managed-by: limpet, limpet.dev/owner: team-b}}"), 1)
	if bytes.Equal(labelled, input.Data) {
		t.Fatal("the input has no such EnvoyProxy")
	}
	got, err := Compile([]Source{{Name: input.Name, Data: labelled}}, o)
	if err != nil || !saysOf(got, "EnvoyProxy platform/fleet", `"team-b"'s`) {
		t.Errorf("%v, %v", err, got)
	}
}

func readGolden(t *testing.T, name string) (Source, Options) {
	t.Helper()
	for _, g := range loadGoldens(t) {
		if g.name == name {
			return g.source, g.parseOptions(t)
		}
	}
	t.Fatalf("testdata has no %s", name)
	return Source{}, Options{}
}

// listWritten are the documents of an output that limpet's label is on, by kind.
func listWritten(t *testing.T, text []byte) (all []map[string]any) {
	t.Helper()
	for _, part := range bytes.Split(text, []byte("\n---\n")) {
		var doc map[string]any
		if err := yaml.Unmarshal(part, &doc); err != nil {
			t.Fatal(err)
		}
		labels, _ := doc["metadata"].(map[string]any)["labels"].(map[string]any)
		if labels[object.ManagedByLabel] == object.ManagedBy {
			all = append(all, doc)
		}
	}
	slices.SortFunc(all, func(a, b map[string]any) int { return strings.Compare(a["kind"].(string), b["kind"].(string)) })
	return all
}

func kindsOf(documents []map[string]any) (kinds []string) {
	for _, doc := range documents {
		kinds = append(kinds, doc["kind"].(string))
	}
	return kinds
}

func renderDocuments(t *testing.T, documents []map[string]any) Source {
	t.Helper()
	var all [][]byte
	for _, doc := range documents {
		text, err := yaml.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	return Source{Name: "cluster.yaml", Data: bytes.Join(all, []byte("---\n"))}
}

func worstOf(r *Result) Verdict { return Worst(r.Warnings) }
