package compiler

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// emitServed is emitEnvoy for a server.
func emitServed(j *analysis, o *Options, r *Result) error {
	proxy := j.Plan.Proxy
	config, text, err := plugin.EmitApart(nil, o.global())
	if err != nil {
		return err
	}
	parts := newSplitter(proxy)
	gateways := []envoy.GatewayConfig{{Config: parts.split("")}} // all listeners are of that one
	if o.areApart() {
		gateways = nil
		for _, g := range j.Topology.Attachments.Gateways {
			gateways = append(gateways, envoy.GatewayConfig{
				Gateway: g.Gateway.Key(), Keys: o.served().keysOf(g.Gateway), Config: parts.split(g.Gateway.Key()),
			})
		}
	}
	for i := range gateways {
		gateways[i].Telemetry = o.served().telemetryOf(gateways[i].Gateway)
	}
	served, err := envoy.Serve(proxy.Clusters, o.envoySettings(config, text), gateways)
	r.Served, r.Draining, r.Until = served, proxy.Draining, proxy.Until
	r.Pods, r.Unacknowledged = proxy.Pods, proxy.Unacknowledged
	r.LongestUnused = plugin.LongestUnused(func(yield func(*policyconfig.Policy) bool) {
		for i := range proxy.Policies {
			if !yield(&proxy.Policies[i]) {
				return
			}
		}
	})
	return err
}

// keysOf are what the proxies of a Gateway get in place of all keys; nil for nothing.
func (s *Served) keysOf(g *resource.Object[gatewayv1.Gateway]) *envoy.GatewayKeys {
	if s.Scopes == nil {
		return nil
	}
	return s.Scopes.Of(token.GatewayID(g.Namespace, g.Name, string(g.Value.UID)))
}

// splitter splits a configuration by Gateways, at a cost for each that depends on its own part alone.
type splitter struct {
	listeners map[string][]ir.Listener // by Gateway
	clusters  map[string]ir.Cluster    // by name
}

func newSplitter(whole *ir.Config) *splitter {
	s := &splitter{map[string][]ir.Listener{}, make(map[string]ir.Cluster, len(whole.Clusters))}
	for _, l := range whole.Listeners {
		s.listeners[l.Gateway] = append(s.listeners[l.Gateway], l)
	}
	for _, c := range whole.Clusters {
		s.clusters[c.Name] = c
	}
	return s
}

// split gives the part that belongs to a Gateway: its listeners, and nothing that they don't lead to, in the order of
// the whole.
func (s *splitter) split(gateway string) *ir.Config {
	own := &ir.Config{Listeners: s.listeners[gateway]}
	var clusters []string
	visit := func(hosts []ir.Host, stream *ir.Stream) {
		if stream != nil {
			clusters = append(clusters, stream.Clusters()...)
		}
		clusters = append(clusters, envoy.ListClusters(hosts)...)
	}
	for _, l := range own.Listeners {
		visit(l.Hosts, l.Stream)
		for _, site := range l.TLSHosts {
			visit(site.Hosts, site.Stream)
		}
	}
	slices.Sort(clusters) // as they are in the whole
	for _, name := range slices.Compact(clusters) {
		if c, is := s.clusters[name]; is {
			own.Clusters = append(own.Clusters, c)
		}
	}
	return own
}
