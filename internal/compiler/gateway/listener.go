package gateway

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// listener is one listener of a Gateway.
type listener struct {
	gateway *resource.Object[gatewayv1.Gateway]
	// set is the ListenerSet that adds it to the Gateway; nil for the Gateway's own.
	set      *resource.ListenerSet
	index    int // among those of the Gateway or ListenerSet
	path     *field.Path
	spec     *gatewayv1.Listener
	hostname string // everything if it has none
	// attached are the routes, by each hostname that they have in common with the listener.
	attached map[string][]*Route
	last     *Route // the route attached last
	// mixed says that a control plane serves it, and lets routes of several kinds have a host.
	mixed  bool
	places []*place // where it listens
	common map[*Route][]string
	// certificates are those that it can show clients; a TLS listener without any serves nothing.
	certificates []ir.Certificate
	overlaps     []string // the listeners of its ports, by name, that have TLS and hosts in common with it
	// refused is why it is not accepted, whatever its port; empty if it is.
	refused gatewayv1.ListenerConditionReason
	ownerSettings
	// validatedBy is the place of what its Gateway says of clients' certificates; in no section for nothing.
	validatedBy report.Place
	// validation is how they are verified.
	validation *ir.ClientValidation
}

// ownerSettings are what a Gateway's owner says of all of its listeners.
type ownerSettings struct {
	// proxies are those before the Gateway that its owner names.
	proxies frontProxies
	// validations say how clients' certificates are verified, and clientCertificate is what backends are shown; nil for
	// nothing.
	validations       clientValidations
	clientCertificate *ir.Certificate
}

// Listener is a listener of a Gateway.
type Listener = listener

// Gateway gives the listener's Gateway.
func (l *listener) Gateway() *resource.Object[gatewayv1.Gateway] { return l.gateway }

// Name tells the listener from others of the Gateway. That of one from a ListenerSet has slashes, so that no
// sectionName is it.
func (l *listener) Name() string {
	if l.set != nil {
		return "listenerset/" + l.set.Key() + "/" + string(l.spec.Name)
	}
	return string(l.spec.Name)
}

// Subject is the object that the listener is written in: its Gateway, or a ListenerSet.
func (l *listener) Subject() report.Subject {
	if l.set != nil {
		return l.set
	}
	return l.gateway
}

// home is that object as one that refers to others.
func (l *listener) home() object.Ref {
	if l.set != nil {
		return l.set.Ref()
	}
	return l.gateway.Ref()
}

// Path leads to the listener in its Subject.
func (l *listener) Path() *field.Path { return l.path }

// Port gives the listener's port.
func (l *listener) Port() gatewayv1.PortNumber { return l.spec.Port }

// Protocol is the listener's protocol.
func (l *listener) Protocol() gatewayv1.ProtocolType { return l.spec.Protocol }

// Key names the listener: namespace/gateway/name.
func (l *listener) Key() string { return l.gateway.Key() + "/" + l.Name() }

// Hostnames returns the hostnames that a route and the listener have in common, in order; "*" is every host.
func (l *listener) Hostnames(route *Route) []string { return l.common[route] }

// addGateways collects the listeners of every Gateway whose class the controller serves.
func (b *builder) addGateways(objects *resource.Objects) {
	classes := b.listClasses()
	gateways := slices.SortedStableFunc(
		slices.Values(objects.Gateways),
		func(x, y *resource.Object[gatewayv1.Gateway]) int {
			return b.order.Compare(x.Origin(), y.Origin())
		},
	)
	for i, g := range gateways {
		b.listeners[gatewayKey(object.APIKind(g.Kind).Group, g.Key())] = nil
		switch {
		case !b.servesClass(g, classes):
			for _, set := range b.sets[g.Key()] {
				b.listeners[setKey(set.Key())], b.foreignSets[setKey(set.Key())] = nil, true
			}
		case b.isolated:
			b.addIsolated(g, i)
		default:
			b.addWaitingSets(g)
			b.addGateway(g, b.findAddresses(g))
		}
	}
	b.addWaitingSets(nil)
}

// addIsolated puts a Gateway on an address that no other has.
func (b *builder) addIsolated(g *resource.Object[gatewayv1.Gateway], index int) {
	own := [16]byte{0: 0xfd, 12: byte(index >> 24), 13: byte(index >> 16), 14: byte(index >> 8), 15: byte(index)}
	b.addGateway(g, []netip.Addr{netip.AddrFrom16(own)})
}

// findAddresses gives where a Gateway listens.
func (b *builder) findAddresses(g *resource.Object[gatewayv1.Gateway]) []netip.Addr {
	addresses, faults := listAddresses(g, b.bind)
	for _, e := range faults {
		b.rep.WarnFor(report.AddressNotUsable, g, string(gatewayv1.GatewayReasonAddressNotUsable), e)
	}
	return addresses
}

// listAddresses returns the addresses on which a Gateway wants to listen, and faults for values that are no address.
func listAddresses(
	g *resource.Object[gatewayv1.Gateway],
	bind netip.Addr,
) (addresses []netip.Addr, faults field.ErrorList) {
	addresses, invalid := resource.BindAddresses(g.Value, bind)
	for _, i := range invalid {
		path := field.NewPath("spec", "addresses").Index(i).Child("value")
		faults = append(faults, field.Invalid(path, g.Value.Spec.Addresses[i].Value,
			"must be an IP address to bind: the Gateway does not listen there"))
	}
	return addresses, faults
}

// addGateway puts a Gateway's listeners on its addresses.
func (b *builder) addGateway(g *resource.Object[gatewayv1.Gateway], addresses []netip.Addr) {
	b.status.Gateways = append(b.status.Gateways, &Status{Gateway: g, Addresses: addresses, Refused: b.refuseGateway(g)})
	mixed, settings := mixedPorts(g.Value.Spec.Listeners), b.readOwnerSettings(g)
	b.status.lastGateway().AllowsInvalidClients = settings.validations.allowInvalid()
	for i := range g.Value.Spec.Listeners {
		spec := &g.Value.Spec.Listeners[i]
		l := newListener(g, spec, i)
		l.mixed = b.isolated
		l.ownerSettings = settings
		key := gatewayKey(object.APIKind(g.Kind).Group, g.Key())
		b.listeners[key] = append(b.listeners[key], l)
		b.status.addListener(l)
		b.checkKinds(l)
		if l.refused = b.refuseListener(l); l.refused != "" || b.status.lastGateway().Refused != "" {
			continue
		}
		if !b.isolated {
			l.certificates = b.resolveCertificates(l)
		}
		if mixed[spec.Port] && spec.Protocol != gatewayv1.UDPProtocolType {
			b.reportConflict(l, "another listener of the Gateway has the port with another protocol: the listener is left out")
			continue
		}
		for _, a := range addresses {
			b.listen(l, netip.AddrPortFrom(a, uint16(spec.Port)))
		}
	}
	if !b.isolated {
		b.awaitSets(addresses, settings)
	}
}

func (b *builder) readOwnerSettings(g *resource.Object[gatewayv1.Gateway]) ownerSettings {
	return ownerSettings{
		proxies: b.readProxies(g), validations: b.readClientValidations(g), clientCertificate: b.resolveClientCertificate(g),
	}
}

func newListener(g *resource.Object[gatewayv1.Gateway], spec *gatewayv1.Listener, index int) *listener {
	l := &listener{
		gateway: g, path: field.NewPath("spec", "listeners").Index(index), spec: spec, index: index,
		hostname: anyHost, attached: map[string][]*Route{}, common: map[*Route][]string{},
	}
	if spec.Hostname != nil && *spec.Hostname != "" {
		l.hostname = string(*spec.Hostname)
	}
	return l
}

// listen adds a listener to a port, unless an older Gateway has the port's hostname: one Gateway can't, its CRD
// sees to that.
func (b *builder) listen(l *listener, at netip.AddrPort) {
	claim := Claim{at, l.gateway.Ref()}
	if why := b.refused[claim]; why != "" {
		b.rep.WarnFor(report.PortUnavailable, l.Subject(), string(gatewayv1.ListenerReasonPortUnavailable),
			field.Invalid(l.path.Child("port"), l.spec.Port,
				fmt.Sprintf("%s: %s does not listen on %s", why, l.Subject(), at)))
		return
	}
	key := portKey{at: at, udp: l.spec.Protocol == gatewayv1.UDPProtocolType}
	if b.apart {
		key.gateway = l.gateway.Key()
	}
	if b.ports[key] == nil {
		b.ports[key] = map[string]*listener{}
	}
	if other := leastOf(b.ports[key]); other != nil && layerOf(other.spec.Protocol) != layerOf(l.spec.Protocol) {
		first := "an older Gateway"
		if other.gateway == l.gateway {
			first = fmt.Sprintf("listener %s of %s", other.spec.Name, other.Subject())
		}
		b.reportConflict(l, fmt.Sprintf("%s has the port with another protocol: the listener is left out on %s", first, at))
		return
	}
	if other := b.ports[key][l.hostname]; other != nil {
		b.rep.WarnFor(report.ListenerConflict, l.Subject(), string(gatewayv1.ListenerReasonHostnameConflict),
			field.Invalid(l.path, string(l.spec.Name), fmt.Sprintf(
				"conflicts with listener %s of %s, which has the same port and hostname: the listener is left out on %s",
				other.spec.Name, other.Subject(), at)))
		return
	}
	l.findOverlaps(b.ports[key])
	b.ports[key][l.hostname] = l
	b.claims[claim] = true
	l.places = append(l.places, &place{l, key})
}
