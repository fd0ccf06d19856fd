package controller

import (
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// NewSnapshot is what the proxies of a Gateway are served.
func NewSnapshot(since time.Time, d *envoy.Served) *xds.Snapshot {
	return published{}.follow(since, d).snapshot
}

// published is what a Gateway's proxies are served, and what it was made of; nothing at first.
type published struct {
	of       *envoy.Served
	snapshot *xds.Snapshot
}

// follow is what the proxies are served next. A resource that has not changed stays the same value.
func (p published) follow(since time.Time, d *envoy.Served) published {
	if p.of == nil {
		p = published{&envoy.Served{}, xds.NewSnapshot(since)}
	}
	edits := map[xds.Type]xds.Edit{}
	clustersBefore, clusters := p.of.Clusters.Others(d.Clusters)
	endpointsBefore, endpoints := p.of.Endpoints.Others(d.Endpoints)
	for _, lists := range []struct {
		t           xds.Type
		before, now []*envoy.Packed
	}{
		{xds.Cluster, clustersBefore, clusters},
		{xds.Endpoint, endpointsBefore, endpoints},
		{xds.Secret, p.of.Secrets, d.Secrets},
		{xds.Filter, p.of.Filter, d.Filter},
		{xds.Routes, p.of.Routes, d.Routes},
		{xds.Routes, p.of.ShardTables, d.ShardTables},
		{xds.ScopedRoutes, p.of.Scopes, d.Scopes},
		{xds.Listener, p.of.Listeners, d.Listeners},
	} {
		edit := edits[lists.t]
		for _, change := range compare(lists.before, lists.now) {
			if change.now == nil {
				edit.Removed = append(edit.Removed, change.before.Name)
			} else {
				edit.Set = append(edit.Set, newResource(lists.t, change.now, d))
			}
		}
		edits[lists.t] = edit
	}
	return published{d, p.snapshot.Edit(since, edits)}
}

// newResource makes the resource of one that is served.
func newResource(t xds.Type, packed *envoy.Packed, d *envoy.Served) *xds.Resource {
	var r *xds.Resource
	if packed.Version != "" {
		r = xds.NewLater(t, packed.Name, packed.Version, packed.Bytes)
	} else {
		r = xds.NewResource(t, packed.Name, packed.Content)
	}
	r.Needs, r.After, r.Moved = packed.Clusters, packed.After, packed.Moved
	r.Without = func(moved []string) *xds.Resource {
		content, err := envoy.LeaveOut(packed.Content, moved)
		if err != nil {
			content = nil // no Envoy takes that; but they are ours, and can be read
		}
		return xds.NewResource(xds.Endpoint, packed.Name, content)
	}
	if packed.HasHosts() { // so that an Envoy which does not take one of them can have the others
		r.WriteHosts = packed.WriteHosts
		for _, h := range packed.Hosts() {
			r.Hosts = append(r.Hosts, xds.Host{Name: h.Domain, Content: h.Content})
		}
	}
	if t == xds.Routes {
		r.Whole = d.HasShards(packed.Name)
		r.LeadHere = func(name string) *xds.Resource {
			scope, err := envoy.LeadScope(name, packed.Name)
			if err != nil {
				return nil // no Envoy would take it
			}
			return xds.NewResource(xds.ScopedRoutes, scope.Name, scope.Content)
		}
	}
	if t == xds.Filter {
		r.Origin = d.PluginJSON // it may hold keys
		r.Vary = func(content []byte, times int) []byte {
			if varied, err := d.Vary.Number(times); err == nil {
				return varied
			}
			return content // it was written before
		}
		r.Trial = xds.NewResource(xds.Listener, d.Trial.Name, d.Trial.Content)
	}
	if packed.Sharded != nil {
		r.Sharded = xds.NewResource(t, packed.Name, packed.Sharded)
		r.Trial = xds.NewResource(t, d.ShardTrial.Name, d.ShardTrial.Content)
	}
	return r
}

// difference is a resource as it was and as it is; nil before it is new, and once it is gone.
type difference struct{ before, now *envoy.Packed }

// compare gives what is different between two lists. They mostly have the same names at the same places, and nothing is
// looked up before the first that is at another one.
func compare(before, now []*envoy.Packed) (all []difference) {
	if len(before) == len(now) && (len(now) == 0 || &before[0] == &now[0]) {
		return nil // it is one list
	}
	same := 0 // so many names are at the same places
	for ; same < min(len(before), len(now)); same++ {
		was, packed := before[same], now[same]
		if was != packed && was.Name != packed.Name {
			break
		}
		if !was.Equal(packed) {
			all = append(all, difference{was, packed})
		}
	}
	rest := make(map[string]*envoy.Packed, len(before)-same)
	for _, packed := range before[same:] {
		rest[packed.Name] = packed
	}
	for _, packed := range now[same:] {
		was := rest[packed.Name]
		delete(rest, packed.Name)
		if was == nil || !was.Equal(packed) {
			all = append(all, difference{was, packed})
		}
	}
	for _, gone := range rest {
		all = append(all, difference{before: gone})
	}
	return all
}
