package envoy

import (
	"fmt"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	internallistenerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/bootstrap/internal_listener/v3"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/protoyaml"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
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
	// Plugin is the filter's configuration with the policies of all routes, and PluginJSON the text of what is global in it.
	Plugin     policyconfig.Config
	PluginJSON []byte
	// Filter is the resource of the filter with that configuration, and Trial the listener by which an Envoy shows that it takes it.
	Filter, Trial Resource
}

// Resource is something that Envoy discovers by name: the type of a message, and its bytes.
type Resource struct {
	Name    string
	TypeURL string
	Content []byte
}

// The types of resources.
const (
	listenerType   = "type.googleapis.com/envoy.config.listener.v3.Listener"
	routesType     = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	clusterType    = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	assignmentType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	extensionType  = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig"
)

// Routes are those of a listener or site.
type Routes struct {
	Resource
	// Counters is what Envoy's counters about them begin with.
	Counters string
}

// bootstrapStatuses are the statuses that Envoy itself may have to give in the place of backends. Their listeners are always
// there, for they are in the bootstrap.
var bootstrapStatuses = []int{500, 503}

// Discover gives the configuration in pieces for files below a folder, which is written into it as it is given.
// As long as there are no more than endpointFiles clusters, each has its endpoints in a file of its own; with more,
// none has. Envoy takes one of the kernel's inotify instances for every file that it watches, of which a user has 128
// unless told otherwise, and aborts when there is none left; what else it watches are three files and one for each
// listener.
func (r Renderer) Discover(config *ir.Config, settings Settings, folder string, endpointFiles int) (*Discovery, error) {
	a := Assembly{Settings: settings, Folder: folder, Inline: len(config.Clusters) > endpointFiles}
	d, err := a.Frame(config.Listeners)
	if err != nil {
		return nil, err
	}
	for _, l := range config.Listeners {
		for _, s := range listSites(l) {
			sessions := tallyHosts(s.hosts...).Most()
			hosts, err := r.renderHosts(s, a.hostForm(sessions))
			if err != nil {
				return nil, err
			}
			routes, err := a.JoinRoutes(s.name, hosts, sessions)
			if err != nil {
				return nil, err
			}
			d.Routes = append(d.Routes, routes)
		}
	}
	if d.Clusters, err = r.renderDiscovered(config.Clusters, a.layout()); err != nil {
		return nil, err
	}
	return d, nil
}

// Assembly puts a configuration in pieces together from texts.
type Assembly struct {
	Settings Settings
	// Folder is where Envoy finds the files, and Inline says that endpoints are in their clusters.
	Folder string
	Inline bool
	// Server says that there are no files: Envoy asks a server.
	Server bool
}

func (a Assembly) layout() fileLayout {
	if a.Server {
		return servedLayout
	}
	return fileLayout{discovered: true, folder: a.Folder, inline: a.Inline}
}

func (a Assembly) hostForm(sessions bool) itemForm {
	return itemForm{pinHeader: a.Settings.Plugin.PinHeader, native: a.Settings.Native, binary: true, sessions: sessions}
}

func (a Assembly) newEmitter() *emitter { return &emitter{settings: a.Settings, files: a.layout()} }

// Site is a part of a listener with routes of its own, by the name of these.
type Site struct {
	Name  string
	Hosts []ir.Host
}

// ListSites gives a listener's sites, in order.
func ListSites(l ir.Listener) []Site {
	var all []Site
	for _, s := range listSites(l) {
		all = append(all, Site{s.name, s.hosts})
	}
	return all
}

// HostText is a virtual host's bytes in each form that it may have, and what of its routes its table's form depends on.
type HostText struct {
	Tally
	// Clusters are those that its routes lead to, in order.
	Clusters    []string
	usual, lean []byte
}

// Text gives the form for a table whose route configuration turns sessions on, or does not.
func (h *HostText) Text(sessions bool) []byte {
	if sessions {
		return h.lean
	}
	return h.usual
}

// RenderHosts gives the texts of a site's virtual hosts, for JoinRoutes.
func (r Renderer) RenderHosts(a Assembly, s Site) ([]HostText, error) {
	usual, err := r.renderHosts(site{name: s.Name, hosts: s.Hosts}, a.hostForm(false))
	if err != nil {
		return nil, err
	}
	lean, err := r.renderHosts(site{name: s.Name, hosts: s.Hosts}, a.hostForm(true))
	if err != nil {
		return nil, err
	}
	texts := make([]HostText, len(usual))
	for i := range texts {
		texts[i] = HostText{tallyHosts(s.Hosts[i]), ListClusters(s.Hosts[i : i+1]), usual[i], lean[i]}
	}
	return texts, nil
}

// RenderClusters gives clusters with their endpoints.
func (r Renderer) RenderClusters(a Assembly, clusters []ir.Cluster) ([]Cluster, error) {
	return r.renderDiscovered(clusters, a.layout())
}

// JoinRoutes gives the routes of a site, whose virtual hosts are written. Sessions says that most of their routes have some
// (Tally.Most), for which the texts must be made.
func (a Assembly) JoinRoutes(siteName string, hosts [][]byte, sessions bool) (Routes, error) {
	e, name := a.newEmitter(), a.Settings.tableName(siteName)
	return Routes{Resource{name, routesType, e.joinRoutes(name, hosts, sessions)}, RoutesCounters(name)}, e.err
}

// Frame is a configuration without routes and clusters.
func (a Assembly) Frame(listeners []ir.Listener) (*Discovery, error) {
	e, settings := a.newEmitter(), a.Settings
	d := &Discovery{Plugin: settings.Plugin, PluginJSON: settings.PluginJSON}
	for _, l := range listeners {
		listener := e.newListener(l)
		d.Listeners = append(d.Listeners, Resource{listener.Name, listenerType, e.marshalBinary(listener)})
	}
	d.Filter = Resource{FilterName(settings.Native), extensionType, e.renderLimpet(settings.PluginJSON)}
	trial := e.newTrial()
	d.Trial = Resource{trial.Name, listenerType, e.marshalBinary(trial)}
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
		LayeredRuntime:  newRuntime(),
		StatsConfig:     newStatsConfig(),
		StaticResources: static,
		DynamicResources: &bootstrapv3.Bootstrap_DynamicResources{
			CdsConfig: e.files.newSource(ClustersFile),
			LdsConfig: e.files.newSource(ListenersFile),
		},
		BootstrapExtensions: []*corev3.TypedExtensionConfig{
			e.packExtension("envoy.bootstrap.internal_listener", &internallistenerv3.InternalListener{}),
		},
	}
}
