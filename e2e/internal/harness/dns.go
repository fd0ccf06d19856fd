package harness

import (
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/dns"
)

// DNS is a server for a few names, on UDP.
type DNS struct{ *dns.Server }

// StartDNS starts a server that ends with the test.
func StartDNS(t testing.TB, names map[string][]string) *DNS {
	t.Helper()
	s, err := dns.Start("127.0.0.1:0", names)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return &DNS{s}
}

// AskDNS has a configuration's clusters ask this server for names.
func (d *DNS) AskDNS(tree Tree) {
	for _, c := range tree.Find(func(m map[string]any) bool { return m["typed_dns_resolver_config"] != nil }) {
		resolver := c["typed_dns_resolver_config"].(map[string]any)["typed_config"].(map[string]any)
		resolver["resolvers"] = []any{
			map[string]any{"socket_address": map[string]any{"address": "127.0.0.1", "port_value": d.Port}},
		}
	}
}
