package xds

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// byShard is first for Envoys that find their routes by shard.
const byShard = `
	cluster a
	cluster b
	filter limpet
	routes web whole cluster:a cluster:b policy:p
	scope web#00 cluster:a
	scope web#01 cluster:b
	listener web routes:web filter:limpet shards`

// byShared is where shards share a table.
var byShared = strings.Replace(byShard, "scope web#00 cluster:a",
	"scope web#half# table:web#half\n\tscope web#00 table:web#half\n\troutes web#half cluster:a", 1)

// withoutModule is for Envoys that have no such module.
var withoutModule = strings.Replace(byShard, "shards", "shards bad", 1)

// TestClientShards holds what an Envoy gets that has no listeners yet. Of which it is supposed that it loads the module it gets those that have
// shards, and no others if it does; otherwise it gets those of whole sites, with the trial, and what it shows is known of the next one. The
// trial goes again.
func TestClientShards(t *testing.T) {
	const sharded, whole = "sharded", "whole: not taken: trial/shards"
	for _, c := range []struct {
		name, config string
		supposed     bool
		routes, want string
	}{
		{
			"as supposed", byShard, true, sharded,
			"clusters+2-0 endpoints+2-0 listeners+2-0 filters+1-0 scopes+2-0 listeners+0-1",
		},
		{ // all scopes at once, for the listener waits for these alone
			"as supposed, shared tables", byShared, true, sharded,
			"clusters+2-0 endpoints+2-0 listeners+2-0 filters+1-0 scopes+3-0 routes+1-0 listeners+0-1",
		},
		{
			"against what is supposed", withoutModule, true, "whole: not taken: web, trial/shards",
			"clusters+2-0 endpoints+2-0 listeners+2-0 listeners+1-0 filters+1-0 routes+1-0",
		},
		{
			"as it shows", byShard, false, sharded,
			"clusters+2-0 endpoints+2-0 listeners+2-0 filters+1-0 routes+1-0 listeners+1-0 scopes+2-0 listeners+0-1",
		},
		{
			"without", withoutModule, false, whole,
			"clusters+2-0 endpoints+2-0 listeners+2-0 filters+1-0 routes+1-0 listeners+1-0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newFakeEnvoy(t)
			e.client.supposes = c.supposed
			to := listed(t, e.now, c.config)
			if c.config == withoutModule { // with which it is only tried
				l := to.findResource(Listener, "web")
				l.content = func() []byte { return []byte("routes:web filter:limpet") }
			}
			e.set(to)
			e.run()
			if got := strings.Join(e.log, " "); got != c.want {
				t.Errorf("sent %s\nwant %s", got, c.want)
			}
			if err := e.holds(to); err != nil {
				t.Error(err)
			}
			if got := e.client.describeRoutes(); got != c.routes {
				t.Errorf("routes are %q, want %q", got, c.routes)
			}
			if all := e.client.listRejected(); len(all) > 0 {
				t.Errorf("rejected are %v", all)
			}
		})
	}
}

// TestClientCrosses holds that an Envoy with whole tables which comes back to a limpet that has scopes tries the module before its listeners
// change, and meets no hole; and so back. One that comes back with scopes is sent nothing.
func TestClientCrosses(t *testing.T) {
	e := newFakeEnvoy(t)
	e.set(listed(t, e.now, first))
	e.run()
	for _, c := range []struct{ to, want string }{
		{byShard, "listeners+1-0 routes+1-0 listeners+1-0 scopes+2-0 listeners+0-1"},
		{byShard, ""},
		{first, "listeners+1-0 routes+1-0 scopes+2-0"},
	} {
		e.connect()
		e.log = nil
		to := listed(t, e.now, c.to)
		e.set(to)
		e.run()
		if got := strings.Join(e.log, " "); got != c.want {
			t.Errorf("sent %s\nwant %s", got, c.want)
		}
		if err := e.holds(to); err != nil {
			t.Error(err)
		}
	}
}

// TestClientScopes holds the order of changes of scopes: after their clusters, and not before a table that they lead to. They go when no
// listener drains any more that looks for them.
func TestClientScopes(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"a route", byShard, strings.Replace(byShard, "#00 cluster:a", "#00 cluster:b", 1), "scopes+1-0"},
		{
			"another backend", byShard, strings.NewReplacer("cluster b", "cluster c", ":b", ":c").Replace(byShard),
			"clusters+1-0 endpoints+1-0 scopes+1-0 clusters+0-1",
		},
		{"to a shared table", byShard, byShared, "scopes+1-0 routes+1-0 scopes+1-0"},
		{"from a shared table", byShared, byShard, "scopes+1-0 scopes+0-1"},
		{"a scope less", byShard, strings.Replace(byShard, "scope web#01 cluster:b", "", 1), "drained scopes+0-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newFakeEnvoy(t)
			e.set(listed(t, e.now, c.from))
			e.run()
			e.log = nil
			to := listed(t, e.now, c.to)
			e.set(to)
			e.run()
			e.drain()
			if got := strings.TrimSuffix(strings.Join(e.log, " "), " drained"); got != c.want {
				t.Errorf("sent %s\nwant %s", got, c.want)
			}
			if err := e.holds(to); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestClientScopesComeBack holds that a scope that was there again meanwhile stays as long as any other.
func TestClientScopesComeBack(t *testing.T) {
	e := newFakeEnvoy(t)
	less := strings.Replace(byShard, "scope web#01 cluster:b", "", 1)
	for _, config := range []string{byShard, less, strings.Replace(byShard, "#01 cluster:b", "#01 cluster:a", 1), less} {
		e.set(listed(t, e.now, config))
		e.run()
		e.now = e.now.Add(drainTime * 2 / 3)
		e.pull()
		e.run()
		if got := string(e.has[ScopedRoutes]["web#01"].GetResource().GetValue()); !strings.Contains(config, got) && config != less || got == "" {
			t.Errorf("the scope is %q with %s", got, config)
		}
	}
	if e.drain(); e.has[ScopedRoutes]["web#01"] != nil {
		t.Error("the scope stays for ever")
	}
}

// TestClientScopesStale holds that a scope does not lead to a table of before, which stays where something is rejected, until the Envoy has the
// new one; nor if that is rejected.
func TestClientScopesStale(t *testing.T) {
	const bad = "\n\tlistener other routes:other bad"
	e := newFakeEnvoy(t)
	for _, config := range []string{byShared, byShard + bad} {
		e.set(listed(t, e.now, config))
		e.run()
	}
	for _, half := range []string{"routes web#half cluster:b bad", "routes web#half cluster:b"} {
		e.set(listed(t, e.now, strings.Replace(byShared, "routes web#half cluster:a", half, 1)+bad))
		for len(e.inbox) > 0 {
			isNew := strings.Contains(half, string(e.has[Routes]["web#half"].GetResource().GetValue()))
			if e.inbox[0].GetTypeUrl() == ScopedRoutes.URL() && !isNew {
				t.Errorf("with %q a scope goes before its table", half)
			}
			e.step()
		}
	}
	if got := string(e.has[ScopedRoutes]["web#00"].GetResource().GetValue()); got != "table:web#half" {
		t.Errorf("the scope is %q in the end", got)
	}
	e.rejects = true // and nothing waits for a scope whose table is not sent, for its cluster is bad
	e.set(listed(t, e.now, byShard+bad))
	e.run()
	e.set(listed(t, e.now, strings.NewReplacer("routes web#half cluster:a", "cluster c bad\n routes web#half cluster:c", "filter:limpet", "filter:limpet v:2").Replace(byShared)+bad))
	if e.run(); !strings.Contains(string(e.has[Listener]["web"].GetResource().GetValue()), "v:2") {
		t.Errorf("the listener waits; %q", e.tail())
	}
}

// TestClientScopesAgain holds that an Envoy whose last listener with scopes has gone has them with the next one, also over connections.
func TestClientScopesAgain(t *testing.T) {
	none := "cluster a"
	for _, connects := range []bool{false, true} {
		e := newFakeEnvoy(t)
		for _, config := range []string{byShard, none, byShard, none, byShared} {
			if connects {
				e.connect()
			}
			to := listed(t, e.now, config)
			e.set(to)
			e.run()
			if config == none {
				continue
			}
			if err := e.holds(to); err != nil {
				t.Errorf("%v; %q", err, e.tail())
			}
		}
	}
}

// TestClientScopesUnseen holds what an Envoy has that came back once its listener, the first again, had scopes of which it had never seen one:
// that one comes when it is there again, and no scope before its table, also where the listener has changed meanwhile.
func TestClientScopesUnseen(t *testing.T) {
	const none, listener = "cluster a\n cluster b", "listener web routes:web filter:limpet shards"
	less := func(config string) string { return strings.Replace(config, "scope web#01 cluster:b", "", 1) }
	later := func(config string) string {
		return strings.Replace(config, listener, "listener web routes:web filter:limpet v:2 shards", 1)
	}
	second := strings.Replace(byShard, listener, "listener second routes:web filter:limpet shards", 1)
	for name, configs := range map[string][]string{
		"the listener has changed":  {byShard, none, less(byShard), later(less(byShard)), later(byShard)},
		"another has its place":     {byShard, none, less(byShard), less(byShard) + "\n listener second routes:web filter:limpet shards", less(second), second},
		"with the first table":      {byShard, none, less(byShard), less(byShared)},
		"with the table and itself": {byShard, none, less(byShard), byShared},
	} {
		for _, connects := range []bool{false, true} {
			e := newFakeEnvoy(t)
			var to *Snapshot
			for i, config := range configs {
				if connects && i == len(configs)-1 {
					e.connect()
					e.set(listed(t, e.now, configs[i-1]))
					e.run()
				}
				to = listed(t, e.now, config)
				e.set(to)
				e.run()
			}
			e.drain()
			e.drain()
			if err := e.holds(to); err != nil {
				t.Errorf("%s, it comes back: %t: %v; %q", name, connects, err, e.tail())
			}
		}
	}
}

// TestClientUnsharded holds that an Envoy without the module waits for no scopes, nor tables to which only these lead: it never asks for one.
func TestClientUnsharded(t *testing.T) {
	e, bad := newFakeEnvoy(t), strings.Replace(byShared, "shards", "shards bad", 1)
	for i := range 3 {
		config := strings.Replace(bad, "routes web#half cluster:a", fmt.Sprintf("routes web#half cluster:a v:%d", i), 1)
		e.wantLiveUnsharded(t, config, "routes:web filter:limpet")
	}
}

// TestClientUnshardedAgain holds the same of one that comes back without it.
func TestClientUnshardedAgain(t *testing.T) {
	e := newFakeEnvoy(t)
	e.set(listed(t, e.now, byShard))
	e.run()
	e.connect()
	for i := range 3 {
		config := strings.Replace(withoutModule, "scope web#00 cluster:a", fmt.Sprintf("scope web#00 cluster:a v:%d", i), 1)
		e.wantLiveUnsharded(t, strings.Replace(config, "filter:limpet", "filter:limpet v:2", 1), "routes:web filter:limpet v:2")
	}
}

// wantLiveUnsharded brings an Envoy to a configuration whose listener it can't have with shards, only as a text says, and wants it live.
func (e *fakeEnvoy) wantLiveUnsharded(t *testing.T, config, listener string) {
	t.Helper()
	to := listed(t, e.now, config)
	to.findResource(Listener, "web").content = func() []byte { return []byte(listener) }
	e.set(to)
	e.run()
	if e.client.live != to {
		t.Errorf("not live: %s; %q", config, e.tail())
	}
}

// TestClientWildcard holds that who takes everything of a type back, and asks for it again, gets it again.
func TestClientWildcard(t *testing.T) {
	e := newFakeEnvoy(t)
	to := listed(t, e.now, byShard)
	e.set(to)
	e.run()
	for _, kind := range []Type{Cluster, ScopedRoutes} {
		e.client.take(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: kind.URL(), ResourceNamesUnsubscribe: []string{"*"}}, e.now)
		clear(e.has[kind])
		e.ask()
		e.client.take(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: kind.URL(), ResourceNamesSubscribe: []string{"*"}}, e.now)
	}
	e.pull()
	e.run()
	if err := e.holds(to); err != nil {
		t.Errorf("%v; %q", err, e.tail())
	}
}

// TestClientBadScope holds that an Envoy which refuses a shard's table has all others, and the one of before.
func TestClientBadScope(t *testing.T) {
	e := newFakeEnvoy(t)
	scopes := func(bad int, backend string) (lines string) {
		for i := range 16 {
			line := fmt.Sprintf("\n\tscope web#%02x cluster:%s", i, backend)
			if i == bad {
				line += " bad"
			}
			lines += line
		}
		return byShard + lines
	}
	e.set(listed(t, e.now, strings.Replace(scopes(-1, "a"), "scope web#00 cluster:a\n\tscope web#01 cluster:b", "", 1)))
	e.run()
	e.set(listed(t, e.now, strings.Replace(scopes(5, "b"), "scope web#00 cluster:a\n\tscope web#01 cluster:b", "", 1)))
	e.run()
	for name, r := range e.has[ScopedRoutes] {
		want := "cluster:b"
		if name == "web#05" {
			want = "cluster:a"
		}
		if got := string(r.GetResource().GetValue()); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	rejected := e.client.listRejected()
	if len(rejected) != 1 || !slices.ContainsFunc(rejected, func(r Rejection) bool { return r.Name == "web#05" && r.Type == "scopes" }) {
		t.Errorf("rejected are %+v", rejected)
	}
}
