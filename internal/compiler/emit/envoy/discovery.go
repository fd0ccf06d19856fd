package envoy

import (
	"bytes"
	"fmt"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	internallistenerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/bootstrap/internal_listener/v3"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/protoyaml"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/policy-config"
)

// Discovery is a configuration in the pieces that Envoy watches, each of which changes without the others: a
// bootstrap that stays as it is, and resources in files. All lists are in a fixed order, and names are there once.
type Discovery struct {
	// Bootstrap is the YAML that Envoy starts from.
	Bootstrap []byte
	// Listeners hold nothing but addresses and the chain of filters, so that neither routes nor policies change them.
	Listeners []Resource
	// Routes has one for each listener, under its name, or for each site of a listener with TLS.
	Routes   []Routes
	Clusters []Cluster
	// Plugin is the filter's configuration and PluginJSON its text.
	Plugin     policyconfig.Config
	PluginJSON []byte
	// Filter is the resource of the filter with that configuration.
	Filter Resource

	settings Settings
}

// Resource is something that Envoy discovers by name, as JSON with its type.
type Resource struct {
	Name string
	JSON []byte
}

// Routes are those of a listener or site.
type Routes struct {
	Resource
	// Counters is what Envoy's counters about them begin with.
	Counters string
}

// Cluster is a cluster and its endpoints, apart from each other.
type Cluster struct {
	Name string
	// Settings is the cluster without endpoints, as JSON with its type, and Endpoints its load assignment without.
	Settings, Endpoints []byte
	// Inline says that the endpoints are a part of the cluster, else they have a file of their own.
	Inline bool
}

// bootstrapStatuses are the statuses that Envoy itself may have to give in the place of backends. Their listeners are always
// there, for they are in the bootstrap.
var bootstrapStatuses = []int{500, 503}

// Discover gives the configuration in pieces for files below a folder, which is written into it as it is given.
// As long as there are no more than endpointFiles clusters, each has its endpoints in a file of its own; with more,
// none has. Envoy takes one of the kernel's inotify instances for every file that it watches, of which a user has 128
// unless told otherwise, and aborts when there is none left; what else it watches are three files and one for each
// listener. Texts are those of earlier configurations.
func Discover(config *ir.Config, settings Settings, cache *RenderCache, folder string, endpointFiles int) (*Discovery, error) {
	e := &emitter{settings: settings, cache: cache, parts: &discoveryParts{folder: folder, inline: len(config.Clusters) > endpointFiles}}
	d := &Discovery{Plugin: settings.Plugin, PluginJSON: settings.PluginJSON, settings: settings}
	for _, l := range config.Listeners {
		listener := e.newListener(l)
		d.Listeners = append(d.Listeners, Resource{listener.Name, e.marshalResource(listener)})
	}
	d.Routes = e.parts.routes
	d.Clusters = e.renderDiscoveredClusters(config.Clusters)
	d.Filter = e.newLimpetResource(settings.PluginJSON)
	b := e.newDynamicBootstrap()
	if e.err != nil {
		return nil, e.err
	}
	if err := b.ValidateAll(); err != nil {
		return nil, fmt.Errorf("the Envoy configuration is not valid: %w", err)
	}
	var err error
	d.Bootstrap, err = toYAML(b, protoyaml.Placeholders{})
	return d, err
}

// WithPlugin is the resource of the filter with another configuration.
func (d *Discovery) WithPlugin(pluginJSON []byte) (Resource, error) {
	e := &emitter{settings: d.settings, parts: &discoveryParts{}}
	resource := e.newLimpetResource(pluginJSON)
	return resource, e.err
}

func (e *emitter) newLimpetResource(pluginJSON []byte) Resource {
	frame := e.marshalResource(e.packExtension(limpetFilter, e.newWasm(pluginJSON)))
	before, after := e.cutAround(frame, e.quoteJSON(placeholder))
	return Resource{limpetFilter, bytes.Join([][]byte{before, e.quoteJSON(string(pluginJSON)), after}, nil)}
}

// marshalResource validates a message and gives its JSON with its type.
func (e *emitter) marshalResource(m proto.Message) []byte { return e.marshalMessage(e.pack(m)) }

// marshalMessage gives a message's JSON.
func (e *emitter) marshalMessage(m proto.Message) []byte {
	if e.err != nil {
		return nil
	}
	var text []byte
	text, e.err = toJSON(m)
	return text
}

// newDynamicBootstrap is what does not change: everything but listeners, routes, clusters and the filter's
// configuration, and the listeners inside Envoy that give statuses.
func (e *emitter) newDynamicBootstrap() *bootstrapv3.Bootstrap {
	static := &bootstrapv3.Bootstrap_StaticResources{}
	for _, status := range bootstrapStatuses {
		static.Listeners = append(static.Listeners, e.newAnswerListener(status))
	}
	return &bootstrapv3.Bootstrap{
		Node:            &corev3.Node{Id: identity, Cluster: identity},
		Admin:           e.newAdmin(),
		OverloadManager: e.newOverloadManager(),
		StatsConfig:     newStatsConfig(),
		StaticResources: static,
		DynamicResources: &bootstrapv3.Bootstrap_DynamicResources{
			CdsConfig: e.parts.newFileSource(ClustersFile),
			LdsConfig: e.parts.newFileSource(ListenersFile),
		},
		BootstrapExtensions: []*corev3.TypedExtensionConfig{
			e.packExtension("envoy.bootstrap.internal_listener", &internallistenerv3.InternalListener{}),
		},
	}
}
