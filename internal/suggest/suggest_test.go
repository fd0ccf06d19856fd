package suggest_test

import (
	"testing"

	"github.com/limpet-proxy/limpet/internal/suggest"
)

// TestNearest finds what differs by a few letters, and nothing that is another word.
func TestNearest(t *testing.T) {
	kinds := []string{"HTTPRoute", "GRPCRoute", "Gateway", "GatewayClass", "Service", "Secret"}
	for word, want := range map[string]string{
		"HTTPRute": "HTTPRoute", "HttpRoute": "HTTPRoute", "Gatewya": "Gateway", "GatwayClass": "GatewayClass",
		"Servce": "Service", "Route": "HTTPRoute", "Deployment": "", "UDPRoute": "", "x": "", "": "", "TLSRoute": "", "ute": "", "Port": "",
	} {
		if got := suggest.Nearest(word, kinds); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
	policies := []string{"BackendTLSPolicy", "SessionPersistencePolicy", "LoadBalancerPolicy"}
	for word, want := range map[string]string{
		"SessionPersistencePolicies": "SessionPersistencePolicy", "SessionPolicy": "SessionPersistencePolicy", "BackendPolicies": "BackendTLSPolicy",
		"SessionPoliceman": "", "Policies": "BackendTLSPolicy", "StickyPolicy": "", "sessionpolicy": "",
	} {
		if got := suggest.Nearest(word, policies); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
	if got := suggest.DidYouMean("lax", []string{"Strict", "Lax", "None"}); got != "; did you mean Lax?" {
		t.Errorf("got %q", got)
	}
}
