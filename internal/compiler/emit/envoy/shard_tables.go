package envoy

import (
	"fmt"
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// ShardHost is a virtual host that is written.
type ShardHost struct {
	Content []byte
	// Shards are those that it is in, nil for all; Routes is how many it has, and Clusters those that they lead to.
	Shards   []uint8
	Routes   int
	Clusters []string
}

// ShardTables are the tables of a site's shards.
type ShardTables struct {
	// Scopes say which table a shard has, or have it themselves. Tables are the others.
	Scopes, Tables []Packed

	hosts    [][]ShardHost // of each table
	sessions bool
}

// Where routes are few or hosts in many tables, shards share tables, for the routes in all of them shall not be many times those that
// there are: fewest routes have one table, and all tables may have spare more than most times the site's.
const (
	most  = 3
	spare = 2000
)

// countTables says how many tables a site has: as many as shards, or less.
func countTables(hosts []ShardHost) int {
	total, all := 0, 0 // routes, and those of hosts that are in all shards
	for i := range hosts {
		total += hosts[i].weight()
		if hosts[i].Shards == nil {
			all += hosts[i].weight()
		}
	}
	if total < fewest {
		return 1
	}
	for tables := shards; tables > 1; tables /= 4 {
		copies := all * tables
		for i := range hosts {
			if h := &hosts[i]; h.Shards != nil {
				copies += h.weight() * len(h.tablesOf(tables))
			}
		}
		if copies <= most*total+spare {
			return tables
		}
	}
	return 1
}

func (h *ShardHost) weight() int { return h.Routes + 1 }

// tablesOf gives the tables of so many that a host is in; nil for all.
func (h *ShardHost) tablesOf(tables int) []uint8 {
	if tables == shards || len(h.Shards) == 0 {
		return h.Shards
	}
	of := make([]uint8, len(h.Shards))
	for i, s := range h.Shards {
		of[i] = s & uint8(tables-1)
	}
	slices.Sort(of)
	return slices.Compact(of)
}

// PackShards gives the tables of a site's shards. What has not changed is the same value as in the last ones, if there are some. Sessions is
// as for PackRoutes.
func (a Assembly) PackShards(siteName string, hosts []ShardHost, sessions bool, last *ShardTables) (*ShardTables, error) {
	e, table := a.newEmitter(), a.Settings.tableName(siteName)
	tables := countTables(hosts)
	next := &ShardTables{hosts: make([][]ShardHost, tables), sessions: sessions}
	for _, h := range hosts {
		if h.Shards == nil {
			for i := range next.hosts {
				next.hosts[i] = append(next.hosts[i], h)
			}
			continue
		}
		for _, i := range h.tablesOf(tables) {
			next.hosts[i] = append(next.hosts[i], h)
		}
	}
	if last == nil || len(last.hosts) != tables || last.sessions != sessions {
		last = nil
	}
	if tables == shards {
		e.packScopes(next, table, last)
	} else {
		e.packShared(next, table, last)
	}
	return next, e.err
}

// packScopes packs a scope with a table for each shard.
func (e *emitter) packScopes(s *ShardTables, table string, last *ShardTables) {
	s.Scopes = make([]Packed, shards)
	for i := range s.Scopes {
		if last != nil && slices.EqualFunc(s.hosts[i], last.hosts[i], isSameHost) {
			s.Scopes[i] = last.Scopes[i]
			continue
		}
		name := shardName(table, i)
		scope := e.newScope(name)
		content := protowire.AppendTag(e.marshalBinary(scope), scopeTable, protowire.BytesType)
		content = protowire.AppendBytes(content, e.joinShard(name, s.hosts[i], s.sessions))
		s.Scopes[i] = Packed{Name: name, Content: content, Clusters: joinClusters(s.hosts[i])}
	}
}

// packShared packs tables that several shards share. A scope that nothing asks for keeps each of them with an Envoy, and has no other
// scope lead there before it is: Envoy has a scope lead nowhere whose table it does not have yet.
func (e *emitter) packShared(s *ShardTables, table string, last *ShardTables) {
	tables := len(s.hosts)
	if tables > 1 {
		s.Tables = make([]Packed, tables)
	}
	for i := range s.Tables {
		if last != nil && slices.EqualFunc(s.hosts[i], last.hosts[i], isSameHost) {
			s.Tables[i] = last.Tables[i]
			continue
		}
		name := sharedName(table, i, tables)
		s.Tables[i] = Packed{Name: name, Content: e.joinHosts(name, s.hosts[i], s.sessions), Clusters: joinClusters(s.hosts[i])}
	}
	if last != nil {
		s.Scopes = last.Scopes
		return
	}
	for i := range tables {
		name := sharedName(table, i, tables)
		holder := e.newScope(name + "#")
		holder.RouteConfigurationName = name
		s.Scopes = append(s.Scopes, Packed{Name: holder.Name, Content: e.marshalBinary(holder)})
	}
	for i := range shards {
		scope := e.newScope(shardName(table, i))
		scope.RouteConfigurationName = sharedName(table, i%tables, tables)
		s.Scopes = append(s.Scopes, Packed{Name: scope.Name, Content: e.marshalBinary(scope), After: scope.RouteConfigurationName})
	}
}

// sharedName is the name of a table that shards share; of one for all it is the site's own.
func sharedName(table string, number, tables int) string {
	if tables == 1 {
		return table
	}
	return fmt.Sprintf("%s#%d/%d", table, number, tables)
}

// scopeTable is the number of ScopedRouteConfiguration's field for a table.
const scopeTable = 5

func (e *emitter) newScope(name string) *routev3.ScopedRouteConfiguration {
	return &routev3.ScopedRouteConfiguration{
		Name: name,
		Key: &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{
			{Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: name}},
		}},
	}
}

// joinShard is joinHosts for a table in its scope, which is not refused for a cluster that has yet to come.
func (e *emitter) joinShard(name string, hosts []ShardHost, sessions bool) []byte {
	lax := e.marshalBinary(&routev3.RouteConfiguration{ValidateClusters: wrapperspb.Bool(false)})
	return append(e.joinHosts(name, hosts, sessions), lax...)
}

func (e *emitter) joinHosts(name string, hosts []ShardHost, sessions bool) []byte {
	texts := make([][]byte, len(hosts))
	for i := range hosts {
		texts[i] = hosts[i].Content
	}
	return e.joinRoutes(name, texts, sessions)
}

func joinClusters(hosts []ShardHost) (all []string) {
	for i := range hosts {
		all = append(all, hosts[i].Clusters...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// isSameHost tells whether two are one and the same, written once.
func isSameHost(a, b ShardHost) bool {
	return len(a.Content) == len(b.Content) && &a.Content[0] == &b.Content[0]
}
