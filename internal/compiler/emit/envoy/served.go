package envoy

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// Served is the configuration of a Gateway's proxies, in the pieces that they discover from a server. All lists are in
// a fixed order, and names are there once.
type Served struct {
	// Gateway is its key, or AllGateways.
	Gateway   string
	Listeners []*Packed
	// Addresses are those of the listeners, in their order.
	Addresses []ListenerAddress
	// Routes has one for each listener, under its name, or for each site of a listener with TLS.
	Routes []*Packed
	// Scopes are in the place of Routes of Sharded sites, with ShardTables, where an Envoy takes ShardTrial.
	Scopes, ShardTables []*Packed
	Sharded             map[string]bool
	ShardTrial          *Packed
	// Endpoints are those of all Clusters but the ones with names for hosts, which have theirs themselves.
	Clusters, Endpoints PackedList
	// Secrets are the certificates that listeners show, and those for hosts, of clients, that some cluster shows.
	Secrets []*Packed
	// Filter is the filter with its configuration, which PluginJSON is, without the policies: these travel with their
	// routes. There is none without a listener of requests, for no other asks for it. Trial is the listener by which an
	// Envoy shows that it takes it.
	Filter     []*Packed
	Trial      *Packed
	PluginJSON []byte
	// Vary gives Filter in other forms.
	Vary FilterForms

	// own are the certificates that listeners show, and clients those of which clusters may show some.
	own, clients []*Packed
}

// ListenerAddress is where a listener listens, for connections or datagrams.
type ListenerAddress struct {
	At  netip.AddrPort
	UDP bool
}

// AllGateways is in the place of a Gateway's key where proxies serve all of them. No Gateway has it.
const AllGateways = "*"

// GatewayConfig is a Gateway's part of a configuration: its listeners and what they lead to.
type GatewayConfig struct {
	Gateway   string
	Telemetry Telemetry
	// Keys are what its proxies have in place of the settings' keys; nil where these are for them.
	Keys *GatewayKeys
	*ir.Config
}

// Serve gives the configurations of Gateways for a server. Clusters are those of all of them.
func Serve(clusters []ir.Cluster, settings Settings, gateways []GatewayConfig) ([]*Served, error) {
	a := Assembly{Settings: settings}
	packed, err := packClusters(clusters)
	if err != nil {
		return nil, err
	}
	all := make([]*Served, len(gateways))
	for i, g := range gateways {
		if all[i], err = serveGateway(a, packed, g); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func serveGateway(a Assembly, clusters map[string]Cluster, g GatewayConfig) (*Served, error) {
	if g.Keys != nil {
		var err error
		if a, err = a.WithKeys(g.Keys); err != nil {
			return nil, err
		}
	}
	d, err := a.ServeBase(g.Gateway, g.Listeners, g.Telemetry)
	if err != nil {
		return nil, err
	}
	for _, l := range g.Listeners {
		for _, s := range listSites(l) {
			if err := packSite(a, d, g, s); err != nil {
				return nil, err
			}
		}
	}
	own := func(yield func(Cluster) bool) {
		for _, c := range g.Clusters {
			if !yield(clusters[c.Name]) {
				return
			}
		}
	}
	d.SetClusters(own)
	d.PickSecrets(own)
	return d, nil
}

// ServeBase is a Gateway's configuration without routes and clusters; without a key that of all of them.
func (a Assembly) ServeBase(gateway string, listeners []ir.Listener, telemetry Telemetry) (*Served, error) {
	e := a.newEmitter()
	e.telemetry, e.gateway = telemetry, gateway
	d := &Served{Gateway: cmp.Or(gateway, AllGateways), PluginJSON: a.Settings.PluginJSON}
	for _, l := range listeners {
		d.Listeners = append(d.Listeners, e.packResource(listenerName(l), e.newListener(l)))
		d.Addresses = append(d.Addresses, ListenerAddress{netip.AddrPortFrom(l.Address, l.Port), l.UDP})
		for _, h := range l.TLSHosts {
			d.own = append(d.own, e.packSecrets(h.Certificates)...)
		}
		d.clients = append(d.clients, e.packSecrets(l.ClientCertificates)...)
	}
	d.own, d.clients = eachOnce(d.own), eachOnce(d.clients)
	e.shardListeners(d, listeners)
	if slices.ContainsFunc(listeners, takesRequests) {
		d.Vary.of = Settings{
			ModulePath: a.Settings.ModulePath, ModuleSHA256: a.Settings.ModuleSHA256, Native: a.Settings.Native,
			Plugin: a.Settings.Plugin, PluginJSON: a.Settings.PluginJSON,
		}
		d.Filter = []*Packed{{Name: FilterName(a.Settings.Native), Content: e.renderLimpet(a.Settings.PluginJSON)}}
		trial := e.newTrial()
		d.Trial = e.packResource(trial.Name, trial)
	}
	return d, e.err
}

// eachOnce sorts resources, and leaves out what is there twice.
func eachOnce(all []*Packed) []*Packed {
	slices.SortFunc(all, comparePacked)
	return slices.CompactFunc(all, func(a, b *Packed) bool { return a.Name == b.Name })
}

// SetClusters gives the configuration its clusters, which are in the order of their names, and the endpoints that are
// apart from them.
func (d *Served) SetClusters(clusters iter.Seq[Cluster]) {
	var all, endpoints []*Packed
	for c := range clusters {
		if all = append(all, c.Settings); c.Endpoints != nil {
			endpoints = append(endpoints, c.Endpoints)
		}
	}
	d.Clusters, d.Endpoints = NewPackedList(all), NewPackedList(endpoints)
}

// PickSecrets gives the configuration the certificates that its listeners show, and those of clients that some cluster
// shows: an Envoy asks for no others, and a server waits until it has asked.
func (d *Served) PickSecrets(clusters iter.Seq[Cluster]) {
	d.Secrets = d.own
	if len(d.clients) == 0 {
		return
	}
	shown := map[string]bool{}
	for c := range clusters {
		for _, name := range c.Secrets {
			shown[name] = true
		}
	}
	isHidden := func(p *Packed) bool { return !shown[p.Name] }
	d.Secrets = eachOnce(slices.Concat(d.own, slices.DeleteFunc(slices.Clone(d.clients), isHidden)))
}

func comparePacked(a, b *Packed) int { return cmp.Compare(a.Name, b.Name) }

// packClusters gives clusters and their endpoints by name.
func packClusters(clusters []ir.Cluster) (map[string]Cluster, error) {
	all, err := RenderClusters(clusters)
	named := make(map[string]Cluster, len(all))
	for _, c := range all {
		named[c.Name] = c
	}
	return named, err
}

// packSite adds a site's route configuration, and those of its shards. Its virtual hosts are packed one by one.
func packSite(a Assembly, d *Served, g GatewayConfig, s site) error {
	sessions := tallyHosts(s.hosts...).Most()
	hosts, err := renderHosts(nil, site{name: g.Gateway + "/" + s.name, hosts: s.hosts}, a.hostForm(sessions))
	if err == nil && g.Keys != nil {
		written := make([]WrittenHost, len(hosts))
		for i := range hosts {
			written[i] = WrittenHost{hosts[i], listScopes(&s.hosts[i])}
		}
		hosts, err = g.Keys.AddKeys(written)
	}
	if err != nil {
		return err
	}
	clusters := ListClusters(s.hosts)
	if !d.Sharded[s.name] {
		routes, err := a.PackRoutes(s.name, hosts, sessions, clusters)
		d.Routes = append(d.Routes, routes)
		return err
	}
	all := make([]ShardHost, len(hosts))
	for i := range all {
		h := &s.hosts[i]
		all[i] = ShardHost{h.Domain, hosts[i], listShards(h), len(h.Routes), ListClusters(s.hosts[i : i+1])}
	}
	tables, err := a.PackShards(s.name, all, sessions, clusters, nil)
	d.Routes = append(d.Routes, tables.Whole)
	d.AddShards(tables)
	return err
}

// HasShards tells whether a table of routes is that of a site with shards.
func (d *Served) HasShards(table string) bool {
	return d.Sharded[strings.TrimSuffix(table, nativeSuffix)]
}

// AddShards adds the tables of a site's shards.
func (d *Served) AddShards(s *ShardTables) {
	d.Scopes = append(d.Scopes, s.Scopes...)
	if len(s.lists) > 1 {
		d.ShardTables = append(d.ShardTables, s.Tables...)
	}
}

// PackRoutes gives the route configuration of a site, whose virtual hosts are written. Sessions says that most of their
// routes have some (Tally.Most), for which the texts must be made.
func (a Assembly) PackRoutes(siteName string, hosts [][]byte, sessions bool, clusters []string) (*Packed, error) {
	e, name := a.newEmitter(), a.Settings.tableName(siteName)
	return &Packed{Name: name, Content: e.joinRoutes(name, hosts, sessions), Clusters: clusters}, e.err
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

func (e *emitter) packSecrets(certificates []ir.Certificate) (all []*Packed) {
	for _, c := range certificates {
		secret := &tlsv3.Secret{Name: secretName(c), Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: newTLSCertificate(c)}}
		all = append(all, e.packResource(secret.Name, secret))
	}
	return all
}

func (e *emitter) packResource(name string, m proto.Message) *Packed {
	return &Packed{Name: name, Content: e.marshalBinary(m)}
}

// newServerSource is the server that the bootstrap names.
func newServerSource() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}

// newTablesSource is the server for tables of routes: a listener waits for them for as long as they take. After Envoy's
// 15 seconds it would answer 404 to all.
func newTablesSource() *corev3.ConfigSource {
	source := newServerSource()
	source.InitialFetchTimeout = durationpb.New(0)
	return source
}
