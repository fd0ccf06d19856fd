package gateway

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
)

// Listening says where Gateways may listen.
type Listening struct {
	// Shared lets Gateways of different namespaces share an address and port.
	Shared bool
	// Admin is where Envoy's admin interface listens; not valid for nowhere.
	Admin netip.AddrPort
	// Unusable are the addresses that can't be had on the machine where the proxy runs, with the reason.
	Unusable map[netip.AddrPort]string
	// Order says which of two Gateways was there first.
	Order *seniority.Order
	// Holders listened before, and go before those that did not.
	Holders Claims
	// SoleHosts are the routes that had a host for themselves before.
	SoleHosts SoleHosts
}

// SoleHosts are the routes that have hosts for themselves.
type SoleHosts map[SoleHost]object.Ref

// SoleHost is a host on a listener, with the key of its Gateway.
type SoleHost struct{ Gateway, Listener, Name string }

// Claims are addresses and ports with the Gateways that have listeners there.
type Claims map[Claim]bool

// Claim is a Gateway's to an address and port.
type Claim struct {
	At      netip.AddrPort
	Gateway object.Ref
}

// claimant is a Gateway that wants an address and port. A claim for a ListenerSet alone is as old as the ListenerSet:
// adding listeners to an old Gateway gives them no seniority.
type claimant struct {
	Claim
	gateway *resource.Object[gatewayv1.Gateway]
	since   object.Origin
}

// ResolveClaims returns the claims that can't hold, and why. The senior Gateway of an address and port gets it,
// together with other Gateways of its namespace, and with those of other namespaces if it allows them. A Gateway gets
// no address out of another namespace's wildcard: its listener would take the connections away. The other way round
// nothing is taken.
func (in Input) ResolveClaims(l Listening) map[Claim]string {
	if in.apart || in.isolated {
		return nil
	}
	refused, holders := map[Claim]string{}, map[netip.AddrPort]*claimant{}
	for _, c := range in.listClaims(l) {
		if why := l.explainRefusal(c, holders); why != "" {
			refused[c.Claim] = why
		} else if holders[c.At] == nil {
			holders[c.At] = c
		}
	}
	return refused
}

// listClaims lists the claims of all Gateways that are served, the senior ones first.
func (in Input) listClaims(l Listening) (claims []*claimant) {
	b, seen := newBuilder(in, &report.Report{}), map[Claim]*claimant{} // whatever there is to say will be said
	classes := b.listClasses()
	for _, g := range in.objects.Gateways {
		if !b.servesClass(g, classes) || b.refuseGateway(g) != "" {
			continue
		}
		addresses, _ := listAddresses(g, in.bind)
		claim := func(port gatewayv1.PortNumber, since object.Origin) {
			for _, a := range addresses {
				c := Claim{netip.AddrPortFrom(a, uint16(port)), g.Ref()}
				if seen[c] == nil {
					seen[c] = &claimant{c, g, since}
					claims = append(claims, seen[c])
				} else if l.Order.Compare(since, seen[c].since) < 0 {
					seen[c].since = since
				}
			}
		}
		mixed := mixedPorts(g.Value.Spec.Listeners)
		for i, spec := range g.Value.Spec.Listeners {
			if !mixed[spec.Port] && len(g.FaultsOf(report.Listeners, i)) == 0 {
				claim(spec.Port, g.Origin())
			}
		}
		for _, set := range b.sets[g.Key()] {
			if in.objects.AllowsSet(g, set) {
				for _, entry := range set.Value.Spec.Listeners {
					claim(entry.Port, l.Order.Later(g.Origin(), set.Origin()))
				}
			}
		}
	}
	slices.SortStableFunc(claims, l.compare)
	return claims
}

// compare puts the senior claim first.
func (l Listening) compare(a, b *claimant) int {
	if was := l.Holders[a.Claim]; was != l.Holders[b.Claim] {
		if was {
			return -1
		}
		return 1
	}
	return cmp.Or(l.Order.Compare(a.since, b.since), a.At.Compare(b.At))
}

// explainRefusal says why a claim can't hold beside those that do; empty if it can.
func (l Listening) explainRefusal(c *claimant, holders map[netip.AddrPort]*claimant) string {
	if l.Admin.IsValid() && overlap(c.At, l.Admin) {
		return fmt.Sprintf("Envoy's admin interface listens on %s", l.Admin)
	}
	if why := l.Unusable[c.At]; why != "" {
		return why
	}
	holder := holders[c.At]
	if holder == nil {
		holder = holders[wildcardOf(c.At)]
	}
	if holder == nil || holder.gateway.Namespace == c.gateway.Namespace || l.Shared || allowsOthers(holder.gateway) {
		return ""
	}
	return fmt.Sprintf(
		"%s, which goes first, listens on %s, and Gateways of different namespaces do not share an address and port "+
			"unless the first allows it (its spec.allowedListeners.namespaces.from: All, or --share-addresses for all Gateways)",
		holder.gateway,
		holder.At,
	)
}

// overlap reports whether two sockets can't be had together.
func overlap(a, b netip.AddrPort) bool {
	return a.Port() == b.Port() && (a == b || wildcardOf(a) == b || wildcardOf(b) == a)
}

// wildcardOf is every address of the family, with the port.
func wildcardOf(at netip.AddrPort) netip.AddrPort {
	if at.Addr().Is4() {
		return netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port())
	}
	return netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port())
}

// allowsOthers reports whether a Gateway lets every namespace add listeners to its own.
func allowsOthers(g *resource.Object[gatewayv1.Gateway]) bool {
	allowed := g.Value.Spec.AllowedListeners
	return allowed != nil && allowed.Namespaces != nil && allowed.Namespaces.From != nil &&
		*allowed.Namespaces.From == gatewayv1.NamespacesFromAll
}

// SoleHosts gives the routes that have a host for themselves.
func (t *Topology) SoleHosts() SoleHosts { return t.soleHosts }

// Claims gives the addresses and ports at which Gateways have listeners.
func (t *Topology) Claims() Claims { return t.claims }
