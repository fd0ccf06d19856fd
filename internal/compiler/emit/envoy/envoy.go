// Package envoy writes a complete Envoy bootstrap: listeners, routes, clusters, and the chain of HTTP filters that
// keeps sessions on their hosts. It builds go-control-plane's messages and validates them, so that an xDS server
// could serve the same ones. What each setting is for was tried on a running Envoy; its comment says what happens
// without it.
//
// It gives one file ([Emit], envoy.go) or, for a configuration that changes while Envoy runs, what a server sends
// ([Serve], served.go) to an Envoy that starts from [ServerBootstrap]. Each message is made in the file of its name:
// listener.go, tls.go, filters.go, route.go, retry.go, loadbalancing.go, cluster.go. How messages become text, and why
// the long lists among them are written one item at a time, is in render.go.
package envoy

import (
	"fmt"
	"net/netip"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	overloadv3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	internallistenerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/bootstrap/internal_listener/v3"
	connectionsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/downstream_connections/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Settings is what a bootstrap needs besides the routes.
type Settings struct {
	// Admin is where the admin interface listens; the zero value is nowhere.
	Admin netip.AddrPort
	// AdminAll opens all of its pages.
	AdminAll bool
	// ModulePath is the path of limpet.wasm as Envoy shall open it, or with Native that of liblimpet.so.
	ModulePath string
	// ModuleSHA256 has Envoy fetch limpet.wasm, whose hash that is, at that path of moduleCluster.
	ModuleSHA256 string
	Native       bool
	// ShardModule is the path of limpet-shard.so as Envoys shall open it (shard.go); empty for one table of routes for
	// each site.
	ShardModule string
	// Plugin is the filter's configuration with the policies of all routes, and PluginJSON the text of what is global in
	// it: policies travel with their routes.
	Plugin     policyconfig.Config
	PluginJSON []byte
	// Logged are further fields of access logs.
	Logged LoggedHeaders
}

// identity is the node id and cluster of an Envoy that has no others; discovery refuses to start without them.
const identity = "limpet"

// maxConnections is the limit on clients' connections that Envoy's guide for edge proxies asks for.
const maxConnections = 50_000

// Emit gives the bootstrap as YAML. An error means a fault of this program, for the input was checked before.
func Emit(config *ir.Config, settings Settings) ([]byte, error) {
	e := &emitter{settings: settings}
	bootstrap := e.newBootstrap(config)
	if e.err != nil {
		return nil, e.err
	}
	if err := bootstrap.ValidateAll(); err != nil {
		return nil, fmt.Errorf("the Envoy configuration is not valid: %w", err)
	}
	return writeBootstrap(e, bootstrap, config)
}

// emitter makes messages, and collects the first error of the many small ones that are packed on the way.
type emitter struct {
	settings Settings
	// served says that the parts of it are discovered from a server; else all of it is a bootstrap.
	served bool
	// telemetry is that of the Gateway with that key.
	telemetry Telemetry
	gateway   string
	// cors says that some route has a say on CORS.
	cors bool
	// auth says that some route asks an authorization service.
	auth bool
	// sessions is as in itemForm.
	sessions bool
	// within says that sessions of some route stay in their backend.
	within bool
	// sharded are the sites whose routes are found by shard.
	sharded map[string]bool
	err     error
}

func (e *emitter) newBootstrap(config *ir.Config) *bootstrapv3.Bootstrap {
	static := &bootstrapv3.Bootstrap_StaticResources{}
	e.cors, e.auth, e.within = usesCORS(config), usesAuth(config), usesWithin(config)
	for _, l := range config.Listeners {
		static.Listeners = append(static.Listeners, e.newListener(l))
	}
	if len(config.Clusters) > 0 {
		static.Clusters = []*clusterv3.Cluster{{Name: placeholder}} // for all of them
	}
	b := &bootstrapv3.Bootstrap{
		Node:            &corev3.Node{Id: identity, Cluster: identity},
		Admin:           e.newAdmin(),
		OverloadManager: e.newOverloadManager(),
		StatsConfig:     newStatsConfig(),
		LayeredRuntime:  newRuntime(),
		StaticResources: static,
	}
	if statuses := listDirectStatuses(config); len(statuses) > 0 {
		for _, status := range statuses {
			static.Listeners = append(static.Listeners, e.newAnswerListener(status))
		}
		b.BootstrapExtensions = []*corev3.TypedExtensionConfig{
			e.packExtension("envoy.bootstrap.internal_listener", &internallistenerv3.InternalListener{}),
		}
	}
	return b
}

func (e *emitter) newAdmin() *bootstrapv3.Admin {
	if !e.settings.Admin.IsValid() {
		return nil
	}
	admin := &bootstrapv3.Admin{Address: newAddress(e.settings.Admin)}
	if !e.settings.AdminAll {
		admin.AllowPaths = newAllowedPaths()
	}
	return admin
}

// newAllowedPaths are the pages that show whether Envoy is well and change nothing: no configuration, with what is
// secret in it, and no command line, which may hold some.
func newAllowedPaths() (all []*matcherv3.StringMatcher) {
	for _, page := range []string{
		"/ready", "/stats", "/stats/prometheus", "/clusters", "/listeners", "/certs",
		"/memory",
	} {
		all = append(all,
			&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: page}},
			&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: page + "?"}})
	}
	return all
}

func (e *emitter) newOverloadManager() *overloadv3.OverloadManager {
	return &overloadv3.OverloadManager{ResourceMonitors: []*overloadv3.ResourceMonitor{{
		Name: "envoy.resource_monitors.global_downstream_max_connections",
		ConfigType: &overloadv3.ResourceMonitor_TypedConfig{
			TypedConfig: e.pack(&connectionsv3.DownstreamConnectionsConfig{MaxActiveDownstreamConnections: maxConnections}),
		},
	}}}
}

// newRuntime lifts Envoy's own limit of regular expressions, 100 instructions of a program, by which it would reject a
// whole table of routes. The compiler has bounded each of them.
func newRuntime() *bootstrapv3.LayeredRuntime {
	layer, _ := structpb.NewStruct(map[string]any{"re2.max_program_size.error_level": maxProgram})
	return &bootstrapv3.LayeredRuntime{Layers: []*bootstrapv3.RuntimeLayer{{
		Name: "limpet", LayerSpecifier: &bootstrapv3.RuntimeLayer_StaticLayer{StaticLayer: layer},
	}}}
}

// maxProgram is no limit.
const maxProgram = 1_000_000

// usesCORS reports whether any route has a say on CORS.
func usesCORS(config *ir.Config) bool {
	return anyRoute(config, func(r *ir.Route) bool { return r.CORS != nil })
}

// newStatsConfig makes Prometheus labels of the policy and the outcome that the filter puts into its counters' names.
func newStatsConfig() *metricsv3.StatsConfig {
	tag := func(name, regex string) *metricsv3.TagSpecifier {
		return &metricsv3.TagSpecifier{TagName: name, TagValue: &metricsv3.TagSpecifier_Regex{Regex: regex}}
	}
	return &metricsv3.StatsConfig{StatsTags: []*metricsv3.TagSpecifier{
		tag("limpet_policy", policyconfig.PolicyLabelPattern),
		tag("limpet_outcome", policyconfig.OutcomeLabelPattern),
	}}
}
