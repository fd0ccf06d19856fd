package envoy

import (
	"cmp"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

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
	// Endpoints are those of all Clusters but the ones with names for hosts, which have theirs themselves.
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
		}
		for _, h := range l.TLSHosts {
			d.Secrets = append(d.Secrets, e.packSecrets(h.Certificates)...)
		}
	}
	for _, c := range g.Config.Clusters {
		for _, p := range c.Localities {
			if p.TLS != nil && p.TLS.Client != nil {
				d.Secrets = append(d.Secrets, e.packSecrets([]ir.Certificate{*p.TLS.Client})...)
			}
		}
	}
	slices.SortFunc(d.Secrets, comparePacked)
	d.Secrets = slices.CompactFunc(d.Secrets, func(a, b Packed) bool { return a.Name == b.Name })
	for _, c := range g.Config.Clusters {
		if named := clusters[c.Name]; named.Inline {
			d.Clusters = append(d.Clusters, Packed{Name: c.Name, Content: named.Resource().Content})
			continue
		}
		d.Clusters = append(d.Clusters, Packed{Name: c.Name, Content: clusters[c.Name].Settings})
		d.Endpoints = append(d.Endpoints, Packed{Name: c.Name, Content: clusters[c.Name].Endpoints})
	}
	if len(d.Listeners) > 0 {
		d.Filter = []Packed{{Name: limpetFilter, Content: e.renderLimpet(g.PluginJSON)}}
	}
	return d, e.err
}

func comparePacked(a, b Packed) int { return cmp.Compare(a.Name, b.Name) }

// packClusters gives clusters and their endpoints by name.
func (r Renderer) packClusters(clusters []ir.Cluster) (map[string]Cluster, error) {
	all, err := r.renderDiscovered(clusters, servedLayout)
	named := make(map[string]Cluster, len(all))
	for _, c := range all {
		named[c.Name] = c
	}
	return named, err
}

// packRoutes gives a site's route configuration. Its virtual hosts are packed one by one, unless that was done before.
func (r Renderer) packRoutes(e *emitter, gateway string, s site) (Packed, error) {
	sessions := tallyHosts(s.hosts...).Most()
	form := itemForm{pinHeader: e.settings.Plugin.PinHeader, sessions: sessions, files: servedLayout, binary: true}
	hosts, err := r.renderHosts(site{name: gateway + "/" + s.name, hosts: s.hosts}, form)
	return Packed{Name: s.name, Content: e.joinRoutes(s.name, hosts, sessions), Clusters: ListClusters(s.hosts)}, err
}

// ListClusters are those that hosts' routes lead to, with those that get copies or are asked, in order, each once.
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
			if route.Auth != nil {
				all = append(all, route.Auth.Cluster)
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

func (e *emitter) packResource(name string, m proto.Message) Packed {
	return Packed{Name: name, Content: e.marshalBinary(m)}
}

// newServerSource is the server that the bootstrap names.
func newServerSource() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}
