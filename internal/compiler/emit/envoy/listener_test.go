package envoy_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

var (
	allIPv4        = netip.MustParseAddr("0.0.0.0")
	oneCertificate = ir.Certificate{Chain: "CHAIN", Key: policyconfig.Secret("KEY")}
)

// listenerCases are listeners of ir, and what they become.
var listenerCases = map[string]struct {
	listener ir.Listener
	want     string
}{
	"plain HTTP": {
		ir.Listener{Address: allIPv4, Port: 8080, Hosts: []ir.Host{{Domain: "*"}}}, `
name: listener/0.0.0.0/8080
address: {socket_address: {address: 0.0.0.0, port_value: 8080}}
listener_filters: null
filter_chains:
- transport_socket: null
  filter_chain_match: null
  filters:
  - name: envoy.filters.network.http_connection_manager
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
      stat_prefix: port-8080
      use_remote_address: true
      normalize_path: true
      merge_slashes: true
      path_with_escaped_slashes_action: UNESCAPE_AND_FORWARD
      common_http_protocol_options: {headers_with_underscores_action: REJECT_REQUEST}
      early_header_mutation_extensions:
      - name: envoy.http.early_header_mutation.header_mutation
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation
          mutations: [{remove_on_match: {key_matcher: {prefix: x-envoy-}}}]
      request_headers_timeout: 30s
      http2_protocol_options: {max_concurrent_streams: 100, initial_stream_window_size: 65536, initial_connection_window_size: 1048576}
      upgrade_configs: [{upgrade_type: websocket}]`,
	},
	"an IPv6 address": {
		ir.Listener{Address: netip.MustParseAddr("fd00::1"), Port: 80}, `
name: listener/fd00::1/80
address: {socket_address: {address: "fd00::1", port_value: 80}}`,
	},
	"TLS, by server name": {
		ir.Listener{Address: allIPv4, Port: 443, TLSHosts: []ir.TLSHost{
			{Domain: "a.example.com", Certificates: []ir.Certificate{oneCertificate, {Chain: "OTHER", Key: policyconfig.Secret("OTHER KEY")}}, Hosts: []ir.Host{{Domain: "a.example.com"}}},
			{Domain: "*", Certificates: []ir.Certificate{oneCertificate}},
		}}, `
name: listener/0.0.0.0/443
listener_filters: [{name: envoy.filters.listener.tls_inspector}]
filter_chains:
- name: a.example.com
  filter_chain_match: {server_names: [a.example.com]}
  filters: [{typed_config: {stat_prefix: port-443, route_config: {name: listener/0.0.0.0/443/a.example.com, virtual_hosts: [{domains: [a.example.com]}]}}}]
  transport_socket:
    name: envoy.transport_sockets.tls
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
      common_tls_context:
        alpn_protocols: [h2, http/1.1]
        tls_certificates:
        - {certificate_chain: {inline_string: CHAIN}, private_key: {inline_string: KEY}}
        - {certificate_chain: {inline_string: OTHER}, private_key: {inline_string: OTHER KEY}}
- name: "*"
  filter_chain_match: null
  filters: [{typed_config: {route_config: {name: listener/0.0.0.0/443/*, virtual_hosts: null}}}]`,
	},
}

// TestListeners holds where Envoy listens and how it treats connections, in the clear and with TLS.
func TestListeners(t *testing.T) {
	for name, c := range listenerCases {
		t.Run(name, func(t *testing.T) {
			b := bootstrap(t, &ir.Config{Listeners: []ir.Listener{c.listener}}, newSettings())
			checkYAML(t, at(t, b, "static_resources.listeners.0"), c.want)
		})
	}
}

// TestFilters holds the chain: what fences the pin header off comes first, and those that make sessions are off unless a
// route turns them on.
func TestFilters(t *testing.T) {
	checkYAML(t, at(t, bootstrap(t, serving(), newSettings()), firstManager+".http_filters"), `
- name: envoy.filters.http.header_mutation
  disabled: true
  typed_config: {mutations: {request_mutations: [{remove: x-limpet-pin-backend}, {remove: x-limpet-pin}], request_trailers_mutations: [{remove: x-limpet-pin}], response_mutations: [{remove: x-limpet-pin}], response_trailers_mutations: [{remove: x-limpet-pin}]}}
- name: limpet
  disabled: true
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm
    config:
      name: limpet
      root_id: limpet
      failure_policy: FAIL_RELOAD
      configuration: {"@type": type.googleapis.com/google.protobuf.StringValue, value: '{"a": "<b>"}'}
      vm_config:
        vm_id: limpet
        runtime: envoy.wasm.runtime.v8
        code: {local: {filename: dist/limpet.wasm}}
        environment_variables: {host_env_keys: [LIMPET_KEYS]}
- name: envoy.filters.http.stateful_session
  disabled: true
  typed_config: {session_state: {name: envoy.http.stateful_session.header, typed_config: {name: x-limpet-pin}}, strict: null}
- name: envoy.filters.http.router
  disabled: null`)
	without := newSettings()
	without.Plugin.Policies = nil
	checkYAML(t, at(t, bootstrap(t, serving(), without), firstManager+".http_filters"), `[{name: envoy.filters.http.router}]`)
}

// TestKeysOfTheFilter holds which variable of Envoy's environment the filter may read.
func TestKeysOfTheFilter(t *testing.T) {
	for name, c := range map[string]struct {
		keys policyconfig.Keys
		want string
	}{
		"a ring in the environment":  {policyconfig.Keys{FromEnv: "OTHER_KEYS"}, `{environment_variables: {host_env_keys: [OTHER_KEYS]}}`},
		"a ring under a root secret": {policyconfig.Keys{Sealed: "..."}, `{environment_variables: {host_env_keys: [LIMPET_ROOT]}}`},
		"a ring in the clear":        {policyconfig.Keys{Ring: &policyconfig.KeyRing{}}, `{environment_variables: null}`},
	} {
		settings := newSettings()
		settings.Plugin.Keys = c.keys
		t.Run(name, func(t *testing.T) {
			checkYAML(t, at(t, bootstrap(t, serving(), settings), firstManager+".http_filters.1.typed_config.config.vm_config"), c.want)
		})
	}
}

// TestBootstrap holds what every bootstrap has, and the admin interface that is there on demand alone.
func TestBootstrap(t *testing.T) {
	settings := newSettings()
	settings.Plugin.PinHeader = "x-other-pin"
	b := bootstrap(t, serving(), settings)
	checkYAML(t, b, `
node: {id: limpet, cluster: limpet}
admin: null
dynamic_resources: null
static_resources: {clusters: null}
overload_manager: {resource_monitors: [{name: envoy.resource_monitors.global_downstream_max_connections, typed_config: {max_active_downstream_connections: "50000"}}]}
stats_config: {stats_tags: [{tag_name: limpet_policy}, {tag_name: limpet_outcome}]}`)
	checkYAML(t, at(t, b, firstManager+".route_config"), `{request_headers_to_remove: [x-other-pin, x-other-pin-backend], response_headers_to_remove: [x-other-pin]}`)
	settings.Admin = netip.MustParseAddrPort("127.0.0.1:9901")
	checkYAML(t, bootstrap(t, serving(), settings), `{admin: {address: {socket_address: {address: 127.0.0.1, port_value: 9901}}}}`)
}

// TestEqualConfigurationsGiveEqualBytes writes one twice, with a comment that says where it comes from.
func TestEqualConfigurationsGiveEqualBytes(t *testing.T) {
	var texts [2]string
	for i := range texts {
		text, err := emit(serving(ir.Host{Domain: "*"}), newSettings())
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	if texts[0] != texts[1] || !strings.HasPrefix(texts[0], "# Written by limpet from Gateway API objects; change those and compile again.\n") {
		t.Errorf("got\n%s\nand\n%s", texts[0], texts[1])
	}
}

// TestConfigurationsThatEnvoyWouldRefuse are faults of those who make ir. Each is found before Envoy sees it, wherever in
// the configuration it is.
func TestConfigurationsThatEnvoyWouldRefuse(t *testing.T) {
	route := func(r ir.Route) *ir.Config { return serving(ir.Host{Domain: "*", Routes: []ir.Route{r}}) }
	for name, config := range map[string]*ir.Config{
		"a cluster without a name": {Clusters: []ir.Cluster{{}}},
		"a host without a name":    serving(ir.Host{}),
		"a status that is none":    route(ir.Route{Name: "r", Match: ir.Match{Path: "/"}, Status: 99}),
		"a route to no cluster":    route(ir.Route{Name: "r", Match: ir.Match{Path: "/"}}),
		"a header without a name":  route(ir.Route{Name: "r", Match: ir.Match{Headers: []ir.ValueMatch{{}}}, Cluster: "a"}),
	} {
		t.Run(name, func(t *testing.T) {
			if text, err := emit(config, newSettings()); err == nil || !strings.Contains(err.Error(), "the Envoy configuration is not valid") {
				t.Errorf("got %v and\n%s", err, text)
			}
			if d, err := serve(config, newSettings()); err == nil || d != nil {
				t.Errorf("in pieces: got %v", err)
			}
		})
	}
	without := newSettings()
	without.Plugin.PinHeader = ""
	if _, err := emit(serving(), without); err == nil {
		t.Error("without a pin header: no error")
	}
}
