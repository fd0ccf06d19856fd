package main

// mutation is a change of the code that takes a dependency out.
type mutation struct{ name, file, from, to string }

// The files that have most of them.
const (
	objects   = "internal/compiler/follow/objects.go"
	frame     = "internal/compiler/follow/frame.go"
	part      = "internal/compiler/follow/part.go"
	groups    = "internal/compiler/follow/groups.go"
	merged    = "internal/compiler/follow/merged.go"
	state     = "internal/compiler/follow/state.go"
	follower  = "compiler/follower.go"
	marked    = "internal/compiler/follow/marks.go"
	coupled   = "internal/compiler/follow/couplings.go"
	selection = "internal/compiler/follow/selection.go"
	graph     = "internal/compiler/coupling/graph.go"
	store     = "internal/compiler/resource/store.go"
	decisions = "internal/compiler/policy/decisions.go"
)

var mutations = []mutation{
	{
		"readers of a Service that has left pods not marked", selection,
		"\tfor _, service := range before.ListMoved(s.selected.now) {\n\t\ts.markReaders(service, namespaceOf(service))\n\t}\n",
		"\t_ = before\n",
	},
	{
		"pods that were left not marked where listeners move", marked,
		"\t\ts.markReaders(service, namespaceOf(service))\n\t}\n\tfor _, b",
		"\t\t_ = service\n\t}\n\tfor _, b",
	},
	{
		"what Services select not followed when pods change", selection,
		"s.stale = s.stale || len(some.Pods)+len(some.Slices) > 0",
		"s.stale = s.stale || len(some.Slices) > 0",
	},
	{
		"a changed route is not marked", objects,
		"\ts.markRoute(ref)\n\tfor _, key",
		"\tfor _, key",
	},
	{
		"readers of a Service not marked", objects,
		"ServiceTypeExternalName)\n\ts.markReaders(o.Key(), o.Namespace)",
		"ServiceTypeExternalName)",
	},
	{
		"readers of a slice not marked", objects,
		"s.mayLeadInward(o))\n\ts.markReaders(key, o.Namespace)",
		"s.mayLeadInward(o))",
	},
	{
		"readers of XBackends not marked", marked,
		"\ts.mark(s.objects.readers[readerKey{xbackends: namespace}])",
		"\t_ = namespace",
	},
	{
		"policy on a Service marks no readers", objects,
		"\t\t\ts.mark(s.objects.readers[readerKey{service: at.Target.Key()}])",
		"\t\t\tcontinue",
	},
	{
		"policy on a route does not mark it", objects,
		"\t\tdefault:\n\t\t\ts.markRoute(at.Target.Ref)",
		"\t\tdefault:",
	},
	{
		"policy on a GatewayClass does not mark all", objects,
		"\t\tcase object.KindGatewayClass:\n\t\t\ts.marks.all = true",
		"\t\tcase object.KindGatewayClass:",
	},
	{
		"policy on a Gateway does not mark its routes", objects,
		"\t\t\ts.markGateway(at.Target.Key())",
		"\t\t\t_ = at",
	},
	{
		"policies do not see that a target comes or goes", objects,
		"\t\t\ts.marks.policies[p] = true\n\t\t}\n\t\t// Policies",
		"\t\t\t_ = p\n\t\t}\n\t\t// Policies",
	},
	{
		"frame does not see that a target comes or goes", objects,
		"\t\ts.marks.frame = s.marks.frame || s.objects.hasServicePolicies()\n\t})",
		"\t})",
	},
	{
		"frame does not see that a target is refused", objects,
		"\t\ts.marks.frame = s.marks.frame || s.objects.hasServicePolicies()\n\t\ts.markReaders",
		"\t\ts.markReaders",
	},
	{
		"GatewayClasses do not mark all groups", marked,
		"\ts.marks.all = s.marks.all || len(some.Classes) > 0",
		"\t_ = some.Classes",
	},
	{
		"a Namespace does not mark its routes", marked,
		"\t\ts.markNamespace(n.Name)\n",
		"\t\t_ = n\n",
	},
	{
		"a ReferenceGrant marks no routes", marked,
		"\tmarkNamespaces(s, some.Grants)\n",
		"",
	},
	{
		"a LoadBalancerPolicy marks no routes", marked,
		"\tmarkNamespaces(s, some.LoadBalancers)\n",
		"",
	},
	{
		"an XBackendTrafficPolicy marks no routes", marked,
		"\tmarkNamespaces(s, some.TrafficPolicies)\n",
		"",
	},
	{
		"an XBackend marks no routes", marked,
		"\tmarkNamespaces(s, some.Backends)\n",
		"",
	},
	{
		"a BackendTLSPolicy marks no routes", marked,
		"\tmarkNamespaces(s, some.BackendTLS)\n",
		"",
	},
	{
		"Secrets with authorities mark no routes", marked,
		"\tmarkVerified(s, some.Secrets)\n",
		"",
	},
	{
		"ConfigMaps with authorities mark no routes", marked,
		"\tmarkVerified(s, some.ConfigMaps)\n",
		"",
	},
	{
		"routes that lead into a namespace are not found by it", objects,
		"\t\to.touching.Set(key.namespace(), ref, present)\n",
		"",
	},
	{
		"HTTPProxies are on no Gateway", marked,
		"\ts.mark(s.objects.atPlace[\"\"])\n",
		"",
	},
	{
		"other listeners mark no groups", frame,
		"\t\t\ts.markGateway(key)\n",
		"\t\t\t_ = key\n",
	},
	{
		"hosts at Envoy's addresses not marked", frame,
		"\t\ts.markInward(before.shared.Places, now.shared.Places)\n",
		"",
	},
	{
		"routes of a ListenerSet stay where they were", coupled,
		"\t\ts.objects.graph.Set(ref, s.newNode(route))\n\t\ts.marks.routes[ref] = true",
		"\t\ts.marks.routes[ref] = true",
	},
	{
		"client certificates not given to groups", frame,
		"\t\t\tnote(object.KindSecret, g.Namespace, ref.Namespace, ref.Name)",
		"\t\t\t_ = ref",
	},
	{
		"context does not mark the frame", objects,
		"newShared(now), true",
		"newShared(now), s.marks.frame",
	},
	{
		"readers of what is refused not marked", objects,
		"\t\ts.markReaders(ref.Key(), ref.Namespace)",
		"\t\t_ = ref",
	},
	{
		"refused Gateways not in the context", objects,
		"\t\t\tnow.Refused = append(now.Refused, ref)",
		"\t\t\t_ = ref",
	},
	{
		"refused Services not given to groups", part,
		"\t\tg.all.Refused = append(g.all.Refused, ref)",
		"\t\t_ = ref",
	},
	{
		"Namespaces not given to groups", part,
		"\t\tg.all.Namespaces = append(g.all.Namespaces, n)",
		"\t\t_ = n",
	},
	{
		"policies of Services not given to groups", part,
		"\t\tg.all.Services = append(g.all.Services, found)\n\t\tg.addPolicies(ref)",
		"\t\tg.all.Services = append(g.all.Services, found)",
	},
	{
		"policies of Gateways not given to groups", part,
		"\t\tg.addPolicies(o.Origin().Ref)\n",
		"\t\t_ = o.Origin().Ref\n",
	},
	{
		"policies of routes not given to groups", part,
		"func (g *gatherer) addRoute(ref object.Ref) {\n\tg.addPolicies(ref)",
		"func (g *gatherer) addRoute(ref object.Ref) {",
	},
	{
		"slices not given to groups", part,
		"\t\tg.all.Slices = append(g.all.Slices, slice)",
		"\t\t_ = slice",
	},
	{
		"XBackends: namespace not read", part,
		"\t\tfor key := range g.from.inNamespace[key.xbackends] {\n\t\t\tg.addService(key)\n",
		"\t\tfor key := range g.from.inNamespace[key.xbackends] {\n\t\t\t_ = key\n",
	},
	{
		"no coupling by covering wildcards", graph,
		"\t\tfor _, name := range gateway.Coverings(h.Name) {",
		"\t\tfor _, name := range gateway.Coverings(h.Name)[:1] {",
	},
	{
		"no coupling with narrower hostnames", graph,
		"if !strings.HasPrefix(h.Name, \"*\") {",
		"if true || !strings.HasPrefix(h.Name, \"*\") {",
	},
	{
		"no coupling by XBackends", coupled,
		"\t\t\tkeys = append(keys, \"XBackend \"",
		"\t\t\t_ = append(keys, \"XBackend \"",
	},
	{
		"no coupling by cookies with a Domain", coupled,
		"\t\t\t\t\tnote(graph.With(cookieKey(c)))",
		"\t\t\t\t\t_ = note",
	},
	{
		"no coupling by cookies of two Gateways", coupled,
		"\t\t\t\t\tgraph.VisitMeeting(cookieHost(c), note)",
		"\t\t\t\t\t_ = note",
	},
	{
		"names before suffixes do not couple", decisions,
		"[]string{c.name, r.names[i].shared, r.names[i].text}",
		"[]string{r.names[i].shared, r.names[i].text}",
	},
	{
		"names that are qualified do not couple", decisions,
		"[]string{c.name, r.names[i].shared, r.names[i].text}",
		"[]string{c.name, r.names[i].shared}",
	},
	{
		"names after suffixes do not couple", decisions,
		"slices.Compact([]string{c.name, r.names[i].shared, r.names[i].text})",
		"slices.DeleteFunc([]string{c.name, r.names[i].text}, func(n string) bool { return n != c.name && n == r.names[i].shared })",
	},
	{
		"groups that drain do not see time pass", groups,
		"\tfor g := range s.groups.draining {\n\t\tmarked[g.routes[0]] = true\n",
		"\tfor range s.groups.draining {\n",
	},
	{
		"groups do not see a pod's address pass to another", groups,
		"\t\t\t\tmarked[g.routes[0]] = true\n",
		"\t\t\t\t_ = g\n",
	},
	{
		"dissolved groups stay in what all come to", groups,
		"\ts.merged.removePart(g.part)\n",
		"",
	},
	{
		"problems of dissolved groups stay", groups,
		"\ts.said.remove(g.part.report)\n",
		"",
	},
	{
		"a cluster with other content is not written anew", merged,
		"\t\t\tknown.config, known.text = c, nil",
		"\t\t\tknown.config = c",
	},
	{
		"a host that goes leaves the shell host away", merged,
		"\treturn s.written[domain]\n",
		"\treturn nil\n",
	},
	{
		"certificates do not change listeners", frame,
		"before == nil || !reflect.DeepEqual(before.listeners, now.listeners)",
		"before == nil",
	},
	{
		"sites are not stale", merged,
		"\t\t\tm.stale.sites[key.site] = true\n",
		"",
	},
	{
		"clusters of a served Gateway not counted", merged,
		"\ts.gateway.clusters.count(h.Clusters, by)\n",
		"",
	},
	{
		"endpoints of a served Gateway stay", "internal/compiler/follow/served.go",
		"\treturn settings || endpoints\n",
		"\td.Endpoints = g.last.Endpoints\n\t_ = endpoints\n\treturn settings\n",
	},
	{
		"an ancestor that is taken is not counted", state,
		"\t\ts.room.taken[marked[i].Origin().Ref] = r.taken\n",
		"",
	},
	{
		"policies without room mark no groups", "internal/compiler/follow/room.go",
		"\t\t\t\tpending[g.routes[0]] = true",
		"\t\t\t\t_ = g",
	},
	{
		"duplicates are followed", objects,
		"o.named[ref]++; o.named[ref] == 2",
		"o.named[ref]++; o.named[ref] == 9",
	},
	{
		"no restart after duplicates", state,
		"\tif s.broken {\n\t\ts.restart()\n\t}\n",
		"",
	},
	{
		"unchanged sources are not recognised by text", store,
		"bytes.Equal(before.source.Data, source.Data)",
		"len(before.source.Data) == len(source.Data)",
	},
	{
		"what came and went again is taken for new", store,
		"\tgone, came = compare(s.gone, s.came) // for",
		"\tgone, came = s.gone, s.came // for",
	},
	{
		"others than GatewayClass policies reach classes", part,
		"\t\tg.addPolicies(object.Ref{Kind: object.KindGatewayClass, Name: string(o.Value.Spec.GatewayClassName)})\n",
		"",
	},
	{
		"readers of an authorization service not marked", objects,
		"if f.ExternalAuth != nil {",
		"if false {",
	},
	{
		"ConfigMaps that Gateways name not given to groups", frame,
		"\t\t\tshared.ConfigMaps = append(shared.ConfigMaps, c)",
		"\t\t\t_ = c",
	},
	{
		"ConfigMaps do not change the frame", objects,
		"replace(was.ConfigMaps, gone.ConfigMaps, came.ConfigMaps)",
		"append(was.ConfigMaps, came.ConfigMaps...)",
	},
	{
		"Secrets that Gateways name not given to groups", frame,
		"\t\t\tshared.Secrets = append(shared.Secrets, secret)",
		"\t\t\t_ = secret",
	},
	{
		"HTTPProxies not read by the frame", objects,
		"\t\tHostRoutes: replace(was.HostRoutes, gone.HostRoutes, came.HostRoutes),\n",
		"",
	},
	{
		"HTTPProxies for connections are followed", state,
		"s.objects.unfollowed == 0 && !hasStreams",
		"s.objects.unfollowed == 0 && (true || hasStreams)",
	},
	{
		"routes of connections do not mark the frame", marked,
		"IsStreamRoute(ref.Kind) {\n\t\ts.marks.frame = true",
		"IsStreamRoute(ref.Kind) {",
	},
	{
		"groups have the clusters of connections", part,
		"WithoutStreams: true",
		"WithoutStreams: false",
	},
	{
		"addresses of connections that wait are not looked at", frame,
		" && !before.streams.unsettled",
		"",
	},
	{
		"moved addresses of connections are not looked at", frame,
		" && !before.streams.hasPodAt(m.Moved)",
		"",
	},
	{
		"clusters of connections are counted in alone", merged,
		"\tm.countStreams(f.listeners, -1)",
		"\t_ = f",
	},
	{
		"clusters of connections stay", merged,
		"\tm.removePart(f.streams)",
		"\t_ = f",
	},
	{
		"clusters of connections are nobody's", merged,
		"\tm.countStreams(f.listeners, 1)",
		"\t_ = f",
	},
	{
		"routes of connections are not asked who was first", "internal/compiler/follow/incumbents.go",
		"slices.AppendSeq(slices.Collect(maps.Values(s.objects.routes)), maps.Values(s.objects.streams))",
		"slices.Collect(maps.Values(s.objects.routes))",
	},
	{
		"ExtensionServices are followed", objects,
		"\t\t\to.unfollowed++\n",
		"",
	},
	{
		"HTTPProxies do not need their Secrets", objects,
		"\t\t\ts.objects.countVerifying(r.Namespace, r.Verifies(), present)\n",
		"",
	},
	{
		"XBackends do not need their ConfigMaps", objects,
		"\t\t\ts.objects.countVerifying(b.Namespace, b.Value.Validation() != nil, present)\n",
		"\t\t\t_ = b\n",
	},
	{
		"BackendTLSPolicies do not need their ConfigMaps", objects,
		"\t\t\ts.objects.countVerifying(p.Namespace, true, present)\n",
		"\t\t\t_ = p\n",
	},
	{
		"Namespaces not in the context", objects,
		"replace(was.Namespaces, gone.Namespaces, came.Namespaces)",
		"replace(was.Namespaces, nil, nil)",
	},
	{
		"XBackends not in the context", objects,
		"replace(was.Backends, gone.Backends, came.Backends)",
		"replace(was.Backends, nil, nil)",
	},
	{
		"a restart forgets what was told", state,
		"s.listening.Incumbents, s.said = store, had, claims, told",
		"s.listening.Incumbents, _ = store, had, claims, told",
	},
	{
		"what was told of documents as a whole is told again", follower,
		"\tif f.whole {\n\t\tbefore = f.saidWhole\n\t}\n",
		"",
	},
	{
		"what was told of documents as a whole is told again when they are followed", follower,
		"leaveOutSaid(rep.Problems(), f.saidWhole)",
		"rep.Problems()",
	},
	{
		"ListenerSets not in the context", objects,
		"replace(was.ListenerSets, gone.ListenerSets, came.ListenerSets)",
		"replace(was.ListenerSets, nil, nil)",
	},
}
