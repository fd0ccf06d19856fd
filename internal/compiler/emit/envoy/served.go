package envoy

import (
	"cmp"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Packed is a resource in the bytes in which a server sends it.
type Packed struct {
	Name    string
	Content []byte
	// Clusters are those that routes lead to, in order.
	Clusters []string
}

// Served is the configuration of a Gateway's proxies, in the pieces that they discover from a server. All lists are in a
// fixed order, and names are there once.
type Served struct {
	// Gateway is its key.
	Gateway   string
	Listeners []Packed
	// Routes has one for each listener, under its name, or for each site of a listener with TLS.
	Routes []Packed
	// Clusters and Endpoints have the same names.
	Clusters, Endpoints []Packed
	Secrets             []Packed
	// Filter is the filter with its configuration, which PluginJSON is: Plugin without the policies, for these travel with their
	// routes. There is none without listeners.
	Filter     []Packed
	Plugin     policyconfig.Config
	PluginJSON []byte
}

// ServeSettings are those of one Gateway.
type ServeSettings struct {
	Gateway string
	Settings
	// Config has the Gateway's listeners and what they lead to.
	Config *ir.Config
}

// Serve gives the configurations of Gateways for a server. Clusters are those of all of them.
func (r Renderer) Serve(clusters []ir.Cluster, gateways []ServeSettings) ([]*Served, error) {
	packed, err := r.packClusters(clusters)
	if err != nil {
		return nil, err
	}
	all := make([]*Served, len(gateways))
	for i, g := range gateways {
		if all[i], err = r.serveGateway(packed, g); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// servedLayout is that of what a server serves.
var servedLayout = fileLayout{discovered: true, served: true}

func (r Renderer) serveGateway(clusters map[string]Cluster, g ServeSettings) (*Served, error) {
	e := &emitter{settings: g.Settings, files: servedLayout}
	d := &Served{Gateway: g.Gateway, Plugin: g.Plugin, PluginJSON: g.PluginJSON}
	for _, l := range g.Config.Listeners {
		d.Listeners = append(d.Listeners, e.packResource(listenerName(l), e.newListener(l)))
		for _, s := range listSites(l) {
			routes, err := r.packRoutes(e, g.Gateway, s)
			if err != nil {
				return nil, err
			}
			d.Routes = append(d.Routes, routes)
			d.Secrets = append(d.Secrets, e.packSecrets(s.certificates)...)
		}
	}
	slices.SortFunc(d.Secrets, comparePacked)
	d.Secrets = slices.CompactFunc(d.Secrets, func(a, b Packed) bool { return a.Name == b.Name })
	for _, c := range g.Config.Clusters {
		d.Clusters = append(d.Clusters, Packed{Name: c.Name, Content: clusters[c.Name].Settings})
		d.Endpoints = append(d.Endpoints, Packed{Name: c.Name, Content: clusters[c.Name].Endpoints})
	}
	if len(d.Listeners) > 0 {
		d.Filter = []Packed{e.packLimpet(g.PluginJSON)}
	}
	return d, e.err
}

func comparePacked(a, b Packed) int { return cmp.Compare(a.Name, b.Name) }

// packClusters gives clusters and their endpoints by name.
func (r Renderer) packClusters(clusters []ir.Cluster) (map[string]Cluster, error) {
	all, err := renderItems(r.discovered, itemForm{files: servedLayout}, clusters,
		func(c *ir.Cluster) itemKey { return itemKey{name: c.Name} },
		func(e *emitter, _ *itemWriter, c *ir.Cluster) Cluster {
			return Cluster{Name: c.Name, Settings: e.marshalBinary(e.newCluster(c)), Endpoints: e.marshalBinary(newAssignment(c))}
		})
	named := make(map[string]Cluster, len(all))
	for _, c := range all {
		named[c.Name] = c
	}
	return named, err
}

// virtualHosts is the number of RouteConfiguration's field.
const virtualHosts = 2

// packRoutes gives a site's route configuration. Its virtual hosts are packed one by one, unless that was done before.
func (r Renderer) packRoutes(e *emitter, gateway string, s site) (Packed, error) {
	sessions := tallyHosts(s.hosts...).Most()
	routes := e.newRouteConfiguration(s.name, 0, sessions)
	content := e.marshalBinary(routes)
	hosts, err := renderItems(r.hosts, itemForm{pinHeader: e.settings.Plugin.PinHeader, sessions: sessions, files: servedLayout}, s.hosts,
		func(h *ir.Host) itemKey { return itemKey{gateway + "/" + s.name, h.Domain, sessions} },
		func(e *emitter, _ *itemWriter, h *ir.Host) []byte { return e.marshalBinary(e.newVirtualHost(h)) })
	for _, host := range hosts {
		content = protowire.AppendTag(content, virtualHosts, protowire.BytesType)
		content = protowire.AppendBytes(content, host)
	}
	return Packed{Name: s.name, Content: content, Clusters: ListClusters(s.hosts)}, err
}

// ListClusters are those that hosts' routes lead to, with those that get copies, in order, each once.
func ListClusters(hosts []ir.Host) (all []string) {
	for _, h := range hosts {
		for _, route := range h.Routes {
			if route.Cluster != "" {
				all = append(all, route.Cluster)
			}
			for _, share := range route.Split {
				all = append(all, share.Cluster)
			}
			for _, mirror := range route.Mirrors {
				all = append(all, mirror.Cluster)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (e *emitter) packSecrets(certificates []ir.Certificate) (all []Packed) {
	for _, c := range certificates {
		secret := &tlsv3.Secret{Name: secretName(c), Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: newTLSCertificate(c)}}
		all = append(all, e.packResource(secret.Name, secret))
	}
	return all
}

// packLimpet is the filter with a configuration.
func (e *emitter) packLimpet(pluginJSON []byte) Packed {
	wasm := e.newWasm(pluginJSON)
	wasm.Config.Configuration = e.pack(wrapperspb.String(string(pluginJSON)))
	return e.packResource(limpetFilter, e.packExtension(limpetFilter, wasm))
}

func (e *emitter) packResource(name string, m proto.Message) Packed {
	return Packed{Name: name, Content: e.marshalBinary(m)}
}

// marshalBinary validates a message and gives its bytes, the same for equal ones.
func (e *emitter) marshalBinary(m proto.Message) []byte {
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(e.validate(m))
	e.fail(err)
	return content
}

// newServerSource is the server that the bootstrap names.
func newServerSource() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}
