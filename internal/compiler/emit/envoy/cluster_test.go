package envoy_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

func host(address string) ir.Endpoint {
	return ir.Endpoint{Address: netip.MustParseAddrPort(address)}
}

func drainingHost(address string) ir.Endpoint {
	return ir.Endpoint{Address: netip.MustParseAddrPort(address), Draining: true}
}

// oneLocality is a single backend with one host.
var oneLocality = []ir.Locality{{Name: "a", Weight: 7, Endpoints: []ir.Endpoint{host("10.0.0.1:8080")}}}

// clusterCases are clusters of ir, and what they become.
var clusterCases = map[string]struct {
	cluster ir.Cluster
	want    string
}{
	"one backend": {
		ir.Cluster{Name: "service/a/80", Localities: oneLocality}, `
name: service/a/80
type: STATIC
connect_timeout: 2s
common_lb_config: {healthy_panic_threshold: {}, override_host_status: {statuses: [UNKNOWN, HEALTHY, DEGRADED, DRAINING]}, locality_weighted_lb_config: null}
circuit_breakers: {thresholds: [{max_retries: 1024, retry_budget: null}]}
load_assignment:
  cluster_name: service/a/80
  policy: null
  endpoints: [{locality: null, load_balancing_weight: null, lb_endpoints: [{health_status: null, endpoint: {address: {socket_address: {address: 10.0.0.1, port_value: 8080}}}}]}]
lb_policy: null
typed_extension_protocol_options: null
eds_cluster_config: null`,
	},
	"a draining host": {
		ir.Cluster{Name: "a", Localities: []ir.Locality{{Endpoints: []ir.Endpoint{drainingHost("[fd00::1]:80"), host("[fd00::2]:80")}}}}, `
load_assignment: {endpoints: [{lb_endpoints: [
  {health_status: DRAINING, endpoint: {address: {socket_address: {address: "fd00::1"}}}},
  {health_status: null, endpoint: {address: {socket_address: {address: "fd00::2"}}}}]}]}`,
	},
	"no host at all": {
		ir.Cluster{Name: "a", Localities: []ir.Locality{{Name: "a"}}}, `
load_assignment: {endpoints: [{lb_endpoints: null}]}`,
	},
	"several backends keep their shares": {
		ir.Cluster{Name: "a", Localities: []ir.Locality{
			{Name: "ns/a:80", Weight: 90, Endpoints: []ir.Endpoint{host("10.0.0.1:80")}}, {Name: "ns/b:80", Weight: 10, Endpoints: []ir.Endpoint{host("10.0.0.2:80")}},
		}}, `
common_lb_config: {locality_weighted_lb_config: {}}
load_assignment:
  policy: {overprovisioning_factor: 10000}
  endpoints:
  - {locality: {sub_zone: "ns/a:80"}, load_balancing_weight: 90, lb_endpoints: [{endpoint: {address: {socket_address: {address: 10.0.0.1}}}}]}
  - {locality: {sub_zone: "ns/b:80"}, load_balancing_weight: 10, lb_endpoints: [{endpoint: {address: {socket_address: {address: 10.0.0.2}}}}]}`,
	},
	"a backend of weight 0 keeps its sessions": {
		ir.Cluster{Name: "a", Localities: []ir.Locality{oneLocality[0], {Name: "old", Endpoints: []ir.Endpoint{host("10.0.0.2:80")}}}}, `
load_assignment:
  endpoints:
  - {load_balancing_weight: 7}
  - {locality: {sub_zone: old}, load_balancing_weight: null, lb_endpoints: [{endpoint: {address: {socket_address: {address: 10.0.0.2}}}}]}`,
	},
	"a backend that Envoy answers for": {
		ir.Cluster{Name: "a", Localities: []ir.Locality{oneLocality[0], {Name: "broken", Weight: 1, DirectStatus: 500, Endpoints: []ir.Endpoint{drainingHost("10.0.0.2:80")}}}}, `
load_assignment:
  endpoints:
  - {}
  - lb_endpoints:
    - {health_status: DRAINING, endpoint: {address: {socket_address: {address: 10.0.0.2}}}}
    - {health_status: null, endpoint: {address: {envoy_internal_address: {server_listener_name: answer-500}}}}`,
	},
	"HTTP/2 with prior knowledge": {
		ir.Cluster{Name: "a", HTTP2: true, Localities: oneLocality}, `
typed_extension_protocol_options:
  envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
    "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
    explicit_http_config: {http2_protocol_options: {}}`,
	},
	"least requests": {ir.Cluster{Name: "a", Balancing: ir.LeastRequest, Localities: oneLocality}, `{lb_policy: LEAST_REQUEST}`},
	"random":         {ir.Cluster{Name: "a", Balancing: ir.Random, Localities: oneLocality}, `{lb_policy: RANDOM}`},
	"by hash":        {ir.Cluster{Name: "a", Balancing: ir.RequestHash, Localities: oneLocality}, `{lb_policy: MAGLEV}`},
	"a retry budget": {
		ir.Cluster{Name: "a", RetryBudget: &ir.RetryBudget{Percent: 33, Interval: 5 * time.Second, MinConcurrency: 7}, Localities: oneLocality}, `
circuit_breakers: {thresholds: [{max_retries: null, retry_budget: {budget_percent: {value: 33}, budget_interval: 5s, min_retry_concurrency: 7}}]}`,
	},
	"a retry budget of nothing": {
		ir.Cluster{Name: "a", RetryBudget: &ir.RetryBudget{Interval: time.Second, MinConcurrency: 1}, Localities: oneLocality}, `
circuit_breakers: {thresholds: [{retry_budget: {budget_percent: {value: null}, min_retry_concurrency: 1}}]}`,
	},
}

// TestClusters holds what a cluster of ir becomes: how its hosts are told apart, weighed, spoken to and balanced over.
//
// requirements: 2A.12, 2A.27, S35, S36, S41
func TestClusters(t *testing.T) {
	for name, c := range clusterCases {
		t.Run(name, func(t *testing.T) {
			b := bootstrap(t, &ir.Config{Clusters: []ir.Cluster{c.cluster}}, newSettings())
			checkYAML(t, at(t, b, "static_resources.clusters.0"), c.want)
		})
	}
}

// TestListenersThatAnswer holds that Envoy has an internal listener for each status that a cluster needs, once, and the
// extension that such listeners need.
func TestListenersThatAnswer(t *testing.T) {
	locality := func(name string, status int) ir.Locality {
		return ir.Locality{Name: name, Weight: 1, DirectStatus: status}
	}
	config := &ir.Config{Clusters: []ir.Cluster{
		{Name: "a", Localities: []ir.Locality{locality("x", 503), locality("y", 500)}}, {Name: "b", Localities: []ir.Locality{locality("x", 503), locality("z", 0)}},
	}}
	checkYAML(t, bootstrap(t, config, newSettings()), `
bootstrap_extensions: [{name: envoy.bootstrap.internal_listener, typed_config: {"@type": type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener}}]
static_resources:
  listeners:
  - name: answer-500
    address: null
    internal_listener: {}
    filter_chains: [{filters: [{typed_config: {stat_prefix: answer-500, http_filters: [{name: envoy.filters.http.router}], route_config: {virtual_hosts: [
      {domains: ["*"], routes: [{match: {prefix: /}, direct_response: {status: 500}}]}]}}}]}]
  - name: answer-503
    filter_chains: [{filters: [{typed_config: {route_config: {virtual_hosts: [{routes: [{direct_response: {status: 503}}]}]}}}]}]`)
	without := &ir.Config{Clusters: []ir.Cluster{{Name: "a", Localities: []ir.Locality{locality("x", 0)}}}}
	checkYAML(t, bootstrap(t, without, newSettings()), `{bootstrap_extensions: null, static_resources: {listeners: null}}`)
}
