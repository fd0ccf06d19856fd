package envoy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
)

// ShardHost is a virtual host that is written. It does not change.
type ShardHost struct {
	Domain string
	// Content is nil for one that is gone.
	Content []byte
	// Shards are those that it is in, nil for all; Routes is how many it has, and Clusters those that they lead to.
	Shards   []uint8
	Routes   int
	Clusters []string
}

// ShardTables are the tables of a site's shards.
type ShardTables struct {
	// Scopes say which table a shard has, or have it themselves. Tables are the others, and Whole is that of the site; of
	// one table both are it.
	Scopes, Tables []*Packed
	Whole          *Packed

	hosts    map[string]*ShardHost // by their domains
	weights  shardWeights
	lists    [][]*ShardHost // those of each table, by their domains; a list does not change
	sums     [][sha256.Size]byte
	sessions bool
}

// divisions are how many tables a site may have, but for one.
var divisions = [...]int{shards, shards / 4, shards / 16, shards / 64}

// shardWeights are how many routes and hosts there are, and how many in all tables of each division.
type shardWeights struct {
	total  int
	copies [len(divisions)]int
}

func (w *shardWeights) add(h *ShardHost, by int) {
	weight := by * (h.Routes + 1)
	w.total += weight
	for i, tables := range divisions {
		if h.Shards == nil {
			w.copies[i] += weight * tables
		} else {
			w.copies[i] += weight * len(h.tablesOf(tables))
		}
	}
}

// Where routes are few or hosts in many tables, shards share tables, for the routes in all of them shall not be many
// times those that there are: fewest routes have one table, and all tables may have spare more than most times the
// site's.
const (
	most  = 3
	spare = 2000
)

// countTables says how many tables a site has: as many as shards, or less.
func (w *shardWeights) countTables() int {
	if w.total < fewest {
		return 1
	}
	for i, tables := range divisions {
		if w.copies[i] <= most*w.total+spare {
			return tables
		}
	}
	return 1
}

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

// PackShards gives the tables of a site's shards, from the last ones, which are used up, and the hosts that have
// changed since, or from all hosts. Those tables that have not changed are the same values. Sessions is as for
// PackRoutes, and clusters are those of all hosts.
func (a Assembly) PackShards(
	siteName string, changed []ShardHost, sessions bool, clusters []string, last *ShardTables,
) (*ShardTables, error) {
	e, table := a.newEmitter(), a.Settings.tableName(siteName)
	next := &ShardTables{hosts: map[string]*ShardHost{}, sessions: sessions}
	if last != nil {
		next.hosts, next.weights = last.hosts, last.weights
	}
	was := next.take(changed)
	tables := next.weights.countTables()
	if last != nil && len(last.lists) == tables && last.sessions == sessions {
		next.lists = last.mendLists(changed, was, next.hosts)
	} else {
		next.lists, last = next.listAll(tables), nil
	}
	next.sums = make([][sha256.Size]byte, tables)
	if tables == shards {
		e.packScopes(next, table, last)
	} else {
		e.packShared(next, table, last)
	}
	e.packWhole(next, table, clusters)
	return next, e.err
}

// take puts changed hosts in, and gives those that were there before, in the same order; nil for none.
func (s *ShardTables) take(changed []ShardHost) []*ShardHost {
	was := make([]*ShardHost, len(changed))
	for i := range changed {
		h := &changed[i]
		if was[i] = s.hosts[h.Domain]; was[i] != nil {
			s.weights.add(was[i], -1)
			delete(s.hosts, h.Domain)
		}
		if h.Content != nil {
			s.weights.add(h, 1)
			s.hosts[h.Domain] = h
		}
	}
	return was
}

// listAll lists the hosts of so many tables.
func (s *ShardTables) listAll(tables int) [][]*ShardHost {
	lists := make([][]*ShardHost, tables)
	for _, domain := range slices.Sorted(maps.Keys(s.hosts)) {
		eachTable(s.hosts[domain], tables, func(i int) { lists[i] = append(lists[i], s.hosts[domain]) })
	}
	return lists
}

// mendLists is listAll where few hosts have changed.
func (s *ShardTables) mendLists(changed []ShardHost, was []*ShardHost, hosts map[string]*ShardHost) [][]*ShardHost {
	touched := map[int]map[string]bool{} // by table
	for i := range changed {
		note := func(table int) {
			if touched[table] == nil {
				touched[table] = map[string]bool{}
			}
			touched[table][changed[i].Domain] = true
		}
		for _, h := range []*ShardHost{was[i], hosts[changed[i].Domain]} {
			eachTable(h, len(s.lists), note)
		}
	}
	lists := slices.Clone(s.lists)
	for i, domains := range touched {
		lists[i] = slices.DeleteFunc(slices.Clone(lists[i]), func(h *ShardHost) bool { return domains[h.Domain] })
		for domain := range domains {
			if h := hosts[domain]; h != nil && isInTable(h, i, len(s.lists)) {
				lists[i] = append(lists[i], h)
			}
		}
		slices.SortFunc(lists[i], compareHosts)
	}
	return lists
}

// eachTable visits the tables of so many that a host is in; none for nil.
func eachTable(h *ShardHost, tables int, visit func(table int)) {
	switch {
	case h == nil:
	case h.Shards == nil:
		for i := range tables {
			visit(i)
		}
	default:
		for _, i := range h.tablesOf(tables) {
			visit(int(i))
		}
	}
}

func isInTable(h *ShardHost, table, tables int) bool {
	return h.Shards == nil || slices.Contains(h.tablesOf(tables), uint8(table))
}

// packScopes packs a scope with a table for each shard.
func (e *emitter) packScopes(s *ShardTables, table string, last *ShardTables) {
	var was []*Packed
	if last != nil {
		was = last.Scopes
	}
	s.Scopes = e.packTables(s, last, was, func(i int) *hostTable {
		return &hostTable{settings: e.settings, name: shardName(table, i), isScope: true}
	})
}

// packShared packs tables that several shards share. A scope that nothing asks for keeps each of them with an Envoy,
// and has no other scope lead there before it is: Envoy has a scope lead nowhere whose table it does not have yet.
func (e *emitter) packShared(s *ShardTables, table string, last *ShardTables) {
	tables := len(s.lists)
	newTable := func(i int) *hostTable { return &hostTable{settings: e.settings, name: sharedName(table, i, tables)} }
	if last != nil {
		s.Tables, s.Scopes = e.packTables(s, last, last.Tables, newTable), last.Scopes
		return
	}
	s.Tables = e.packTables(s, nil, nil, newTable)
	for i := range tables {
		of := sharedName(table, i, tables)
		s.Scopes = append(s.Scopes, e.packScope(of+"#", of))
	}
	for i := range shards {
		scope := e.packScope(shardName(table, i), sharedName(table, i%tables, tables))
		scope.After = sharedName(table, i%tables, tables)
		s.Scopes = append(s.Scopes, scope)
	}
}

// packScope packs a scope that leads to a table.
func (e *emitter) packScope(name, table string) *Packed {
	scope := newScope(name)
	scope.RouteConfigurationName = table
	return &Packed{Name: name, Content: e.marshalBinary(scope)}
}

// LeadScope is the scope of a name that leads to a table.
func LeadScope(name, table string) (*Packed, error) {
	e := &emitter{}
	return e.packScope(name, table), e.err
}

// packTables packs a table for each list of hosts, but for those whose lists have not changed: they are what they were.
func (e *emitter) packTables(s, last *ShardTables, was []*Packed, newTable func(i int) *hostTable) []*Packed {
	packed := make([]*Packed, len(s.lists))
	for i := range packed {
		if last != nil && slices.Equal(s.lists[i], last.lists[i]) {
			packed[i], s.sums[i] = was[i], last.sums[i]
			continue
		}
		t := newTable(i)
		t.lists, t.sessions = s.lists[i:i+1], s.sessions
		packed[i] = e.packTable(t)
		s.sums[i] = sha256.Sum256(packed[i].Content)
	}
	return packed
}

// packWhole packs the site's own table, which is put together once it is asked for: what its parts are says whether it
// has changed.
func (e *emitter) packWhole(s *ShardTables, table string, clusters []string) {
	if len(s.lists) == 1 {
		s.Whole = s.Tables[0]
		return
	}
	sum := sha256.New()
	for i := range s.sums {
		sum.Write(s.sums[i][:])
	}
	s.Whole = &Packed{
		Name: table, Clusters: clusters, Version: hex.EncodeToString(sum.Sum(nil)),
		table: &hostTable{settings: e.settings, name: table, lists: s.lists, sessions: s.sessions},
	}
}

func compareHosts(a, b *ShardHost) int { return cmp.Compare(a.Domain, b.Domain) }

// sharedName is the name of a table that shards share; of one for all it is the site's own.
func sharedName(table string, number, tables int) string {
	if tables == 1 {
		return table
	}
	return fmt.Sprintf("%s#%d/%d", table, number, tables)
}

// scopeTable is the number of ScopedRouteConfiguration's field for a table.
const scopeTable = 5

func newScope(name string) *routev3.ScopedRouteConfiguration {
	return &routev3.ScopedRouteConfiguration{
		Name: name,
		Key: &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{
			{Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: name}},
		}},
	}
}
