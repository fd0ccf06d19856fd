package envoy

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// servedListener is a listener for plain HTTP and one for TLS, and their addresses.
var servedListeners = []ir.Listener{
	{Gateway: "shop/edge", Address: netip.MustParseAddr("10.0.0.1"), Port: 80, Hosts: []ir.Host{{Domain: "*"}}},
	{Gateway: "shop/edge", Address: netip.MustParseAddr("::"), Port: 443, TLSHosts: []ir.TLSHost{{Domain: "*", Hosts: []ir.Host{{Domain: "*"}}}}},
	{Gateway: "shop/edge", Address: netip.MustParseAddr("10.0.0.1"), Port: 53, UDP: true, Stream: &ir.Stream{Cluster: "dns"}},
}

// TestTelemetry holds that a Gateway's listeners have its own log and traces, and that nothing else changes.
func TestTelemetry(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		logged       bool // those of all Gateways
		telemetry    Telemetry
		log, session bool
		tracing      bool
	}{
		"nothing":        {logged: true, log: true, session: true},
		"no log":         {logged: true, telemetry: Telemetry{AccessLog: &no}},
		"a log":          {telemetry: Telemetry{AccessLog: &yes}, log: true},
		"the log of all": {logged: true, telemetry: Telemetry{AccessLog: &yes}, log: true, session: true},
		"traces":         {telemetry: Telemetry{Tracing: true, SamplingPercent: 5}, tracing: true},
	} {
		a := Assembly{Settings: Settings{ModulePath: "/limpet", Plugin: policyconfig.DefaultConfig()}}
		a.Settings.Plugin.AccessLogFields, a.Settings.Logged.Request = c.logged, []string{"x-tenant"}
		d, err := a.ServeBase("shop/edge", servedListeners[:2], c.telemetry)
		if err != nil {
			t.Fatal(err)
		}
		for i, packed := range d.Listeners {
			manager := readManager(t, packed)
			if (len(manager.GetAccessLog()) == 1) != c.log || (manager.GetTracing() != nil) != c.tracing {
				t.Errorf("%s: %d logs, tracing %v", name, len(manager.GetAccessLog()), manager.GetTracing())
			}
			if got := strings.Contains(string(packed.Content), "%REQ(X-TENANT):256%"); got != c.log {
				t.Errorf("%s: listener %d has a header that is logged: %t", name, i, got)
			}
			if got := strings.Contains(string(packed.Content), "session_outcome"); got != c.session {
				t.Errorf("%s: listener %d tells of sessions: %t", name, i, got)
			}
			if c.tracing && (manager.GetTracing().GetRandomSampling().GetValue() != 5 || manager.ValidateAll() != nil ||
				!strings.Contains(string(packed.Content), "shop/edge")) {
				t.Errorf("%s: %v, %v", name, manager.GetTracing(), manager.ValidateAll())
			}
		}
		plain, err := a.ServeBase("shop/edge", servedListeners[:2], Telemetry{})
		if err != nil || !bytes.Equal(plain.Trial.Content, d.Trial.Content) || !plain.Filter[0].Equal(d.Filter[0]) {
			t.Errorf("%s: more than telemetry changes: %v", name, err)
		}
	}
}

// readManager reads what manages HTTP in a listener.
func readManager(t *testing.T, packed *Packed) *hcmv3.HttpConnectionManager {
	t.Helper()
	l, manager := &listenerv3.Listener{}, &hcmv3.HttpConnectionManager{}
	if err := proto.Unmarshal(packed.Content, l); err != nil {
		t.Fatal(err)
	}
	if err := l.GetFilterChains()[0].GetFilters()[0].GetTypedConfig().UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	return manager
}

// TestAddresses holds that the addresses of what is served are those of its listeners.
func TestAddresses(t *testing.T) {
	a := Assembly{Settings: Settings{ModulePath: "/limpet", Plugin: policyconfig.DefaultConfig()}}
	d, err := a.ServeBase("shop/edge", servedListeners, Telemetry{})
	if err != nil || len(d.Addresses) != len(servedListeners) {
		t.Fatal(d.Addresses, err)
	}
	for i, packed := range d.Listeners {
		l := &listenerv3.Listener{}
		if err := proto.Unmarshal(packed.Content, l); err != nil {
			t.Fatal(err)
		}
		at, own := l.GetAddress().GetSocketAddress(), d.Addresses[i]
		if own.At.Addr().String() != at.GetAddress() || uint32(own.At.Port()) != at.GetPortValue() ||
			own.UDP != (at.GetProtocol() == corev3.SocketAddress_UDP) {
			t.Errorf("%s is at %v, and said to be at %v", packed.Name, at, own)
		}
	}
}

// TestFilterIsAskedFor holds that only who has a listener of requests is served the filter: an Envoy without one never asks for it, and a
// server would wait for that before it takes the change for acknowledged.
func TestFilterIsAskedFor(t *testing.T) {
	passed := ir.TLSHost{Domain: "*", Stream: &ir.Stream{Cluster: "c"}}
	at := servedListeners[0].Address
	for name, c := range map[string]struct {
		listeners []ir.Listener
		want      int
	}{
		"HTTP":                    {servedListeners[:1], 1},
		"TLS":                     {servedListeners[1:2], 1},
		"datagrams":               {servedListeners[2:], 0},
		"connections":             {[]ir.Listener{{Address: at, Port: 1, Stream: passed.Stream}}, 0},
		"TLS that passes through": {[]ir.Listener{{Address: at, Port: 1, TLSHosts: []ir.TLSHost{passed}}}, 0},
		"TLS of both kinds":       {[]ir.Listener{{Address: at, Port: 1, TLSHosts: []ir.TLSHost{passed, {Domain: "a.example"}}}}, 1},
		"datagrams and HTTP":      {servedListeners, 1},
	} {
		a := Assembly{Settings: Settings{ModulePath: "/limpet", Plugin: policyconfig.DefaultConfig()}}
		d, err := a.ServeBase("shop/edge", c.listeners, Telemetry{})
		if err != nil || len(d.Filter) != c.want || (d.Trial != nil) != (c.want == 1) {
			t.Errorf("%s: %d filters, a trial %v, %v", name, len(d.Filter), d.Trial, err)
		}
		asking := 0
		for _, l := range d.Listeners {
			asking += bytes.Count(l.Content, []byte("HttpConnectionManager"))
		}
		if (asking > 0) != (c.want == 1) {
			t.Errorf("%s: %d managers of HTTP ask for the filter", name, asking)
		}
	}
}

// TestSecretsAreAskedFor: a Gateway's certificate for hosts is served while one of its clusters shows it, and not before: its Envoys would
// not ask for it, and the server would wait for that until its deadline.
func TestSecretsAreAskedFor(t *testing.T) {
	client := ir.Certificate{Secret: "shop/client"}
	edge := []ir.Listener{{Address: servedListeners[0].Address, Port: 1, ClientCertificates: []ir.Certificate{client}}}
	for name, c := range map[string]struct {
		tls  *ir.UpstreamTLS
		want int
	}{
		"plain HTTP": {nil, 0}, "TLS to whoever asks": {&ir.UpstreamTLS{}, 0}, "TLS with the certificate": {&ir.UpstreamTLS{Client: &client}, 1},
	} {
		clusters := []ir.Cluster{{Name: "c", Localities: []ir.Locality{{TLS: c.tls}}}}
		served, err := Serve(clusters, Settings{ModulePath: "/limpet", Plugin: policyconfig.DefaultConfig()},
			[]GatewayConfig{{Gateway: "shop/edge", Config: &ir.Config{Listeners: edge, Clusters: clusters}}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d := served[0]
		asked := bytes.Count(d.Clusters.Slice()[0].Content, []byte("certificate/shop/client"))
		if len(d.Secrets) != c.want || asked != c.want {
			t.Errorf("%s: %d Secrets are served, and a cluster asks for %d", name, len(d.Secrets), asked)
		}
	}
}

// TestFilterForms holds that a filter in another form is configured alike, with other text for each number.
func TestFilterForms(t *testing.T) {
	for _, native := range []bool{false, true} {
		a := Assembly{Settings: Settings{
			Native: native, ModulePath: "/limpet", Plugin: policyconfig.DefaultConfig(), PluginJSON: []byte(`{"policies":[]}`),
		}}
		d, err := a.ServeBase("shop/edge", servedListeners[:1], Telemetry{})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{string(d.Filter[0].Content): true}
		for number := range 5 {
			varied, err := d.Vary.Number(number)
			if err != nil || seen[string(varied)] || !bytes.Contains(varied, a.Settings.PluginJSON) {
				t.Errorf("%d: %q, %v", number, varied, err)
			}
			seen[string(varied)] = true
		}
	}
}
