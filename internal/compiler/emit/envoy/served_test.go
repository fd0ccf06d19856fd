package envoy_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// twoClusters is a configuration with a listener, a route and two clusters.
func twoClusters() *ir.Config {
	config := serving(ir.Host{Domain: "*", Routes: []ir.Route{{Name: "r", Match: ir.Match{Path: "/"}, Cluster: "service/a/80", Sticky: true}}})
	config.Clusters = []ir.Cluster{
		{Name: "service/a/80", Localities: []ir.Locality{{Name: "a", Endpoints: []ir.Endpoint{host("10.0.0.1:80")}}}},
		{Name: "service/b/80", Localities: []ir.Locality{{Name: "b"}}},
	}
	return config
}

func mustServe(t *testing.T, config *ir.Config) *envoy.Served {
	t.Helper()
	d, err := serve(config, newSettings())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestServedInPieces holds that each piece refers to the next by its name alone, so that listeners have neither routes nor
// the filter's configuration in them, and clusters no endpoints.
func TestServedInPieces(t *testing.T) {
	d := mustServe(t, twoClusters())
	bootstrap, err := envoy.ServerBootstrap{Server: "unix:/run/xds.sock"}.YAML()
	if err != nil {
		t.Fatal(err)
	}
	checkYAML(t, parse(t, string(bootstrap)), `
node: {id: limpet, cluster: limpet}
dynamic_resources:
  ads_config: {api_type: DELTA_GRPC, transport_api_version: V3, grpc_services: [{envoy_grpc: {cluster_name: limpet-serve}}]}
  lds_config: {resource_api_version: V3, ads: {}}
  cds_config: {resource_api_version: V3, ads: {}}
bootstrap_extensions: [{name: envoy.bootstrap.internal_listener}]
static_resources: {clusters: [{name: limpet-serve, type: STATIC, load_assignment: {endpoints: [{lb_endpoints: [{endpoint: {address: {pipe: {path: /run/xds.sock}}}}]}]}}], listeners: [{name: answer-500}, {name: answer-503}]}`)
	if len(d.Listeners) != 1 || len(d.Routes) != 1 || d.Clusters.Len() != 2 {
		t.Fatalf("%d listeners, %d routes, %d clusters", len(d.Listeners), len(d.Routes), d.Clusters.Len())
	}
	checkYAML(t, parsePacked(t, "config.listener.v3.Listener", d.Listeners[0]), `
name: listener/0.0.0.0/80
filter_chains: [{filters: [{typed_config: {route_config: null, rds: {route_config_name: listener/0.0.0.0/80, config_source: {ads: {}}}, http_filters: [
  {name: envoy.filters.http.header_mutation}, {name: envoy.filters.http.cors, disabled: true},
  {name: envoy.filters.http.ext_authz/grpc, disabled: true}, {name: envoy.filters.http.ext_authz/http, disabled: true},
  {name: limpet, disabled: true, typed_config: null, config_discovery: {config_source: {ads: {}}, type_urls: [type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm]}},
  {name: envoy.filters.http.stateful_session}, {name: envoy.filters.http.header_to_metadata, disabled: true}, {name: envoy.filters.http.router}]}}]}]`)
	checkYAML(t, parsePacked(t, "config.route.v3.RouteConfiguration", d.Routes[0]), `
name: listener/0.0.0.0/80
virtual_hosts: [{domains: ["*"], routes: [{name: r, route: {cluster: service/a/80}}]}]`)
	checkYAML(t, parsePacked(t, "config.cluster.v3.Cluster", d.Clusters.Slice()[0]), `
name: service/a/80
type: EDS
load_assignment: null
eds_cluster_config: {eds_config: {ads: {}}}`)
	checkYAML(t, parsePacked(t, "config.endpoint.v3.ClusterLoadAssignment", d.Endpoints.Slice()[0]), `
cluster_name: service/a/80
endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 10.0.0.1}}}}]}]`)
	checkYAML(t, parsePacked(t, "config.core.v3.TypedExtensionConfig", d.Filter[0]), `
name: limpet
typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm, config: {configuration: {value: '{"a": "<b>"}'}, vm_config: {code: {local: {filename: dist/limpet.wasm}}}}}`)
}

// TestServedTLSHosts gives each host of a listener with TLS routes of its own.
func TestServedTLSHosts(t *testing.T) {
	certificates := []ir.Certificate{{Chain: "c", Key: []byte("k")}}
	config := &ir.Config{Listeners: []ir.Listener{{Address: netip.MustParseAddr("::"), Port: 443, TLSHosts: []ir.TLSHost{
		{Domain: "*.example.com", Certificates: certificates}, {Domain: "*", Certificates: certificates},
	}}}}
	var names []string
	for _, r := range mustServe(t, config).Routes {
		names = append(names, r.Name)
	}
	if got, want := strings.Join(names, " "), "listener/::/443/*.example.com listener/::/443/*"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFilterWithAnotherConfiguration has a VM of its own.
func TestFilterWithAnotherConfiguration(t *testing.T) {
	vm := func(config string) string {
		settings := newSettings()
		settings.PluginJSON = []byte(config)
		d, err := serve(twoClusters(), settings)
		if err != nil {
			t.Fatal(err)
		}
		filter := at(t, parsePacked(t, "config.core.v3.TypedExtensionConfig", d.Filter[0]), "typed_config.config")
		checkYAML(t, at(t, filter, "configuration.value"), "'"+config+"'")
		checkYAML(t, at(t, filter, "vm_config"), `{vm_id: limpet}`) // by which what VMs share finds the next one
		return at(t, filter, "vm_config.configuration.value").(string)
	}
	const one, other = `{"a": "<b>"}`, `{"other": "\n\\ \"quoted\""}`
	if again := vm(one); again != vm(one) || again == vm(other) || len(vm(other)) != 16 {
		t.Errorf("two configurations are in the VMs %v and %v", vm(one), vm(other))
	}
}
