package resource

import (
	"net/netip"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// BindAddresses gives where a Gateway wants to listen, each address once: at bind if it names none. Invalid are the
// indexes of what it names that is no address to bind.
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
