package compiler

import (
	"cmp"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// emitServed is emitEnvoy for a server whose clients are proxies of single Gateways.
func emitServed(j *analysis, o *Options, r *Result) error {
	proxy := j.plan.Proxy
	config, text, err := plugin.EmitApart(nil, o.global())
	if err != nil {
		return err
	}
	var gateways []envoy.ServeSettings
	parts := newSplitter(proxy)
	for _, g := range j.topology.Attachments.Gateways {
		own := parts.split(g.Gateway.Key())
		config.Policies = own.Policies
		gateways = append(gateways, envoy.ServeSettings{
			Gateway: g.Gateway.Key(), Config: own,
			Settings: envoy.Settings{WasmPath: o.Envoy.WasmPath, Plugin: config, PluginJSON: text},
		})
	}
	served, err := j.cache.rendered.Serve(proxy.Clusters, gateways)
	r.Served, r.Draining, r.Until = served, proxy.Draining, proxy.Until
	r.Pods, r.Unsettled = proxy.Pods, proxy.Unsettled
	r.LongestUnused = findLongestUnused(proxy.Policies)
	return err
}

// findLongestUnused gives the longest time for which a session of the policies goes on without a request; those that end with
// nothing but their keys don't count.
func findLongestUnused(policies []policyconfig.Policy) (longest time.Duration) {
	for i := range policies {
		longest = max(longest, time.Duration(cmp.Or(policies[i].IdleTimeout, policies[i].AbsoluteTimeout))*time.Second)
	}
	return longest
}

// splitter splits a configuration by Gateways, at a cost for each that depends on its own part alone.
type splitter struct {
	whole              *ir.Config
	listeners          map[string][]ir.Listener // by Gateway
	clusters, policies map[string][]int         // their places, by name
}

func newSplitter(whole *ir.Config) *splitter {
	s := &splitter{whole, map[string][]ir.Listener{}, map[string][]int{}, map[string][]int{}}
	for _, l := range whole.Listeners {
		s.listeners[l.Gateway] = append(s.listeners[l.Gateway], l)
	}
	for i := range whole.Clusters {
		s.clusters[whole.Clusters[i].Name] = append(s.clusters[whole.Clusters[i].Name], i)
	}
	for i := range whole.Policies {
		s.policies[whole.Policies[i].Name] = append(s.policies[whole.Policies[i].Name], i)
	}
	return s
}

// split gives the part that belongs to a Gateway: its listeners, and nothing that they don't lead to, in the order of the whole.
func (s *splitter) split(gateway string) *ir.Config {
	own := &ir.Config{Listeners: s.listeners[gateway]}
	var clusters, policies []string
	visit := func(hosts []ir.Host, stream *ir.Stream) {
		if stream != nil {
			clusters = append(clusters, stream.Clusters()...)
		}
		clusters = append(clusters, envoy.ListClusters(hosts)...)
		for _, h := range hosts {
			for _, route := range h.Routes {
				for i := range route.Policies {
					policies = append(policies, route.Policies[i].Name)
				}
			}
		}
	}
	for _, l := range own.Listeners {
		visit(l.Hosts, l.Stream)
		for _, site := range l.TLSHosts {
			visit(site.Hosts, site.Stream)
		}
	}
	own.Clusters = pick(s.whole.Clusters, s.clusters, clusters)
	own.Policies = pick(s.whole.Policies, s.policies, policies)
	return own
}

// pick gives the items of a list that have some names, in its order, each once.
func pick[T any](list []T, places map[string][]int, names []string) []T {
	var at []int
	for _, name := range names {
		at = append(at, places[name]...)
	}
	slices.Sort(at)
	picked := []T{}
	for _, i := range slices.Compact(at) {
		picked = append(picked, list[i])
	}
	return picked
}
