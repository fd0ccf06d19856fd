package resource

import (
	"net/netip"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// BindAddresses returns the addresses on which a Gateway wants to listen, each once: bind if it names none. invalid are
// the indexes of spec.addresses that can't be bound.
func BindAddresses(g *gatewayv1.Gateway, bind netip.Addr) (addresses []netip.Addr, invalid []int) {
	if len(g.Spec.Addresses) == 0 {
		return []netip.Addr{bind}, nil
	}
	for i, a := range g.Spec.Addresses {
		ip, err := netip.ParseAddr(a.Value)
		if err != nil || ip.Zone() != "" {
			invalid = append(invalid, i)
			continue
		}
		if ip = ip.Unmap(); !slices.Contains(addresses, ip) {
			addresses = append(addresses, ip)
		}
	}
	return addresses, invalid
}
