package e2e

import (
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// protocolPair is how clients speak to Envoy.
type protocolPair struct {
	name   string
	client func(t *testing.T, envoy *harness.Envoy, certificate harness.Certificate) *harness.Client
}

var protocols = []protocolPair{
	{"HTTP/1.1", func(_ *testing.T, e *harness.Envoy, _ harness.Certificate) *harness.Client { return e.Client() }},
	{"HTTP/2 in the clear", func(_ *testing.T, e *harness.Envoy, _ harness.Certificate) *harness.Client { return e.Client().HTTP2() }},
	{"HTTP/1.1 over TLS", func(_ *testing.T, e *harness.Envoy, c harness.Certificate) *harness.Client {
		return e.Client().TLS(c, e.TLSPort)
	}},
	{"HTTP/2 over TLS", func(_ *testing.T, e *harness.Envoy, c harness.Certificate) *harness.Client {
		return e.Client().TLS(c, e.TLSPort).HTTP2()
	}},
	{"HTTP/3", func(t *testing.T, e *harness.Envoy, c harness.Certificate) *harness.Client {
		return e.Client().TLS(c, e.TLSPort).HTTP3(t)
	}},
}

// TestProtocols: sessions by cookie and by header hold over every protocol of clients, with backends that speak
// HTTP/1.1 and with ones that speak HTTP/2 only. HTTP/3 is added to the compiled configuration by hand.
func TestProtocols(t *testing.T) {
	t.Parallel()
	documents, certificate := bothBackends(t, cookieRules("cart")[0], headerRules("x-cart")[0])
	documents.TLSPort = harness.FreePort(t)
	envoy := harness.Run(t, harness.Deployment{
		Documents: documents,
		Tree:      func(tree harness.Tree) { tree.AddHTTP3(t, documents.TLSPort) },
	})
	row := harness.Result{}
	for _, p := range protocols {
		for _, host := range []string{"one", "two"} {
			client := func() *harness.Client {
				c := p.client(t, envoy, certificate)
				c.Host = host + ".example.com"
				return c
			}
			t.Run(p.name+" to HTTP "+host, func(t *testing.T) { checkSessions(t, client, &row) })
		}
	}
	wantNoTrap(t, envoy)
	row.Note = "HTTP/1.1, HTTP/2 and HTTP/3 to HTTP/1.1 and HTTP/2; by cookie and by header"
	harness.RecordResult(t, "every pair of protocols of clients and backends", row)
}

// bothBackends deploys the same rules twice: for one.example.com with backends of HTTP/1.1 and for two.example.com
// with ones of HTTP/2, plain and over TLS.
func bothBackends(t *testing.T, rules ...harness.Rule) (harness.Documents, harness.Certificate) {
	t.Helper()
	var two []*harness.Backend
	for _, name := range []string{"a", "b", "c"} {
		two = append(two, harness.NewH2CBackend(t, name))
	}
	certificate := harness.NewCertificate(t)
	documents := harness.Documents{
		Services: []harness.Service{
			{Name: "one", Backends: harness.Backends(t, "a", "b", "c")},
			{Name: "two", Backends: two, AppProtocol: "kubernetes.io/h2c"},
		},
		Sites: []harness.Site{{Certificate: certificate}},
	}
	for _, name := range []string{"one", "two"} {
		route := harness.Route{Name: name, Hostnames: []string{name + ".example.com"}}
		for _, rule := range rules {
			rule.Refs = harness.To(name)
			route.Rules = append(route.Rules, rule)
		}
		documents.Routes = append(documents.Routes, route)
	}
	return documents, certificate
}

// checkSessions has clients begin sessions by cookie and by header, and come back.
func checkSessions(t *testing.T, client func() *harness.Client, row *harness.Result) {
	const sessions, visits = 4, 10
	for range sessions {
		stay(t, client(), "/cart", visits)
		c := client()
		first := visit(t, c, "/x-cart")
		if again := stay(t, c, "/x-cart", visits-1, "x-cart: "+first.Header.Get("x-cart")); again != first.Backend {
			t.Fatalf("the session began on %s and went on on %s", first.Backend, again)
		}
	}
	stranger := client()
	stranger.Jar = nil
	wantBalanced(t, spread(t, stranger, "/cart", 60))
	row.Sessions += 2 * sessions
	row.Requests += 2*sessions*visits + 60
}
