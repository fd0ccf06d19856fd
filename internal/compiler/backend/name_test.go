package backend_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// admin is where Envoy itself listens.
var admin = netip.MustParseAddrPort("127.0.0.1:9901")

// TestNames holds which names endpoints may have: those that the operator allows, and no name that leads to Envoy's own
// machine or back into the cluster unless it is that very name.
// requirements: S83
func TestNames(t *testing.T) {
	for name, c := range map[string]struct {
		allowed, name, port string
		want                string // a part of what is said; empty for a name that is followed
	}{
		"none by default":               {"", "a.example.com", "80", "no --external-names covers a.example.com"},
		"the very name":                 {"a.example.com", "a.example.com", "80", ""},
		"in another form":               {"a.example.com", "A.Example.COM.", "80", ""},
		"one below":                     {"a.example.com", "b.a.example.com", "80", "no --external-names"},
		"below a domain":                {"*.example.com", "b.a.example.com", "80", ""},
		"the domain itself":             {"*.example.com", "example.com", "80", "no --external-names"},
		"one that ends alike":           {"*.example.com", "badexample.com", "80", "no --external-names"},
		"one of several":                {"b.example.com *.example.org", "a.example.org", "80", ""},
		"every name":                    {"*", "a.example.com", "80", ""},
		"but not this machine":          {"*", "localhost", "80", "no --external-names"},
		"nor a name below":              {"*", "a.localhost", "80", "no --external-names"},
		"nor a Service":                 {"*", "cart.shop.svc.cluster.local", "80", "no --external-names"},
		"nor a short one":               {"*", "cart.shop.svc", "80", "no --external-names"},
		"nor what a search list ends":   {"*", "cart", "80", "no --external-names"},
		"nor the cloud's metadata":      {"*", "metadata.google.internal", "80", "no --external-names"},
		"nor a Service below a domain":  {"*.cluster.local", "cart.shop.svc.cluster.local", "80", "no --external-names"},
		"nor a name below, with a dot":  {"*", "a.localhost.", "80", "no --external-names"},
		"nor as distributions have it":  {"*", "localhost.localdomain", "80", "no --external-names"},
		"nor so for IPv6":               {"*", "localhost6.localdomain6", "80", "no --external-names"},
		"nor so without a domain":       {"*", "ip6-localhost", "80", "no --external-names"},
		"an address in octal":           {"*", "0177.0.0.01", "80", "is no DNS name"},
		"an address in hexadecimal":     {"*", "0X7F.0.0.0X1", "80", "is no DNS name"},
		"an address in one number":      {"*", "2130706433", "80", "is no DNS name"},
		"an address with a dot":         {"*", "127.0.0.1.", "80", "is no DNS name"},
		"this machine, named":           {"localhost", "localhost", "80", ""},
		"an address":                    {"*", "127.0.0.1", "80", `"127.0.0.1" is no DNS name`},
		"an address in short":           {"*", "127.1", "80", `"127.1" is no DNS name`},
		"an address as a number":        {"*", "a.0x7f000001", "80", "is no DNS name"},
		"an address of IPv6":            {"*", "::1", "80", "is no DNS name"},
		"an address as a pattern":       {"127.0.0.1", "127.0.0.1", "80", "is no DNS name"},
		"the port of Envoy's admin":     {"*", "a.example.com", "9901", "a.example.com:9901 may be where Envoy itself listens"},
		"that port of this machine":     {"localhost", "localhost", "9901", "may be where Envoy itself listens"},
		"a name with a character more":  {"*", "a_b.example.com", "80", "is no DNS name"},
		"a name that would be a header": {"*", "a.example.com\\r\\nx: y", "80", "is no DNS name"},
	} {
		service := "apiVersion: v1\nkind: Service\nmetadata: {name: cart}\nspec: {type: ExternalName, externalName: \"" + c.name + "\"}"
		slice := "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: a, labels: {kubernetes.io/service-name: sliced}}\n" +
			"addressType: FQDN\nports: [{port: " + c.port + "}]\nendpoints: [{addresses: [\"" + c.name + "\"]}]"
		sliced := "apiVersion: v1\nkind: Service\nmetadata: {name: sliced}\nspec: {ports: [{port: 80}]}"
		rep := &report.Report{}
		x := indexWithin(compilertest.Admit(t, service, slice, sliced), &backend.Places{Own: []netip.AddrPort{admin}, Names: strings.Fields(c.allowed)}, rep)
		b, refused := resolve(t, x, "{name: cart, port: "+c.port+"}")
		if (refused == nil) != (c.want == "") || refused != nil && !strings.Contains(refused.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, refused, c.want)
		}
		if refused == nil && (len(b.Endpoints) != 1 || b.Endpoints[0].Host != strings.ToLower(strings.TrimSuffix(c.name, "."))) {
			t.Errorf("%s: %+v", name, b.Endpoints)
		}
		named := "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackend\nmetadata: {name: cart}\n" +
			"spec: {type: ExternalHostname, externalHostname: {hostname: \"" + c.name + "\"}, port: {number: " + c.port + "}}"
		if objects, _ := compilertest.TryAdmit(t, resource.Options{}, named); len(objects.Backends) > 0 { // else no server has it
			x := indexWithin(objects, &backend.Places{Own: []netip.AddrPort{admin}, Names: strings.Fields(c.allowed)}, &report.Report{})
			b, refused := resolve(t, x, toXBackend)
			if (refused == nil) != (c.want == "") || refused != nil && !strings.Contains(refused.Error(), c.want) {
				t.Errorf("%s, of an XBackend: %v; want %q", name, refused, c.want)
			}
			if refused == nil && b.Endpoints[0].Host != c.name {
				t.Errorf("%s, of an XBackend: %+v", name, b.Endpoints)
			}
		}
		left := len(mustResolve(t, x, "{name: sliced, port: 80}").Endpoints)
		problems := fmt.Sprint(rep.Warnings())
		if (left == 0) != (c.want != "") || !strings.Contains(problems, c.want) {
			t.Errorf("%s, of a slice: %d endpoints; want %q in\n%s", name, left, c.want, problems)
		}
	}
}

// TestNamePatterns holds what may say which names there may be.
func TestNamePatterns(t *testing.T) {
	for pattern, want := range map[string]bool{
		"*": true, "a.example.com": true, "*.example.com": true, "localhost": true, "": false, "*.": false, "*a.com": false,
		"*.*.com": false, "127.0.0.1": false, "A.com": false, "a.com.": false, "a com": false,
	} {
		if backend.IsNamePattern(pattern) != want {
			t.Errorf("%q: %t", pattern, !want)
		}
	}
}
