package controller

import (
	"encoding/json"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// NewSnapshot is what the proxies of a Gateway are served.
func NewSnapshot(since time.Time, d *envoy.Served) *xds.Snapshot {
	return published{&envoy.Served{}, xds.NewSnapshot(since, nil)}.follow(since, d).snapshot
}

// published is what a Gateway's proxies are served, and what it was made of.
type published struct {
	of       *envoy.Served
	snapshot *xds.Snapshot
}

// follow is what the proxies are served next. A resource that has not changed stays the same value.
func (p published) follow(since time.Time, d *envoy.Served) published {
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
		t, edit := lists.t, edits[lists.t]
		changed, removed := compare(lists.before, lists.now)
		edit.Removed = append(edit.Removed, removed...)
		for _, packed := range changed {
			r := newResource(t, packed)
			r.Needs, r.After = packed.Clusters, packed.After
			if packed.HasHosts() {
				addHosts(r, packed)
			}
			if t == xds.Routes {
				r.Whole = d.HasShards(packed.Name)
				r.LeadHere = func(scope string) *xds.Resource { return leadScope(scope, packed.Name) }
			}
			r.Moved, r.Without = packed.Moved, func(moved []string) *xds.Resource { return leaveOut(packed, moved) }
			if t == xds.Filter {
				r.Origin = json.RawMessage(d.PluginJSON) // it may hold keys
				r.Vary = varyFilter(d.Vary)
				r.Trial = xds.NewResource(xds.Listener, d.Trial.Name, d.Trial.Content)
			}
			if packed.Sharded != nil {
				r.Sharded = xds.NewResource(t, packed.Name, packed.Sharded)
				r.Trial = xds.NewResource(t, d.ShardTrial.Name, d.ShardTrial.Content)
			}
			edit.Set = append(edit.Set, r)
		}
		edits[t] = edit
	}
	return published{d, p.snapshot.Edit(since, edits)}
}

// addHosts gives a table its hosts, so that an Envoy which does not take one of them can have the others.
func addHosts(r *xds.Resource, packed *envoy.Packed) {
	r.WriteHosts = packed.WriteHosts
	for _, h := range packed.Hosts() {
		r.Hosts = append(r.Hosts, xds.Host{Name: h.Domain, Content: h.Content})
	}
}

func newResource(t xds.Type, packed *envoy.Packed) *xds.Resource {
	if packed.Version != "" {
		return xds.NewLater(t, packed.Name, packed.Version, packed.Bytes)
	}
	return xds.NewResource(t, packed.Name, packed.Content)
}

// leadScope is a scope of a name that leads to a table; nil where no Envoy would take that.
func leadScope(name, table string) *xds.Resource {
	scope, err := envoy.LeadScope(name, table)
	if err != nil {
		return nil
	}
	return newResource(xds.ScopedRoutes, scope)
}

// leaveOut gives endpoints without some at addresses that have passed to other pods.
func leaveOut(packed *envoy.Packed, moved []string) *xds.Resource {
	content, err := envoy.LeaveOut(packed.Content, moved)
	if err != nil {
		content = nil // no Envoy takes that; but they are ours, and can be read
	}
	return xds.NewResource(xds.Endpoint, packed.Name, content)
}

// compare gives what is new or has changed of a list, and the names of what is gone. Lists mostly have the same names,
// and contents mostly are the same slices, so that one is compared with the other at once.
func compare(before, now []*envoy.Packed) (changed []*envoy.Packed, removed []string) {
	if isSame(before, now) {
		return nil, nil
	}
	var rest map[string]*envoy.Packed // of before, once names differ
	for i, packed := range now {
		if rest == nil && i < len(before) && before[i] == packed {
			continue
		}
		if rest == nil && (i >= len(before) || before[i].Name != packed.Name) {
			rest = byName(before[min(i, len(before)):])
		}
		var was *envoy.Packed
		if rest == nil {
			was = before[i]
		} else {
			was = rest[packed.Name]
			delete(rest, packed.Name)
		}
		if was == nil || !was.Equal(packed) {
			changed = append(changed, packed)
		}
	}
	if rest == nil {
		rest = byName(before[min(len(now), len(before)):])
	}
	for name := range rest {
		removed = append(removed, name)
	}
	return changed, removed
}

// isSame tells whether it is one list, not two with equal contents.
func isSame(before, now []*envoy.Packed) bool {
	return len(before) == len(now) && (len(now) == 0 || &before[0] == &now[0])
}

func byName(all []*envoy.Packed) map[string]*envoy.Packed {
	named := make(map[string]*envoy.Packed, len(all))
	for _, packed := range all {
		named[packed.Name] = packed
	}
	return named
}

// varyFilter is an xds.Resource's Vary for filters.
func varyFilter(forms envoy.FilterForms) func(content []byte, times int) []byte {
	return func(content []byte, times int) []byte {
		varied, err := forms.Number(times)
		if err != nil {
			return content // it was written before
		}
		return varied
	}
}
