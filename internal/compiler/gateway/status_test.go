package gateway

import (
	"crypto/elliptic"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// formatRefs names objects, in order.
func formatRefs(refs []object.Ref) string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = r.String()
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// formatListeners has a line for each listener: what became of it, but for its overlaps.
func formatListeners(g *Status) string {
	var lines []string
	for i, l := range g.Listeners() {
		var kinds []string
		for _, k := range l.Kinds {
			kinds = append(kinds, string(k.Kind))
		}
		line := fmt.Sprintf("%s bound=%d %s routes=%s", l.Name, l.Bound, strings.Join(kinds, "+"), formatRefs(l.Routes))
		if l.TLS {
			line += fmt.Sprintf(" certificates=%d", l.Certificates)
		}
		if l.Key.Index != i {
			line += fmt.Sprintf(" index=%d", l.Key.Index)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestStatusOfListeners holds what those who write status learn of a Gateway's listeners.
func TestStatusOfListeners(t *testing.T) {
	for name, c := range map[string]struct {
		listeners, spec, routes string
		want                    string
	}{
		"a listener with routes":  {onPort80, "", routeOf("b", toWeb+oneRule) + "\n---\n" + routeOf("a", toWeb+", hostnames: [a.org, b.org]"+oneRule), "http bound=1 HTTPRoute+GRPCRoute routes=HTTPRoute default/a,HTTPRoute default/b"},
		"on two addresses":        {onPort80, ", addresses: [{value: 10.0.0.1}, {value: 10.0.0.2}]", limpetClass, "http bound=2 HTTPRoute+GRPCRoute routes="},
		"one kind":                {listenerOf("http", "allowedRoutes: {kinds: [{kind: GRPCRoute}]}"), "", limpetClass, "http bound=1 GRPCRoute routes="},
		"no kind that limpet has": {listenerOf("http", "allowedRoutes: {kinds: [{kind: TCPRoute}]}"), "", limpetClass, "http bound=1  routes="},
		"no certificate":          {"{name: s, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: gone}]}}", "", limpetClass, "s bound=1 HTTPRoute+GRPCRoute routes= certificates=0"},
		"two protocols on a port": {onPort80 + ", {name: s, protocol: HTTPS, port: 80, hostname: a.org, tls: {certificateRefs: [{name: gone}]}}", "", limpetClass, "http bound=0 HTTPRoute+GRPCRoute routes=\ns bound=0 HTTPRoute+GRPCRoute routes= certificates=0"},
	} {
		t.Run(name, func(t *testing.T) {
			documents := []string{gatewayOf("web", c.listeners, c.spec), c.routes}
			if c.routes != limpetClass {
				documents = append(documents, limpetClass)
			}
			b := buildAll(t, documents...)
			if got := formatListeners(b.status.Gateways[0]); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestStatusOfParents holds what becomes of each parentRef of a route, in their order.
func TestStatusOfParents(t *testing.T) {
	foreign := strings.Replace(gatewayOf("foreign", onPort80, ""), "limpet", "another", 1)
	route := routeOf("r", "parentRefs: [{name: gone}, {name: foreign}, {name: web, sectionName: http}, {name: web, sectionName: none}]"+oneRule)
	b := buildAll(t, limpetClass, gatewayOf("web", onPort80, ""), foreign, route)
	var got []string
	for _, p := range b.status.Parents[object.Ref{Kind: object.KindHTTPRoute, Namespace: "default", Name: "r"}] {
		got = append(got, fmt.Sprintf("%s %t %t %s", p.Ref.Name, p.Foreign, p.Refused == nil, p.Reason))
	}
	want := "gone false false NoMatchingParent; foreign true true Accepted; web false true Accepted; web false false NoMatchingParent"
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
	if len(b.status.Gateways) != 1 {
		t.Errorf("%d Gateways have a status, want limpet's alone", len(b.status.Gateways))
	}
}

// secretOf is a Secret of the type for TLS with a new certificate.
func secretOf(t *testing.T, metadata string) string {
	t.Helper()
	chain, private := compilertest.IssueCertificate(t, compilertest.NewKeyOnCurve(t, elliptic.P256()))
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\ntype: kubernetes.io/tls\nstringData: {tls.crt: %q, tls.key: %q}", metadata, chain, private)
}

// TestCertificatesOfListeners holds which references to Secrets give a certificate, and what is said of the others: never
// what is in them.
func TestCertificatesOfListeners(t *testing.T) {
	good := secretOf(t, "cert")
	for name, c := range map[string]struct {
		refs      string
		documents []string
		want      int
		warnings  []string
	}{
		"one":                        {"{name: cert}", []string{good}, 1, nil},
		"two":                        {"{name: cert}, {name: more}", []string{good, secretOf(t, "more")}, 2, nil},
		"a Secret that is not there": {"{name: gone}", []string{good}, 0, []string{`spec.listeners[0].tls.certificateRefs[0].name: Not found: "gone": there is no Secret default/gone in the input: the listener does without this certificate, has no other and serves nothing [InvalidCertificateRef]`}},
		"one of two is not there":    {"{name: gone}, {name: cert}", []string{good}, 1, []string{`there is no Secret default/gone in the input: the listener does without this certificate [InvalidCertificateRef]`}},
		"another kind":               {"{kind: ConfigMap, name: cert}", []string{good}, 0, []string{`certificateRefs[0].kind: Unsupported value: "ConfigMap"`}},
		"another group":              {"{group: example.com, kind: Secret, name: cert}", []string{good}, 0, []string{`certificateRefs[0].group: Unsupported value: "example.com"`}},
		"another type of Secret":     {"{name: cert}", []string{strings.Replace(good, "kubernetes.io/tls", "Opaque", 1)}, 0, []string{"certificateRefs[0].name: Invalid value: \"cert\": Secret default/cert is not of the type kubernetes.io/tls"}},
		"content that is no good":    {"{name: cert}", []string{"apiVersion: v1\nkind: Secret\nmetadata: {name: cert}\ntype: kubernetes.io/tls\nstringData: {tls.crt: HIDDEN, tls.key: HIDDEN}"}, 0, []string{"Secret default/cert: tls.crt and tls.key are no certificate and private key in PEM that belong together"}},
		"another namespace":          {"{name: cert, namespace: shop}", []string{secretOf(t, "cert, namespace: shop")}, 0, []string{"certificateRefs[0].namespace: Forbidden: no ReferenceGrant in namespace shop allows it: the listener does without this certificate, has no other and serves nothing [RefNotPermitted]"}},
		"another namespace, granted": {"{name: cert, namespace: shop}", []string{
			secretOf(t, "cert, namespace: shop"),
			"apiVersion: gateway.networking.k8s.io/v1\nkind: ReferenceGrant\nmetadata: {name: g, namespace: shop}\nspec: {from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: default}], to: [{group: \"\", kind: Secret}]}",
		}, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			overTLS := "{name: s, protocol: HTTPS, port: 443, tls: {certificateRefs: [" + c.refs + "]}}"
			b := buildAll(t, append(c.documents, limpetClass, gatewayOf("web", overTLS, ""))...)
			checkText(t, b, "0.0.0.0:443 TLS\n* default/web/s:")
			if got := b.ports[0].Hosts[0].Listener.Certificates(); len(got) != c.want {
				t.Errorf("%d certificates, want %d", len(got), c.want)
			}
			compilertest.CheckProblems(t, b.rep.Warnings(), c.warnings...)
			for _, w := range b.rep.Warnings() {
				if strings.Contains(w.Message, "HIDDEN") {
					t.Errorf("shown: %s", w)
				}
			}
		})
	}
}

// TestListenersWithHostsInCommon holds which listeners with TLS say that they overlap.
func TestListenersWithHostsInCommon(t *testing.T) {
	overTLS := func(name, hostname string, port int) string {
		return fmt.Sprintf("{name: %s, protocol: HTTPS, port: %d, hostname: %q, tls: {certificateRefs: [{name: cert}]}}", name, port, hostname)
	}
	b := buildAll(t, limpetClass, secretOf(t, "cert"), gatewayOf("web", strings.Join([]string{
		overTLS("one", "a.example.com", 443), overTLS("wild", "*.example.com", 443), overTLS("other", "b.org", 443), overTLS("port", "a.example.com", 8443),
	}, ", "), ""), gatewayOf("x", overTLS("deep", "*.a.example.com", 443)+", "+listenerOf("plain", `hostname: "*.example.com"`), ""))
	want := map[string]string{
		"one": "listener wild of default/web", "wild": "listener deep of default/x,listener one of default/web", "other": "", "port": "",
		"deep": "listener wild of default/web", "plain": "",
	}
	for _, g := range b.status.Gateways {
		for _, l := range g.Listeners() {
			if got := strings.Join(l.Overlaps, ","); got != want[string(l.Name)] {
				t.Errorf("%s overlaps %q, want %q", l.Name, got, want[string(l.Name)])
			}
		}
	}
}
