package envoy

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// TestShardOf: a host has the shard that the module writes for it (filter/shard).
func TestShardOf(t *testing.T) {
	table, err := os.ReadFile("../../../../filter/shard/testdata/shards.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		shard, host, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if host == "-" { // none
			host = ""
		}
		if got := fmt.Sprintf("%02x", shardOf(host)); got != shard {
			t.Errorf("%q has %s, want %s", host, got, shard)
		}
	}
}

// testSite are virtual hosts: so many with a name of their own, and with a wildcard, which have a route each.
func testSite(exact, wild int) (hosts []ShardHost) {
	add := func(h ir.Host) {
		content, _ := proto.Marshal(&routev3.VirtualHost{Name: h.Domain, Domains: append([]string{h.Domain}, h.Others...)})
		hosts = append(hosts, ShardHost{h.Domain, content, listShards(&h), 1, []string{"cluster of " + h.Domain}})
	}
	for i := range exact {
		add(ir.Host{Domain: fmt.Sprintf("h%d.example.com", i), Others: []string{fmt.Sprintf("h%d.example.org", i)}})
	}
	for i := range wild {
		add(ir.Host{Domain: fmt.Sprintf("*.w%d.example.com", i)})
	}
	return hosts
}

// TestShardTables: a site has as many tables as its hosts bear; whatever the number, the shard of a host leads to a table that has it, with all
// wildcards, and that leads nowhere before Envoy has it unless it is in the scope.
func TestShardTables(t *testing.T) {
	for _, c := range []struct{ exact, wild, tables int }{
		{0, 0, 1}, {40, 1, 1}, {5000, 0, 256}, {5000, 10, 256}, {5000, 60, 64}, {1000, 500, 4}, {10, 5000, 1},
	} {
		hosts := testSite(c.exact, c.wild)
		s, err := Assembly{}.PackShards("site", hosts, false, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.lists) != c.tables {
			t.Errorf("%d hosts and %d with wildcards have %d tables, want %d", c.exact, c.wild, len(s.lists), c.tables)
		}
		tables := readTables(t, s)
		for _, h := range hosts {
			v := &routev3.VirtualHost{}
			if err := proto.Unmarshal(h.Content, v); err != nil {
				t.Fatal(err)
			}
			for _, domain := range v.GetDomains() {
				for shard, has := range tables {
					if is := strings.HasPrefix(domain, "*") || shardOf(domain) == uint8(shard); is && has != nil && !has[domain] {
						t.Errorf("%d, %d: shard %d has no %s", c.exact, c.wild, shard, domain)
					}
				}
			}
		}
	}
}

// readTables gives the domains of each shard's table; nil for the site's own, which has all.
func readTables(t *testing.T, s *ShardTables) [shards]map[string]bool {
	t.Helper()
	named := map[string]map[string]bool{"site": nil}
	list := func(table *routev3.RouteConfiguration) map[string]bool {
		domains := map[string]bool{}
		for _, host := range table.GetVirtualHosts() {
			for _, domain := range host.GetDomains() {
				domains[domain] = true
			}
		}
		return domains
	}
	for _, p := range s.Tables {
		table := &routev3.RouteConfiguration{}
		if err := proto.Unmarshal(p.Content, table); err != nil || table.GetName() != p.Name {
			t.Fatal(p.Name, err)
		}
		named[p.Name] = list(table)
	}
	var all [shards]map[string]bool
	keys, held := map[string]*routev3.ScopedRouteConfiguration{}, map[string]bool{}
	for _, p := range s.Scopes {
		scope := &routev3.ScopedRouteConfiguration{}
		if err := proto.Unmarshal(p.Content, scope); err != nil || scope.ValidateAll() != nil {
			t.Fatal(p.Name, err, scope.ValidateAll())
		}
		if scope.GetName() != p.Name || scope.GetKey().GetFragments()[0].GetStringKey() != p.Name {
			t.Errorf("%s has the key %v", p.Name, scope.GetKey())
		}
		keys[p.Name] = scope
		held[scope.GetRouteConfigurationName()] = held[scope.GetRouteConfigurationName()] || p.After == ""
	}
	for shard := range all {
		scope := keys[shardName("site", shard)]
		if scope.GetRouteConfiguration() != nil {
			all[shard] = list(scope.GetRouteConfiguration())
			if v := scope.GetRouteConfiguration().GetValidateClusters(); v == nil || v.GetValue() {
				t.Errorf("%s is refused for a cluster that has yet to come", scope.GetName())
			}
			continue
		}
		domains, is := named[scope.GetRouteConfigurationName()]
		if !is || !held[scope.GetRouteConfigurationName()] {
			t.Errorf("%s leads to %q", scope.GetName(), scope.GetRouteConfigurationName())
		}
		all[shard] = domains
	}
	return all
}

// TestShardTablesChange: of another host only the tables are made again that it is in.
func TestShardTablesChange(t *testing.T) {
	for _, wild := range []int{0, 60} {
		hosts := testSite(5000, wild)
		was, err := Assembly{}.PackShards("site", hosts, false, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		now, err := Assembly{}.PackShards("site", testSite(8, 0)[7:], false, nil, was) // written again
		if err != nil {
			t.Fatal(err)
		}
		changed := 0
		for i, p := range slices.Concat(now.Scopes, now.Tables) {
			if &p.Content[0] != &slices.Concat(was.Scopes, was.Tables)[i].Content[0] {
				changed++
			}
		}
		if changed != 2 { // for two names
			t.Errorf("with %d wildcards %d are made again, want 2", wild, changed)
		}
	}
}

// TestShardTablesFollow: tables that have followed random changes, also from one number of tables to another, are those of the same hosts
// packed at once.
func TestShardTablesFollow(t *testing.T) {
	random, pool := rand.New(rand.NewPCG(3, 3)), testSite(600, 40) //nolint:gosec // a fixed sample
	there, divisions := map[string]ShardHost{}, map[int]bool{}
	var followed *ShardTables
	for range 60 {
		var changed []ShardHost
		share := random.IntN(4) // how many go
		for _, i := range random.Perm(len(pool))[:random.IntN(1+len(pool)/(1+random.IntN(40)))] {
			h := pool[i]
			if delete(there, h.Domain); random.IntN(4) < share {
				h.Content = nil
			} else {
				h.Content = append(slices.Clone(h.Content), testSite(1, 0)[0].Content[:random.IntN(3)]...)
				there[h.Domain] = h
			}
			changed = append(changed, h)
		}
		all := slices.Collect(maps.Values(there))
		want, err := Assembly{}.PackShards("site", all, false, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if followed, err = (Assembly{}).PackShards("site", changed, false, nil, followed); err != nil {
			t.Fatal(err)
		}
		divisions[len(want.lists)] = true
		for i, lists := range [][2][]*Packed{
			{followed.Scopes, want.Scopes}, {followed.Tables, want.Tables}, {{followed.Whole}, {want.Whole}},
		} {
			if !slices.EqualFunc(lists[0], lists[1], (*Packed).Equal) ||
				!bytes.Equal(followed.Whole.Bytes(), want.Whole.Bytes()) {
				t.Fatalf("list %d is not that of all %d hosts at once", i, len(all))
			}
		}
	}
	if len(divisions) < 3 {
		t.Errorf("the numbers of tables were %v", divisions)
	}
}
