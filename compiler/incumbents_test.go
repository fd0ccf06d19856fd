package compiler

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
)

// TestIncumbentsTravel: another process reads what one has written, and writes the same.
func TestIncumbentsTravel(t *testing.T) {
	web, edge := object.Ref{Kind: "Gateway", Namespace: "a", Name: "web"}, object.Ref{Kind: "Gateway", Namespace: "b", Name: "edge"}
	at, route := netip.MustParseAddrPort("10.0.0.1:443"), object.Ref{Kind: "TLSRoute", Namespace: "a", Name: "r"}
	has := &Incumbents{
		claims: gateway.Claims{{At: at, Gateway: web}: true, {At: at, Gateway: edge}: true},
		names: policy.HeldNames{
			"HTTPRoute/a/r/rule/x": {Written: "cart", Emitted: "cart-8d7261439b72"}, "HTTPRoute/a/r": {Shares: true},
		},
		hosts: gateway.SoleHosts{
			{Gateway: "a/web", Listener: "tls", Name: "x.example"}: route, {Gateway: "a/web", Listener: "tls", Name: "*.example"}: route,
		},
	}
	text, err := json.Marshal(has)
	if err != nil {
		t.Fatal(err)
	}
	read := &Incumbents{}
	if err := json.Unmarshal(text, read); err != nil || !reflect.DeepEqual(read, has) {
		t.Errorf("%v: %s is read as %+v", err, text, read)
	}
	if again, err := json.Marshal(read); err != nil || string(again) != string(text) {
		t.Errorf("%v: %s is written as %s", err, text, again)
	}
}
