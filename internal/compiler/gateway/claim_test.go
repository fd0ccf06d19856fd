package gateway

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
)

// in puts a Gateway's metadata into a namespace.
func in(namespace, metadata string) string { return metadata + ", namespace: " + namespace }

// middle is between older and younger.
const middle = ", creationTimestamp: \"2026-01-01T12:00:00Z\""

// setOf is a ListenerSet for infra/shared.
func setOf(metadata, listeners string) string {
	return "{apiVersion: gateway.networking.k8s.io/v1, kind: ListenerSet, metadata: {name: " + metadata +
		"}, spec: {parentRef: {name: shared, namespace: infra}, listeners: [" + listeners + "]}}"
}

// orderOfInput is that of the compiler, for one file.
func orderOfInput(gateways func(func(seniority.Subject))) *seniority.Order {
	return seniority.New(func() []string { return []string{"in.yaml"} }, gateways)
}

// TestClaims holds who listens where Gateways of several namespaces want to, and what the others are told (H1 of the
// security review; "younger namespace takes a host" failed before).
//
// requirements: S74, S75
func TestClaims(t *testing.T) {
	const (
		infra = "0.0.0.0:80\n*.example.com infra/shared/http:"
		wide  = `hostname: "*.example.com"`
		shop  = "hostname: shop.example.com"
		all   = ", allowedListeners: {namespaces: {from: All}}"
	)
	shared, thief := in("infra", "shared"), in("b", "thief")
	refusal := func(younger, holder, held, at string) string {
		return fmt.Sprintf("Gateway %s: spec.listeners[0].port: Invalid value: 80: Gateway %s, which goes first, listens on %s, and Gateways "+
			"of different namespaces do not share an address and port unless the first allows it (its "+
			"spec.allowedListeners.namespaces.from: All, or --share-addresses for all Gateways): Gateway %s does not listen on %s "+
			"[PortUnavailable]", younger, holder, held, younger, at)
	}
	wildcard := refusal("b/thief", "infra/shared", "0.0.0.0:80", "0.0.0.0:80")
	for name, c := range map[string]struct {
		documents []string
		listening Listening
		want      string
		warnings  []string
	}{
		"younger namespace takes a host": {
			documents: []string{gatewayOf(shared+older, listenerOf("http", wide), ""), gatewayOf(thief+younger, listenerOf("http", shop), "")},
			want:      infra, warnings: []string{wildcard},
		},
		"by the order of the input, where nothing has a date": {
			documents: []string{gatewayOf(shared, listenerOf("http", wide), ""), gatewayOf(thief, listenerOf("http", shop), "")},
			want:      infra, warnings: []string{wildcard},
		},
		"a date goes before none": {
			documents: []string{gatewayOf(shared, listenerOf("http", wide), ""), gatewayOf(thief+older, listenerOf("http", shop), "")},
			want:      "0.0.0.0:80\nshop.example.com b/thief/http:", warnings: []string{refusal("infra/shared", "b/thief", "0.0.0.0:80", "0.0.0.0:80")},
		},
		"the holder goes before a date": {
			documents: []string{gatewayOf(shared, listenerOf("http", wide), ""), gatewayOf(thief+older, listenerOf("http", shop), "")},
			listening: Listening{Holders: Claims{{netip.MustParseAddrPort("0.0.0.0:80"), object.Ref{Kind: object.KindGateway, Namespace: "infra", Name: "shared"}}: true}},
			want:      infra, warnings: []string{wildcard},
		},
		"another port": {
			documents: []string{gatewayOf(shared, listenerOf("http", wide), ""), gatewayOf(thief, "{name: http, protocol: HTTP, port: 81, "+shop+"}", "")},
			want:      infra + "\n0.0.0.0:81\nshop.example.com b/thief/http:",
		},
		"an address out of another's wildcard": {
			documents: []string{gatewayOf(shared, listenerOf("http", wide), ""), gatewayOf(thief, listenerOf("http", shop), ", addresses: [{value: 10.0.0.1}]")},
			want:      infra, warnings: []string{refusal("b/thief", "infra/shared", "0.0.0.0:80", "10.0.0.1:80")},
		},
		"a wildcard around another's address takes nothing": {
			documents: []string{gatewayOf(in("a", "own"), listenerOf("http", shop), ", addresses: [{value: 10.0.0.1}]"), gatewayOf(shared, listenerOf("http", wide), "")},
			want:      infra + "\n10.0.0.1:80\nshop.example.com a/own/http:",
		},
		"one address of two": {
			documents: []string{
				gatewayOf(shared, listenerOf("http", wide), ", addresses: [{value: 10.0.0.1}]"),
				gatewayOf(thief, listenerOf("http", shop), ", addresses: [{value: 10.0.0.1}, {value: 10.0.0.2}]"),
			},
			want:     "10.0.0.1:80\n*.example.com infra/shared/http:\n10.0.0.2:80\nshop.example.com b/thief/http:",
			warnings: []string{refusal("b/thief", "infra/shared", "10.0.0.1:80", "10.0.0.1:80")},
		},
		"the first allows it": {
			documents: []string{gatewayOf(shared, listenerOf("http", wide), all), gatewayOf(thief, listenerOf("http", shop), "")},
			want:      "0.0.0.0:80\nshop.example.com b/thief/http:\n*.example.com infra/shared/http:",
		},
		"that the second allows it is no matter": {
			documents: []string{gatewayOf(shared, listenerOf("http", wide), ""), gatewayOf(thief, listenerOf("http", shop), all)},
			want:      infra, warnings: []string{wildcard},
		},
		"a young ListenerSet of an old Gateway takes no port": {
			documents: []string{
				gatewayOf(shared+older, "{name: other, protocol: HTTP, port: 81}", all), gatewayOf(in("c", "own")+middle, listenerOf("http", shop), ""),
				setOf(in("b", "set")+younger, listenerOf("http", shop)),
			},
			want:     "0.0.0.0:80\nshop.example.com c/own/http:\n0.0.0.0:81\n* infra/shared/other:",
			warnings: []string{"ListenerSet b/set: spec.listeners[0].port: Invalid value: 80: Gateway c/own, which goes first, listens on 0.0.0.0:80"},
		},
		"a young ListenerSet of an old Gateway takes no host from one that shares its port": {
			documents: []string{
				gatewayOf(shared+older, listenerOf("http", wide), all), gatewayOf(in("c", "own")+middle, listenerOf("http", shop), ""),
				setOf(in("b", "set")+younger, listenerOf("http", shop)),
			},
			want:     "0.0.0.0:80\nshop.example.com c/own/http:\n*.example.com infra/shared/http:",
			warnings: []string{"ListenerSet b/set: spec.listeners[0]: Invalid value: \"http\": conflicts with listener http of Gateway c/own"},
		},
		"an older ListenerSet has its host": {
			documents: []string{
				gatewayOf(shared+older, listenerOf("http", wide), all), gatewayOf(in("c", "own")+younger, listenerOf("http", shop), ""),
				setOf(in("b", "set")+middle, listenerOf("http", shop)),
			},
			want:     "0.0.0.0:80\nshop.example.com infra/shared/listenerset/b/set/http:\n*.example.com infra/shared/http:",
			warnings: []string{"Gateway c/own: spec.listeners[0]: Invalid value: \"http\": conflicts with listener http of ListenerSet b/set"},
		},
		"a shared host goes by the order of the input, not by names": {
			documents: []string{
				gatewayOf(shared, listenerOf("http", wide), all), gatewayOf(in("c", "own"), listenerOf("http", shop), ""),
				gatewayOf(in("0b", "thief"), listenerOf("http", shop), ""),
			},
			want:     "0.0.0.0:80\nshop.example.com c/own/http:\n*.example.com infra/shared/http:",
			warnings: []string{"Gateway 0b/thief: spec.listeners[0]: Invalid value: \"http\": conflicts with listener http of Gateway c/own"},
		},
		"everybody shares": {
			documents: []string{gatewayOf(shared, listenerOf("http", wide), ""), gatewayOf(thief, listenerOf("http", shop), "")},
			listening: Listening{Shared: true},
			want:      "0.0.0.0:80\nshop.example.com b/thief/http:\n*.example.com infra/shared/http:",
		},
		"one namespace merges its own": {
			documents: []string{gatewayOf(shared, listenerOf("http", wide), ""), gatewayOf(in("infra", "more"), listenerOf("http", shop), "")},
			want:      "0.0.0.0:80\nshop.example.com infra/more/http:\n*.example.com infra/shared/http:",
		},
		"a Gateway of no class in the input claims nothing": {
			documents: []string{strings.Replace(gatewayOf(in("a", "gone"), onPort80, ""), "limpet", "gone", 1), gatewayOf(shared, listenerOf("http", wide), "")},
			want:      infra, warnings: []string{"Not found"},
		},
		"a Gateway whose listeners contradict one another claims nothing": {
			documents: []string{
				gatewayOf(in("a", "mixed"), onPort80+", {name: s, protocol: HTTPS, port: 80, hostname: a.org, tls: {certificateRefs: [{name: gone}]}}", ""),
				gatewayOf(shared, listenerOf("http", wide), ""),
			},
			want: infra, warnings: []string{"ProtocolConflict", "ProtocolConflict", "certificateRefs"},
		},
		"the admin interface's port": {
			documents: []string{gatewayOf(shared, listenerOf("http", wide), "")},
			listening: Listening{Admin: netip.MustParseAddrPort("127.0.0.1:80")},
			warnings:  []string{"Invalid value: 80: Envoy's admin interface listens on 127.0.0.1:80: Gateway infra/shared does not listen on 0.0.0.0:80 [PortUnavailable]"},
		},
		"an address that the machine does not have": {
			documents: []string{gatewayOf(shared, listenerOf("http", wide), ", addresses: [{value: 10.0.0.1}, {value: 10.0.0.2}]")},
			listening: Listening{Unusable: map[netip.AddrPort]string{netip.MustParseAddrPort("10.0.0.2:80"): "10.0.0.2:80 is not an address of this machine"}},
			want:      "10.0.0.1:80\n*.example.com infra/shared/http:",
			warnings:  []string{"Invalid value: 80: 10.0.0.2:80 is not an address of this machine: Gateway infra/shared does not listen on 10.0.0.2:80"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := compilertest.Admit(t, append(c.documents, limpetClass)...)
			c.listening.Order = orderOfInput(func(visit func(seniority.Subject)) {
				objects.VisitClaimants(visit)
			})
			b := newBuilt(buildResolved(objects, c.listening))
			checkText(t, b, c.want)
			compilertest.CheckProblems(t, b.rep.Warnings(), c.warnings...)
		})
	}
}

// TestHostsOfRoutes: a host of an HTTPProxy, and the kind of a host's routes, are those of whoever goes first: in files of the
// namespace that comes first, not of the one whose name does; and of HTTPProxies the holder's.
//
// requirements: S55, S75
func TestHostsOfRoutes(t *testing.T) {
	shared := gatewayOf(in("infra", "shared"), listenerOf("http", "allowedRoutes: {namespaces: {from: All}}"), "")
	proxy := func(namespace string) string {
		return "{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: p-" + namespace + ", namespace: " + namespace +
			"}, spec: {virtualhost: {fqdn: x.example.com}, routes: [{services: [{name: s, port: 80}]}]}}"
	}
	toShared := "parentRefs: [{name: shared, namespace: infra}], hostnames: [x.example.com]" + oneRule
	calls := strings.Replace(routeOf(in("0b", "calls"), toShared), "HTTPRoute", "GRPCRoute", 1)
	had := SoleHosts{{"infra/shared", "http", "x.example.com"}: object.Ref{Kind: "HTTPProxy", Namespace: "0b", Name: "p-0b"}}
	for name, c := range map[string]struct {
		documents []string
		had       SoleHosts
		want      string
	}{
		"the first HTTPProxy":     {[]string{proxy("shop"), proxy("0b")}, nil, "p-shop/0/0"},
		"the HTTPProxy before it": {[]string{proxy("shop"), proxy("0b")}, had, "p-0b/0/0"},
		"the first kind":          {[]string{routeOf(in("shop", "pages"), toShared), calls}, nil, "pages/0/0"},
		"the first kind is gRPC":  {[]string{calls, routeOf(in("shop", "pages"), toShared)}, nil, "calls/0/0"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := compilertest.Admit(t, append(c.documents, shared, limpetClass)...)
			order := orderOfInput(func(visit func(seniority.Subject)) {
				for _, r := range objects.Routes {
					visit(r)
				}
				for _, p := range objects.HostRoutes {
					visit(p)
				}
			})
			b := newBuilt(buildResolved(objects, Listening{Order: order, SoleHosts: c.had}))
			checkText(t, b, "0.0.0.0:80\nx.example.com infra/shared/http: "+c.want+"\n* infra/shared/http:")
		})
	}
}

// buildResolved makes the topology in which it is settled who has what several want.
func buildResolved(objects *resource.Objects, l Listening) *Topology {
	in := NewInput(objects, netip.MustParseAddr("0.0.0.0"))
	return Build(in.Resolved(in.ResolveClaims(l), l))
}
