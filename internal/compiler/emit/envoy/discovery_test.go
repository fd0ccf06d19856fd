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

func mustDiscover(t *testing.T, config *ir.Config, endpointFiles int) *envoy.Discovery {
	t.Helper()
	d, err := discover(config, newSettings(), "conf", endpointFiles)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDiscoveryInPieces holds that each piece refers to the file of the next, so that listeners have neither routes nor
// the filter's configuration in them, and clusters no endpoints.
func TestDiscoveryInPieces(t *testing.T) {
	d := mustDiscover(t, twoClusters(), 2)
	checkYAML(t, parse(t, string(d.Bootstrap)), `
dynamic_resources:
  lds_config: {resource_api_version: V3, path_config_source: {path: conf/lds.pb}}
  cds_config: {resource_api_version: V3, path_config_source: {path: conf/cds.pb}}
bootstrap_extensions: [{name: envoy.bootstrap.internal_listener}]
static_resources: {clusters: null, listeners: [{name: answer-500}, {name: answer-503}]}`)
	if len(d.Listeners) != 1 || len(d.Routes) != 1 || len(d.Clusters) != 2 {
		t.Fatalf("%d listeners, %d routes, %d clusters", len(d.Listeners), len(d.Routes), len(d.Clusters))
	}
	checkYAML(t, parseResource(t, d.Listeners[0]), `
"@type": type.googleapis.com/envoy.config.listener.v3.Listener
name: listener/0.0.0.0/80
filter_chains: [{filters: [{typed_config: {route_config: null, rds: {route_config_name: listener/0.0.0.0/80, config_source: {path_config_source: {path: conf/rds/listener_0.0.0.0_80.pb}}}, http_filters: [
  {name: envoy.filters.http.header_mutation}, {name: envoy.filters.http.cors, disabled: true},
  {name: envoy.filters.http.ext_authz/grpc, disabled: true}, {name: envoy.filters.http.ext_authz/http, disabled: true},
  {name: limpet, disabled: true, typed_config: null, config_discovery: {config_source: {path_config_source: {path: conf/ecds.pb}}, type_urls: [type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm]}},
  {name: envoy.filters.http.stateful_session}, {name: envoy.filters.http.header_to_metadata, disabled: true}, {name: envoy.filters.http.router}]}}]}]`)
	checkYAML(t, parseResource(t, d.Routes[0].Resource), `
"@type": type.googleapis.com/envoy.config.route.v3.RouteConfiguration
name: listener/0.0.0.0/80
virtual_hosts: [{domains: ["*"], routes: [{name: r, route: {cluster: service/a/80}}]}]`)
	checkYAML(t, parseResource(t, d.Clusters[0].Resource()), `
"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
name: service/a/80
type: EDS
load_assignment: null
eds_cluster_config: {eds_config: {path_config_source: {path: conf/eds/service_a_80.pb}}}`)
	checkYAML(t, parseResource(t, d.Clusters[0].Assignment()), `
"@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
cluster_name: service/a/80
endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 10.0.0.1}}}}]}]`)
	checkYAML(t, parseResource(t, d.Filter), `
"@type": type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig
name: limpet
typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm, config: {configuration: {value: '{"a": "<b>"}'}, vm_config: {code: {local: {filename: dist/limpet.wasm}}}}}`)
}

// TestManyClustersKeepTheirEndpoints holds that above the number of files that Envoy may watch none has one.
func TestManyClustersKeepTheirEndpoints(t *testing.T) {
	for _, c := range mustDiscover(t, twoClusters(), 1).Clusters {
		r := c.Resource()
		checkYAML(t, parseResource(t, r), `{name: `+c.Name+`, type: STATIC, eds_cluster_config: null, load_assignment: {cluster_name: `+c.Name+`}}`)
		back := envoy.SplitCluster(r)
		if !back.Inline || back.Name != c.Name || string(back.Settings) != string(c.Settings) || string(back.Endpoints) != string(c.Endpoints) {
			t.Errorf("%q is split into %q and %q, inline: %t", r.Content, back.Settings, back.Endpoints, back.Inline)
		}
	}
	c := mustDiscover(t, twoClusters(), 2).Clusters[0]
	if back := envoy.SplitCluster(c.Resource()); back.Inline || string(back.Settings) != string(c.Settings) || back.Endpoints != nil {
		t.Errorf("%q is split, inline: %t", c.Settings, back.Inline)
	}
}

// TestDiscoveryOfTLSHosts gives each host of a listener with TLS routes of its own.
func TestDiscoveryOfTLSHosts(t *testing.T) {
	certificates := []ir.Certificate{{Chain: "c", Key: []byte("k")}}
	config := &ir.Config{Listeners: []ir.Listener{{Address: netip.MustParseAddr("::"), Port: 443, TLSHosts: []ir.TLSHost{
		{Domain: "*.example.com", Certificates: certificates}, {Domain: "*", Certificates: certificates},
	}}}}
	var names []string
	for _, r := range mustDiscover(t, config, 2).Routes {
		names = append(names, r.Name+" "+envoy.RoutesFile(r.Name)+" "+r.Counters)
	}
	want := "listener/::/443/*.example.com rds/listener_::_443__.example.com.pb http.port-443.rds.listener/__443/*.example.com\n" +
		"listener/::/443/* rds/listener_::_443__.pb http.port-443.rds.listener/__443/*"
	if got := strings.Join(names, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestFilterWithAnotherConfiguration has a VM of its own.
func TestFilterWithAnotherConfiguration(t *testing.T) {
	vm := func(config string) string {
		settings := newSettings()
		settings.PluginJSON = []byte(config)
		d, err := discover(twoClusters(), settings, "conf", 2)
		if err != nil {
			t.Fatal(err)
		}
		filter := at(t, parseResource(t, d.Filter), "typed_config.config")
		checkYAML(t, at(t, filter, "configuration.value"), "'"+config+"'")
		checkYAML(t, at(t, filter, "vm_config"), `{vm_id: limpet}`) // by which what VMs share finds the next one
		return at(t, filter, "vm_config.configuration.value").(string)
	}
	const one, other = `{"a": "<b>"}`, `{"other": "\n\\ \"quoted\""}`
	if again := vm(one); again != vm(one) || again == vm(other) || len(vm(other)) != 16 {
		t.Errorf("two configurations are in the VMs %v and %v", vm(one), vm(other))
	}
}

// TestFilesAndCounters holds the names of files, which have no folder in them and fit into a file system, and what Envoy's
// counters are called.
func TestFilesAndCounters(t *testing.T) {
	long := "service/" + strings.Repeat("n", 250)
	for name, c := range map[string]struct{ got, want string }{
		"endpoints":                 {envoy.EndpointsFile("service/shop/cart/80"), "eds/service_shop_cart_80.pb"},
		"endpoints with a strategy": {envoy.EndpointsFile("service/shop/cart/80/random"), "eds/service_shop_cart_80_random.pb"},
		"routes":                    {envoy.RoutesFile("listener/0.0.0.0/80"), "rds/listener_0.0.0.0_80.pb"},
		"counters of endpoints":     {envoy.EndpointsCounters("service/shop/cart/80"), "cluster.service/shop/cart/80"},
		"counters with colons":      {envoy.EndpointsCounters("a:b://c:/d"), "cluster.a_b_c_d"},
		"counters of routes":        {envoy.RoutesCounters("listener/fd00::1/8080"), "http.port-8080.rds.listener/fd00__1/8080"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", name, c.got, c.want)
		}
	}
	first, second := envoy.EndpointsFile(long+"a"), envoy.EndpointsFile(long+"b")
	if first == second || len(first) > 255+len("eds/") || !strings.HasPrefix(first, "eds/service_nnn") || strings.Count(first, "/") != 1 {
		t.Errorf("long names are in %s and %s", first, second)
	}
}
