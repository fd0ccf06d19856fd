package envoy

import (
	"fmt"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	dynamicmodulesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/dynamic_modules/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	earlymodulesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/dynamic_modules/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/filtermodule"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// For each new table of routes Envoy needs time for all of them. So where it can, it has a table for each shard of a
// site. A small module writes the shard of a request's host into a header before routing (folder filter/shard): a hash
// of the host as Envoy compares it, without a look at what hosts there are. The table of a shard has the hosts whose
// names have that hash, and those with wildcards, which are in all of them; so any shard answers a request for no
// host's very name as the whole table does, and no host needs a change of its listener.

// shards is how many a site has. The module has the number, too.
const shards = 256

// shardOf gives the shard of a host: FNV-1a, folded.
func shardOf(host string) uint8 {
	colon := strings.LastIndexByte(host, ':')
	if colon >= 0 && colon > strings.LastIndexByte(host, ']') {
		host = host[:colon]
	}
	hash := uint32(2166136261)
	for _, c := range []byte(host) {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		hash = (hash ^ uint32(c)) * 16777619
	}
	return uint8(hash ^ hash>>8 ^ hash>>16 ^ hash>>24)
}

// listShards gives the shards of a virtual host, in order; nil for all, as with a wildcard.
func listShards(h *ir.Host) (all []uint8) {
	for _, domain := range append([]string{h.Domain}, h.Others...) {
		if strings.HasPrefix(domain, "*") {
			return nil
		}
		all = append(all, shardOf(domain))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// listSharded names the sites that have shards.
func listSharded(listeners []ir.Listener) map[string]bool {
	all := map[string]bool{}
	for _, l := range listeners {
		for _, s := range listSites(l) {
			if slices.Contains(l.Sharded, s.serverName) {
				all[s.name] = true
			}
		}
	}
	return all
}

// shardRoutes has a manager find its routes by shard.
func (e *emitter) shardRoutes(manager *hcmv3.HttpConnectionManager, table string) {
	manager.EarlyHeaderMutationExtensions = append(manager.EarlyHeaderMutationExtensions, e.newShardWriter(table))
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_ScopedRoutes{ScopedRoutes: &hcmv3.ScopedRoutes{
		Name: "limpet", // all listeners of an Envoy share the scopes
		ScopeKeyBuilder: &hcmv3.ScopedRoutes_ScopeKeyBuilder{
			Fragments: []*hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder{{
				Type: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_{
					HeaderValueExtractor: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor{
						Name:        policyconfig.ShardHeader,
						ExtractType: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_Index{},
					},
				},
			}},
		},
		RdsConfigSource: newTablesSource(),
		ConfigSpecifier: &hcmv3.ScopedRoutes_ScopedRds{ScopedRds: &hcmv3.ScopedRds{ScopedRdsConfigSource: newTablesSource()}},
	}}
}

// newShardWriter is the module for a table.
func (e *emitter) newShardWriter(table string) *corev3.TypedExtensionConfig {
	return e.packExtension(
		"envoy.http.early_header_mutation.dynamic_modules",
		&earlymodulesv3.DynamicModuleEarlyHeaderMutation{
			DynamicModuleConfig: &dynamicmodulesv3.DynamicModuleConfig{
				Name: "limpet-shard", Module: filtermodule.LocalFile(e.settings.ShardModule),
			},
			EarlyHeaderMutationName:   "shard",
			EarlyHeaderMutationConfig: e.pack(wrapperspb.String(table)),
		},
	)
}

// newShardTrial is a listener that takes no connections, by which an Envoy shows that it loads the module.
func (e *emitter) newShardTrial() *listenerv3.Listener {
	const name = trialPrefix + "shards"
	return e.newTrialListener(name, shardTrialAddress, &hcmv3.HttpConnectionManager{
		StatPrefix: "limpet_trial", HttpFilters: []*hcmv3.HttpFilter{e.newRouter()},
		EarlyHeaderMutationExtensions: []*corev3.TypedExtensionConfig{e.newShardWriter(name)},
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{
			RouteConfig: &routev3.RouteConfiguration{Name: name},
		},
	})
}

// shardListeners gives listeners the form for Envoys that load the module.
func (e *emitter) shardListeners(d *Served, listeners []ir.Listener) {
	if e.settings.ShardModule == "" || !slices.ContainsFunc(listeners, takesRequests) {
		return
	}
	d.Sharded = listSharded(listeners)
	e.sharded = d.Sharded
	for i, l := range listeners {
		if slices.ContainsFunc(listSites(l), func(s site) bool { return d.Sharded[s.name] }) {
			d.Listeners[i].Sharded = e.marshalBinary(e.newListener(l))
		}
	}
	e.sharded = nil
	trial := e.newShardTrial()
	d.ShardTrial = e.packResource(trial.Name, trial)
}

// shardName is the name of a shard's scope, which is its key, too: so a name has the same key for ever.
func shardName(table string, shard int) string { return fmt.Sprintf("%s#%02x", table, shard) }
