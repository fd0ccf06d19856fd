package gateway

import (
	"fmt"
	"strings"
	"testing"
)

// TestTrustedProxies: of the CIDRs that Gateways name, those count on a port that all of its Gateways name; what
// does not is told to those who name it.
func TestTrustedProxies(t *testing.T) {
	gateway := func(name, annotation string, ports ...int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: %s, namespace: shop", name)
		if annotation != "" {
			fmt.Fprintf(&b, ", annotations: {%s: %q}", TrustedAnnotation, annotation)
		}
		b.WriteString("}\nspec:\n  gatewayClassName: limpet\n  listeners:\n")
		for _, port := range ports {
			fmt.Fprintf(&b, "  - {name: p%d, port: %[1]d, protocol: HTTP, hostname: %s.example.com}\n", port, name)
		}
		return b.String()
	}
	const class = "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: limpet}\n" +
		"spec: {controllerName: limpet.dev/gateway-controller}\n"
	b := buildAll(t, class,
		gateway("a", "10.1.2.3/8, 192.0.2.7/32,2001:db8::/32, 192.0.2.7/32", 80, 81),
		gateway("b", "192.0.2.7/32, 0.0.0.0/0, ::/0, 10.0.0.1", 80, 82), gateway("c", "", 81))
	want := map[uint16]string{80: "[192.0.2.7/32]", 81: "[]", 82: "[192.0.2.7/32]"}
	for _, p := range b.ports {
		if got := fmt.Sprint(p.Trusted); got != want[p.Number] {
			t.Errorf("port %d believes %s, want %s", p.Number, got, want[p.Number])
		}
	}
	var warnings []string
	for _, w := range b.rep.Warnings() {
		warnings = append(warnings, w.Path+": "+w.Message)
	}
	if got := strings.Join(warnings, "\n"); len(b.ports) != 3 || strings.Count(got, "would believe every client") != 2 ||
		strings.Count(got, `Invalid value: "10.0.0.1": must be CIDRs`) != 1 ||
		strings.Count(got, ": 10.0.0.0/8, 2001:db8::/32: left out on port 80: Gateway shop/b has the port too") != 1 ||
		strings.Count(got, ": 10.0.0.0/8, 192.0.2.7/32, 2001:db8::/32: left out on port 81: Gateway shop/c has the port too") != 1 || len(warnings) != 5 {
		t.Errorf("%d ports; said\n%s", len(b.ports), got)
	}
}

// TestProxiesWithoutEffect: what a Gateway says of the proxies before it and can't hold gets a word.
func TestProxiesWithoutEffect(t *testing.T) {
	const class = "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: limpet}\n" +
		"spec: {controllerName: limpet.dev/gateway-controller}\n"
	for name, c := range map[string]struct {
		listener, ports string
		want            []string
	}{
		"the proxy's port":          {"{name: a, port: 80, protocol: HTTP}", "443", nil},
		"the Gateway's own port":    {"{name: a, port: 10001, protocol: HTTP}", "443, 10001", []string{"10001 is a port of the Gateway's own for plain HTTP"}},
		"no listener of plain HTTP": {"{name: a, port: 53, protocol: UDP}", "443", []string{"the Gateway has none", "the Gateway has none"}},
	} {
		b := buildAll(t, class, fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: web, namespace: shop, "+
			"annotations: {%s: 10.0.0.0/8, %s: %q}}\nspec: {gatewayClassName: limpet, listeners: [%s]}\n",
			TrustedAnnotation, ProxyProtocolAnnotation, c.ports, c.listener))
		warnings := b.rep.Warnings()
		for i, w := range warnings {
			if i >= len(c.want) || !strings.Contains(w.Message, c.want[i]) {
				t.Errorf("%s: said %s", name, w)
			}
		}
		if len(warnings) != len(c.want) {
			t.Errorf("%s: said %d things, want %d", name, len(warnings), len(c.want))
		}
	}
}
