package gateway

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// TrustedAnnotation is the annotation by which a Gateway's owner names the proxies before it, as CIDRs with commas between
// them: what their connections say of clients (x-forwarded-for, x-forwarded-proto) is believed. A number of hops would
// believe whoever reaches the port.
const TrustedAnnotation = "limpet.dev/trusted-proxies"

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

// findTrusted gives the CIDRs that all Gateways of a port name: a connection is for all of them before it says for which.
func findTrusted(listeners map[string]*listener) (common []netip.Prefix) {
	first := true
	for _, l := range listeners {
		if first {
			common, first = slices.Clone(l.trusted), false
			continue
		}
		common = slices.DeleteFunc(common, func(p netip.Prefix) bool { return !slices.Contains(l.trusted, p) })
	}
	return common
}
