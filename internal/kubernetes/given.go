package kubernetes

import (
	"encoding/json"
	"net/netip"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler"
)

// Given is which addresses Gateways have that are not those of their specs, by their names as sources: one of a pool,
// or none where limpet runs the proxies. Whoever reads the same cluster needs it to read the Gateways as the source
// does.
type Given map[string][]netip.Addr

// Given returns the current addresses.
func (s *Source) Given() Given {
	s.lock.Lock()
	defer s.lock.Unlock()
	given := Given{}
	for name, o := range s.objects {
		if o.run {
			given[name] = []netip.Addr{}
		}
	}
	if s.Pool != nil {
		for name, at := range s.Pool.given {
			given[name] = []netip.Addr{at}
		}
	}
	return given
}

// Readdress sets the addresses that Gateways were given. Gateways whose proxies limpet runs are reached where their
// statuses say.
func (l *Listing) Readdress(given Given) error {
	l.Proxies = map[string]compiler.Proxies{}
	for i, source := range l.Sources {
		addresses, is := given[source.Name]
		if !is {
			continue
		}
		text, err := setAddresses(source.Data, addresses)
		if err != nil {
			return err
		}
		l.Sources[i].Data = text
		if len(addresses) == 0 {
			l.Proxies[strings.TrimPrefix(source.Name, gatewayKind.Kind+"/")] = compiler.Proxies{Addresses: l.shown[source.Name]}
		}
	}
	return nil
}

// parseAddresses gives the addresses of a Gateway's status.
func parseAddresses(status json.RawMessage) []gatewayv1.GatewayStatusAddress {
	s := gatewayv1.GatewayStatus{}
	if json.Unmarshal(status, &s) != nil {
		return nil
	}
	return s.Addresses
}

// setAddresses returns a Gateway's text with other addresses than those that it names.
func setAddresses(gateway []byte, addresses []netip.Addr) ([]byte, error) {
	var fields map[string]any
	if err := json.Unmarshal(gateway, &fields); err != nil {
		return nil, err
	}
	spec, _ := fields["spec"].(map[string]any)
	if spec == nil {
		return gateway, nil
	}
	delete(spec, "addresses")
	var all []any
	for _, at := range addresses {
		all = append(all, map[string]any{"type": string(gatewayv1.IPAddressType), "value": at.String()})
	}
	if all != nil {
		spec["addresses"] = all
	}
	return json.Marshal(fields)
}
