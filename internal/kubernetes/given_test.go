package kubernetes

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
)

// TestReaddress: who lists a cluster and asks limpet serve reads the Gateways as that does: with an address of its pool, and without
// one where it runs the proxies, which are reached where the status says.
func TestReaddress(t *testing.T) {
	s := NewSource(nil, nil)
	s.Manage, s.Pool, s.begun = true, NewPool(netip.MustParsePrefix("10.0.9.0/24")), true
	listing := &Listing{shown: map[string][]gatewayv1.GatewayStatusAddress{}}
	for name, spec := range map[string]string{
		"run": "", "run-named": shown("192.0.2.1"), "own": "", "own-named": shown("192.0.2.2"),
	} {
		o := gatewayObject(spec, shown("10.7.7.7"))
		if name == "own" || name == "own-named" {
			o.text = slices.Concat([]byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationManaged+`":"false"}},`), o.text[1:])
		}
		o.ObjectMeta = metav1.ObjectMeta{Namespace: "shop", Name: name}
		source := nameSource(gatewayKind.Kind, o)
		listing.Sources = append(listing.Sources, compiler.Source{Name: source, Data: o.text})
		listing.shown[source] = parseAddresses(o.status)
		s.set(t.Context(), gatewayKind, o)
	}
	var sent Given
	if text, err := json.Marshal(s.Given()); err != nil || json.Unmarshal(text, &sent) != nil {
		t.Fatalf("%s, %v", text, err)
	}
	if err := listing.Readdress(sent); err != nil {
		t.Fatal(err)
	}
	read := map[string]string{}
	for _, source := range s.Sources().Slice() {
		read[source.Name] = string(source.Data)
	}
	for _, source := range listing.Sources {
		if !isSameJSON(t, string(source.Data), read[source.Name]) {
			t.Errorf("%s:\n%s\nand limpet serve reads\n%s", source.Name, source.Data, read[source.Name])
		}
	}
	for _, name := range []string{"run", "run-named"} {
		if at := listing.Proxies["shop/"+name].Addresses; len(at) != 1 || at[0].Value != "10.7.7.7" {
			t.Errorf("%s is reached at %v", name, at)
		}
	}
	if len(listing.Proxies) != 2 || len(sent["Gateway/shop/own"]) != 1 {
		t.Errorf("proxies %v, given %v", listing.Proxies, sent)
	}
}

func isSameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var both [2]any
	for i, text := range []string{a, b} {
		if err := json.Unmarshal([]byte(text), &both[i]); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	x, _ := json.Marshal(both[0])
	y, _ := json.Marshal(both[1])
	return string(x) == string(y)
}
