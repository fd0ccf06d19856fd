package gateway

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// TrustedAnnotation is the annotation by which a Gateway's owner names the proxies before it, as CIDRs with commas between
// them: what their connections say of clients (x-forwarded-for, x-forwarded-proto) is believed. A number of hops would
// believe whoever reaches the port.
const TrustedAnnotation = "limpet.dev/trusted-proxies"

// ProxyProtocolAnnotation is the annotation by which a Gateway's owner says that connections begin with the PROXY protocol,
// with the ports of the proxies at which TLS ends. It needs the other one: the header is believed from those proxies alone.
const ProxyProtocolAnnotation = "limpet.dev/proxy-protocol"

// frontProxies are the proxies before a Gateway that its owner names.
type frontProxies struct {
	trusted []netip.Prefix
	// tlsPorts are those of theirs at which TLS ends, where they speak the PROXY protocol; none if they do not.
	tlsPorts []uint32
}

// readProxies gives what a Gateway says of the proxies before it.
func (b *builder) readProxies(g *resource.Object[gatewayv1.Gateway]) frontProxies {
	p := frontProxies{trusted: b.readTrusted(g)}
	text, is := g.Value.Annotations[ProxyProtocolAnnotation]
	path := "metadata.annotations[" + ProxyProtocolAnnotation + "]"
	if !is {
		return p
	}
	if len(p.trusted) == 0 {
		b.rep.WarnAt(g, path, "left out: whoever reaches the port could say what it likes; name the proxies in "+TrustedAnnotation)
		return p
	}
	for part := range strings.SplitSeq(text, ",") {
		number, err := strconv.ParseUint(strings.TrimSpace(part), 10, 16)
		if err != nil || number == 0 {
			b.rep.WarnAt(g, path, fmt.Sprintf("Invalid value: %q: must be the proxies' ports at which TLS ends, with commas between them, "+
				"such as 443: this one is left out", strings.TrimSpace(part)))
			continue
		}
		p.tlsPorts = append(p.tlsPorts, uint32(number))
	}
	slices.Sort(p.tlsPorts)
	p.tlsPorts = slices.Compact(p.tlsPorts)
	return p
}

// readTrusted gives the CIDRs that a Gateway names. A wrong one is left out.
func (b *builder) readTrusted(g *resource.Object[gatewayv1.Gateway]) []netip.Prefix {
	text, is := g.Value.Annotations[TrustedAnnotation]
	if !is {
		return nil
	}
	path := "metadata.annotations[" + TrustedAnnotation + "]"
	var all []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(part))
		switch {
		case err != nil:
			b.rep.WarnAt(g, path, fmt.Sprintf("Invalid value: %q: must be CIDRs with commas between them, such as 10.0.0.0/8, 10.1.2.3/32: "+
				"this one is left out", strings.TrimSpace(part)))
		case prefix.Bits() == 0:
			b.rep.WarnAt(g, path, fmt.Sprintf("Invalid value: %q: would believe every client: this one is left out", prefix))
		default:
			all = append(all, prefix.Masked())
		}
	}
	slices.SortFunc(all, netip.Prefix.Compare)
	return slices.Compact(all)
}

// findTLSPorts gives what all Gateways of a port say of the PROXY protocol, nothing if they differ.
func findTLSPorts(listeners map[string]*listener) (common []uint32) {
	first := true
	for _, l := range listeners {
		if !first && !slices.Equal(common, l.proxies.tlsPorts) {
			return nil
		}
		common, first = l.proxies.tlsPorts, false
	}
	return common
}

// findTrusted gives the CIDRs that all Gateways of a port name: a connection is for all of them before it says for which.
func findTrusted(listeners map[string]*listener) (common []netip.Prefix) {
	first := true
	for _, l := range listeners {
		if first {
			common, first = slices.Clone(l.proxies.trusted), false
			continue
		}
		common = slices.DeleteFunc(common, func(p netip.Prefix) bool { return !slices.Contains(l.proxies.trusted, p) })
	}
	return common
}
