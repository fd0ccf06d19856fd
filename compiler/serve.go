package compiler

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// emitServed is emitEnvoy for a server whose clients are proxies of single Gateways.
func emitServed(j *analysis, o *Options, r *Result) error {
	proxy := j.plan.Proxy
	var gateways []envoy.ServeSettings
	for _, g := range j.topology.Attachments.Gateways {
		key := g.Gateway.Key()
		own := splitConfig(proxy, key)
		config, text, err := plugin.Emit(nil, o.Keys) // policies travel with their routes
		if err != nil {
			return err
		}
		config.Policies = own.Policies
		gateways = append(gateways, envoy.ServeSettings{
			Gateway: key, Config: own,
			Settings: envoy.Settings{WasmPath: o.Envoy.WasmPath, Plugin: config, PluginJSON: text},
		})
	}
	served, err := j.cache.rendered.Serve(proxy.Clusters, gateways)
	r.Served, r.Draining, r.Until = served, proxy.Draining, proxy.Until
	return err
}

// splitConfig gives the part of a configuration that belongs to a Gateway: its listeners, and nothing that they don't lead
// to.
func splitConfig(whole *ir.Config, gateway string) *ir.Config {
	own := &ir.Config{}
	clusters, policies := map[string]bool{}, map[string]bool{}
	visit := func(hosts []ir.Host) {
		for _, name := range envoy.ListClusters(hosts) {
			clusters[name] = true
		}
		for _, h := range hosts {
			for _, route := range h.Routes {
				for _, p := range route.Policies {
					policies[p.Name] = true
				}
			}
		}
	}
	for _, l := range whole.Listeners {
		if l.Gateway != gateway {
			continue
		}
		own.Listeners = append(own.Listeners, l)
		visit(l.Hosts)
		for _, site := range l.TLSHosts {
			visit(site.Hosts)
		}
	}
	own.Clusters = slices.DeleteFunc(slices.Clone(whole.Clusters), func(c ir.Cluster) bool { return !clusters[c.Name] })
	own.Policies = slices.DeleteFunc(slices.Clone(whole.Policies), func(p policyconfig.Policy) bool { return !policies[p.Name] })
	return own
}
