package envoy

import (
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// hostTable is a table of virtual hosts, of which it is known which ones: an Envoy that refuses one of them can have
// the others.
type hostTable struct {
	settings Settings
	name     string
	lists    [][]*ShardHost // that come to its hosts
	sessions bool
	isScope  bool
}

func (e *emitter) packTable(t *hostTable) *Packed {
	return &Packed{
		Name:     t.name,
		Content:  e.joinTable(t, listContents(t.hosts())),
		Clusters: joinClusters(t.hosts()),
		table:    t,
	}
}

// hosts are those of the table, by their domains.
func (t *hostTable) hosts() []*ShardHost {
	if len(t.lists) == 1 {
		return t.lists[0]
	}
	hosts := slices.Concat(t.lists...)
	slices.SortFunc(hosts, compareHosts)
	return slices.Compact(hosts)
}

func listContents(hosts []*ShardHost) [][]byte {
	contents := make([][]byte, len(hosts))
	for i := range hosts {
		contents[i] = hosts[i].Content
	}
	return contents
}

// joinTable gives the bytes of a table, of which the hosts are written.
func (e *emitter) joinTable(t *hostTable, contents [][]byte) []byte {
	table := e.joinRoutes(t.name, contents, t.sessions)
	if !t.isScope {
		return table
	}
	// It is not refused for a cluster that has yet to come.
	table = append(table, e.marshalBinary(&routev3.RouteConfiguration{ValidateClusters: wrapperspb.Bool(false)})...)
	scope := protowire.AppendTag(e.marshalBinary(newScope(t.name)), scopeTable, protowire.BytesType)
	return protowire.AppendBytes(scope, table)
}

// HasHosts tells whether it is a table that can be written with other hosts.
func (p *Packed) HasHosts() bool { return p.table != nil && p.Version == "" }

// Hosts are the virtual hosts of such a table, by their domains.
func (p *Packed) Hosts() []*ShardHost { return p.table.hosts() }

// WriteHosts gives the table with other contents of its Hosts, in their order. Where one is nil, the host is there
// without routes: no wildcard of another host may answer for it.
func (p *Packed) WriteHosts(contents [][]byte) []byte {
	hosts, all := p.table.hosts(), slices.Clone(contents)
	for i := range all {
		if all[i] == nil {
			all[i] = emptyHost(hosts[i])
		}
	}
	return Assembly{p.table.settings}.newEmitter().joinTable(p.table, all)
}

// emptyHost is a virtual host without its routes.
func emptyHost(h *ShardHost) []byte {
	host := &routev3.VirtualHost{}
	if err := proto.Unmarshal(h.Content, host); err != nil {
		return h.Content // it is ours, and can be read
	}
	content, _ := proto.Marshal(&routev3.VirtualHost{Name: host.GetName(), Domains: host.GetDomains()})
	return content
}

// Bytes is Content, also where that is put together later.
func (p *Packed) Bytes() []byte {
	if p.Version == "" {
		return p.Content
	}
	return Assembly{p.table.settings}.newEmitter().joinTable(p.table, listContents(p.table.hosts()))
}

func joinClusters(hosts []*ShardHost) (all []string) {
	for i := range hosts {
		all = append(all, hosts[i].Clusters...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
