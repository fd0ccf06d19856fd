package gateway

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// TrustedAnnotation is the annotation by which a Gateway's owner names the proxies before it, as CIDRs with commas
// between them: what their connections say of clients (x-forwarded-for, x-forwarded-proto) is believed. A number of
// hops in place of CIDRs would trust everybody who reaches the port.
const TrustedAnnotation = "limpet.dev/trusted-proxies"

// ProxyProtocolAnnotation is the annotation by which a Gateway's owner says that connections begin with the PROXY
// protocol, with the ports of the proxies at which TLS ends. It needs the other one: the header is believed from those
// proxies alone.
const ProxyProtocolAnnotation = "limpet.dev/proxy-protocol"

// frontProxies are the proxies before a Gateway that its owner names.
type frontProxies struct {
	trusted []netip.Prefix
	// tlsPorts are those of theirs at which TLS ends, where they speak the PROXY protocol; none if they do not.
	tlsPorts []uint32
}

// readProxies reads the annotations of a Gateway about the proxies before it.
func (b *builder) readProxies(g *resource.Object[gatewayv1.Gateway]) frontProxies {
	if b.isolated || !hasPlainHTTP(g) {
		b.reportIdleProxies(g)
		return frontProxies{}
	}
	p := frontProxies{trusted: b.readTrusted(g)}
	text, is := g.Value.Annotations[ProxyProtocolAnnotation]
	path := annotationPath(ProxyProtocolAnnotation)
	if !is {
		return p
	}
	if len(p.trusted) == 0 {
		b.rep.WarnAt(report.TrustedProxies, g, path,
			"left out: whoever reaches the port could say what it likes; name the proxies in "+TrustedAnnotation)
		return p
	}
	for part := range strings.SplitSeq(text, ",") {
		number, err := strconv.ParseUint(strings.TrimSpace(part), 10, 16)
		if err != nil || number == 0 {
			b.rep.WarnAt(report.TrustedProxies, g, path,
				fmt.Sprintf("Invalid value: %q: must be the proxies' ports at which TLS ends, with commas between them, "+
					"such as 443: this one is left out", strings.TrimSpace(part)))
			continue
		}
		p.tlsPorts = append(p.tlsPorts, uint32(number))
	}
	slices.Sort(p.tlsPorts)
	p.tlsPorts = slices.Compact(p.tlsPorts)
	b.adviseOwnPorts(g, p.tlsPorts)
	return p
}

// hasPlainHTTP tells whether a Gateway has a listener for plain HTTP, for which alone proxies before it end TLS.
func hasPlainHTTP(g *resource.Object[gatewayv1.Gateway]) bool {
	return slices.ContainsFunc(g.Value.Spec.Listeners, isPlainHTTP)
}

func isPlainHTTP(l gatewayv1.Listener) bool { return l.Protocol == gatewayv1.HTTPProtocolType }

// reportIdleProxies reports annotations about the proxies before a Gateway that have no effect.
func (b *builder) reportIdleProxies(g *resource.Object[gatewayv1.Gateway]) {
	why := "left out: it is for listeners of plain HTTP, and the Gateway has none"
	if b.isolated {
		why = "left out: this target's control plane makes the listeners, and has settings of its own for the proxies " +
			"before them"
	}
	for _, name := range []string{TrustedAnnotation, ProxyProtocolAnnotation} {
		if _, is := g.Value.Annotations[name]; is {
			b.rep.WarnAt(report.TrustedProxies, g, annotationPath(name), why)
		}
	}
}

// adviseOwnPorts points out ports of the Gateway's own: a proxy's port of that number would have to end TLS, or its
// clients' requests count as HTTPS and are not.
func (b *builder) adviseOwnPorts(g *resource.Object[gatewayv1.Gateway], ports []uint32) {
	for _, l := range g.Value.Spec.Listeners {
		if isPlainHTTP(l) && slices.Contains(ports, uint32(l.Port)) {
			b.rep.AdviseAt(report.TrustedProxies, g, annotationPath(ProxyProtocolAnnotation), fmt.Sprintf(
				"%d is a port of the Gateway's own for plain HTTP, and those named here are the proxies', at which TLS ends: "+
					"whoever connects to a proxy's port %[1]d counts as a client over HTTPS", l.Port))
		}
	}
}

// readTrusted gives the CIDRs that a Gateway names. A wrong one is left out.
func (b *builder) readTrusted(g *resource.Object[gatewayv1.Gateway]) []netip.Prefix {
	text, is := g.Value.Annotations[TrustedAnnotation]
	if !is {
		return nil
	}
	path := annotationPath(TrustedAnnotation)
	var all []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(part))
		switch {
		case err != nil:
			b.rep.WarnAt(report.TrustedProxies, g, path,
				fmt.Sprintf("Invalid value: %q: must be CIDRs with commas between them, such as 10.0.0.0/8, 10.1.2.3/32: "+
					"this one is left out", strings.TrimSpace(part)))
		case prefix.Bits() == 0:
			b.rep.WarnAt(
				report.TrustedProxies,
				g,
				path,
				fmt.Sprintf("Invalid value: %q: would believe every client: this one is left out", prefix),
			)
		default:
			all = append(all, prefix.Masked())
		}
	}
	slices.SortFunc(all, netip.Prefix.Compare)
	return slices.Compact(all)
}

// findFront returns what holds for the proxies before a port. The port's Gateways must agree, for a connection does not
// say at first which one it is for. Trusted are the CIDRs that all of them name, and the PROXY protocol is spoken if
// all of them say so. It reports for each Gateway which of its settings have no effect, and because of which other
// Gateway.
func (b *builder) findFront(key portKey, listeners map[string]*listener) (common frontProxies) {
	gateways := listGateways(listeners)
	for i, l := range gateways {
		if i == 0 {
			common = frontProxies{slices.Clone(l.proxies.trusted), l.proxies.tlsPorts}
			continue
		}
		common.trusted = slices.DeleteFunc(
			common.trusted,
			func(p netip.Prefix) bool { return !slices.Contains(l.proxies.trusted, p) },
		)
		if !slices.Equal(common.tlsPorts, l.proxies.tlsPorts) {
			common.tlsPorts = nil
		}
	}
	if len(common.trusted) == 0 {
		common.tlsPorts = nil
	}
	if speaksTLS(listeners) || key.udp || gateways[0].StreamsOnly() {
		return common // it has no meaning there
	}
	for _, l := range gateways {
		b.warnOfFront(key, l, gateways, common)
	}
	return common
}

// listGateways gives a listener of each Gateway of a port, the oldest first.
func listGateways(listeners map[string]*listener) []*listener {
	of := map[*resource.Object[gatewayv1.Gateway]]*listener{}
	for _, l := range listeners {
		of[l.gateway] = l
	}
	return slices.SortedFunc(maps.Values(of), func(a, b *listener) int { return resource.ByAge(a.gateway, b.gateway) })
}

// warnOfFront warns a Gateway of its settings about the proxies before a port that another Gateway disagrees with.
func (b *builder) warnOfFront(key portKey, of *listener, gateways []*listener, common frontProxies) {
	lacking := map[*listener][]string{} // by the oldest Gateway that lacks them
	for _, p := range of.proxies.trusted {
		at := slices.IndexFunc(gateways, func(l *listener) bool { return !slices.Contains(l.proxies.trusted, p) })
		if at >= 0 {
			lacking[gateways[at]] = append(lacking[gateways[at]], p.String())
		}
	}
	for _, other := range gateways {
		proxies := lacking[other]
		if len(proxies) == 0 {
			continue
		}
		b.rep.WarnAt(report.TrustedProxies, of.gateway, annotationPath(TrustedAnnotation), fmt.Sprintf(
			"%s: left out on port %d: %s has the port too and does not say the same, and a connection is for both before it "+
				"says for which",
			strings.Join(proxies, ", "),
			key.at.Port(),
			other.gateway.Ref(),
		))
	}
	if len(of.proxies.tlsPorts) == 0 || len(common.tlsPorts) > 0 {
		return
	}
	why := "no trusted proxy is common to all Gateways of the port"
	at := slices.IndexFunc(
		gateways,
		func(l *listener) bool { return !slices.Equal(l.proxies.tlsPorts, of.proxies.tlsPorts) },
	)
	if at >= 0 {
		why = fmt.Sprintf(
			"%s has the port too and does not say the same, and a connection is for both before it says for which",
			gateways[at].gateway.Ref(),
		)
	}
	b.rep.WarnAt(report.TrustedProxies, of.gateway, annotationPath(ProxyProtocolAnnotation), fmt.Sprintf(
		"left out on port %d, where connections that begin with the PROXY protocol get 400: %s", key.at.Port(), why))
}

// annotationPath leads to an annotation.
func annotationPath(name string) string { return "metadata.annotations[" + name + "]" }
