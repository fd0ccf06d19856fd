package follow

import (
	"maps"
	"reflect"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backendtls"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/loadbalancing"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/pipeline"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/token"
)

// base is all that does not depend on HTTP routes: listeners, routes of connections, and policies that groups read.
type base struct {
	listeners []ir.Listener
	// streams are the results of the routes of connections, without the listeners.
	streams *groupPart
	// routes are the routes of connections. asked are the keys by which the objects behind them were gathered.
	routes []object.Ref
	asked  map[key]bool
	// shared is what groups have in common with it.
	shared *pipeline.Shared
	// attachments are those of policies that it reads for all.
	attachments []policy.Attachment
	// gateways are those whose proxies are served, in order.
	gateways []gatewayName
	// context has the objects that the base was made of, without routes of connections and what is behind them.
	context *resource.Objects
}

// updateBase makes a new frame if it is marked, and marks the groups that depend on what is different.
func (s *State) updateBase(m Environment) {
	before := s.base
	if before != nil && !s.marks.base && !before.streams.isUnacknowledged() && !before.streams.hasPodAt(m.Moved) {
		return
	}
	now := s.newBase(m)
	s.base = now
	if before == nil || !maps.Equal(before.shared.Refused, now.shared.Refused) {
		s.layout.tally = nil // listeners are elsewhere
	}
	if before == nil {
		s.merged.setSites(now.listeners, func(string) bool { return true })
	} else {
		s.gone = append(s.gone, before.streams)
		s.reported.count(before.streams.report, -1)
		s.markBase(before, -1)
		s.merged.countStreams(before, -1)
		s.markPlaces(before.shared.Places, now.shared.Places)
		others := listOtherGateways(before.listeners, now.listeners)
		for key := range others {
			s.changeGateway(key)
		}
		s.merged.setSites(now.listeners, func(key string) bool { return others[key] })
	}
	s.marks.base = false // whatever was marked with the groups
	s.reported.count(now.streams.report, 1)
	s.markBase(now, 1)
	s.merged.countStreams(now, 1)
	if before == nil || before.context != now.context || !maps.Equal(before.streams.taken, now.streams.taken) {
		s.ancestorLimits.changeAll()
	}
	if before == nil || !reflect.DeepEqual(before.listeners, now.listeners) ||
		!slices.Equal(before.gateways, now.gateways) {
		s.merged.was.listeners = true
	}
}

// newBase compiles the objects that all routes may depend on, and the routes of connections.
func (s *State) newBase(m Environment) *base {
	context := s.objects.context
	objects, asked := s.gatherStreams()
	p, made := s.analyze(pipeline.Input{Objects: objects, Whole: &pipeline.Whole{
		Objects: context, Targets: loadbalancing.Targets{Has: s.hasBalancingTarget, Absence: s.objects.absence},
		HasService: func(key string) bool { return s.objects.services[key] != nil },
		Services:   backendtls.Services{Find: s.objects.findService, Absence: s.objects.absence},
	}}, m)
	return &base{
		listeners: made.Plan.Proxy.Listeners, streams: p, routes: slices.Collect(maps.Keys(s.objects.streams)), asked: asked,
		shared: made.Shared, attachments: made.Decisions.Attachments,
		gateways: s.listServed(p.status.Attachments.Gateways), context: context,
	}
}

// gatewayName is a Gateway's key and its [token.GatewayID]. The proxies of all Gateways together have the empty name.
type gatewayName struct{ key, id string }

// listServed lists the Gateways whose proxies are served, in order, or one empty name for the proxies of all.
func (s *State) listServed(gateways []*gateway.Status) (names []gatewayName) {
	if !s.settings.Steps.Apart {
		return []gatewayName{{}}
	}
	for _, g := range gateways {
		o := g.Gateway
		names = append(names, gatewayName{o.Key(), token.GatewayID(o.Namespace, o.Name, string(o.Value.UID))})
	}
	return names
}

// findService gives a Service that was admitted; nil for none.
func (o *inventory) findService(ref object.Ref) *service { return o.services[ref.Key()] }

// absence says why an object was not admitted.
func (o *inventory) absence(ref object.Ref) string { return resource.Absence(ref, o.refused[ref]) }

// listStreamClusters lists the clusters that a listener leads connections or datagrams to, each once.
func listStreamClusters(l ir.Listener) (all []string) {
	if l.Stream != nil {
		all = l.Stream.Clusters()
	}
	for _, h := range l.TLSHosts {
		if h.Stream != nil {
			all = append(all, h.Stream.Clusters()...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// gatherStreams gives all objects that routes of connections may depend on, without policies about sessions: they have
// none.
func (s *State) gatherStreams() (*resource.Objects, map[key]bool) {
	g, all := newGatherer(s), *s.objects.context
	for _, route := range s.objects.streams {
		g.add(route)
		g.addReads(route)
	}
	all.HostRoutes, all.Routes, all.Services, all.Slices = g.all.HostRoutes, g.all.Routes, g.all.Services, g.all.Slices
	all.Refused = slices.Concat(all.Refused, g.all.Refused)
	all.Sort()
	all.Refused = slices.Compact(all.Refused)
	return &all, g.asked
}

// hasBalancingTarget tells whether a target of a LoadBalancerPolicy is there.
func (s *State) hasBalancingTarget(t object.TargetRef) bool {
	kinds := []string{object.KindService, object.KindHTTPRoute, object.KindGRPCRoute}
	return slices.Contains(kinds, t.Kind) && s.objects.targets.Has(t)
}

// listOtherGateways lists the keys of Gateways whose listeners differ in more than certificates, client validation and
// TLS options. Listeners that Gateways share have the empty key.
func listOtherGateways(a, b []ir.Listener) map[string]bool {
	byGateway := [2]map[string][]ir.Listener{{}, {}}
	for i, list := range [][]ir.Listener{a, b} {
		for _, l := range list {
			byGateway[i][l.Gateway] = append(byGateway[i][l.Gateway], withoutCertificates(l))
		}
	}
	others := map[string]bool{}
	for i, of := range byGateway {
		for key, listeners := range of {
			if !reflect.DeepEqual(listeners, byGateway[1-i][key]) {
				others[key] = true
			}
		}
	}
	return others
}

// withoutCertificates returns a listener with only the fields that groups depend on.
func withoutCertificates(l ir.Listener) ir.Listener {
	if l.Stream != nil {
		l.Stream = &ir.Stream{}
	}
	l.TLSHosts = slices.DeleteFunc(slices.Clone(l.TLSHosts), func(h ir.TLSHost) bool { return h.Stream != nil })
	for i := range l.TLSHosts {
		l.TLSHosts[i].Certificates, l.TLSHosts[i].Clients, l.TLSHosts[i].Options = nil, nil, ir.TLSOptions{}
	}
	return l
}

// listEmptyHosts gives the hosts of a site that are there without any route: those that stand among the others by their
// order, and those that come after all of them.
func listEmptyHosts(l ir.Listener, s envoy.Site) (among, after []ir.Host) {
	if len(l.TLSHosts) == 0 {
		return s.Hosts, nil
	}
	return s.Hosts[:1], s.Hosts[1:] // the site's own, and those of other sites
}

// listTLSObjects lists the objects that the TLS of listeners refers to, whether they are there or not.
func listTLSObjects(context *resource.Objects) map[object.Ref]bool {
	used := map[object.Ref]bool{}
	note := func(kind gatewayv1.Kind, home string, namespace *gatewayv1.Namespace, name gatewayv1.ObjectName) {
		if namespace != nil {
			home = string(*namespace)
		}
		used[object.Ref{Kind: string(kind), Namespace: home, Name: string(name)}] = true
	}
	noteListener := func(home string, tls *gatewayv1.ListenerTLSConfig) {
		if tls == nil {
			return
		}
		for _, ref := range tls.CertificateRefs {
			note(object.KindSecret, home, ref.Namespace, ref.Name)
		}
	}
	for _, g := range context.Gateways {
		for _, l := range g.Value.Spec.Listeners {
			noteListener(g.Namespace, l.TLS)
		}
		if tls := g.Value.Spec.TLS; tls != nil && tls.Backend != nil && tls.Backend.ClientCertificateRef != nil {
			ref := tls.Backend.ClientCertificateRef
			note(object.KindSecret, g.Namespace, ref.Namespace, ref.Name)
		}
		for _, v := range resource.ClientValidations(g.Value) {
			for _, ref := range v.CACertificateRefs {
				note(ref.Kind, g.Namespace, ref.Namespace, ref.Name)
			}
		}
	}
	for _, set := range context.ListenerSets {
		for _, l := range set.Value.Spec.Listeners {
			noteListener(set.Namespace, l.TLS)
		}
	}
	return used
}
