package kubernetes

import (
	"encoding/json"
	"hash/fnv"
	"net/netip"

	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Pool has addresses for Gateways that name none. The address in a Gateway's status stays the Gateway's, so that a
// restart moves none and all processes agree. A Gateway without one gets an address by its name, so that processes
// mostly agree before there is a status.
type Pool struct {
	prefix netip.Prefix
	given  map[string]netip.Addr // by the Gateways' names as sources
	taken  map[netip.Addr]string // who has it, in given or by its own spec
}

var gatewayKind = schema.GroupKind{Group: gatewayv1.GroupName, Kind: "Gateway"}

// NewPool makes a pool of a prefix's addresses.
func NewPool(prefix netip.Prefix) *Pool {
	return &Pool{prefix: prefix.Masked(), given: map[string]netip.Addr{}, taken: map[netip.Addr]string{}}
}

// release takes back what a Gateway has.
func (p *Pool) release(name string) {
	for at, who := range p.taken {
		if who == name {
			delete(p.taken, at)
		}
	}
	delete(p.given, name)
}

// give writes an address into a Gateway that names none. Where the pool has none left, --bind holds.
func (p *Pool) give(name string, o *object) error {
	var fields map[string]any
	if err := json.Unmarshal(o.text, &fields); err != nil {
		return err
	}
	spec, _ := fields["spec"].(map[string]any)
	named := listValues(spec["addresses"])
	if len(named) > 0 || spec == nil {
		p.release(name)
		for _, at := range named {
			if p.taken[at] == "" {
				p.taken[at] = name
			}
		}
		return nil
	}
	at, found := p.choose(name, shownAddresses(o.status))
	if !found {
		return nil
	}
	text, err := setAddresses(o.text, []netip.Addr{at})
	if err == nil {
		o.text = text
	}
	return err
}

// choose returns a Gateway's address: the one that its status shows, the one that it was given, or a free one.
func (p *Pool) choose(name string, shown []netip.Addr) (netip.Addr, bool) {
	for _, at := range shown {
		if p.prefix.Contains(at) && (p.taken[at] == "" || p.taken[at] == name) {
			p.release(name)
			p.given[name], p.taken[at] = at, name
			return at, true
		}
	}
	if at, has := p.given[name]; has {
		return at, true
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name))
	first := p.prefix.Addr()
	for range sum.Sum32() % p.size() {
		first = first.Next()
	}
	for at, tried := first, uint32(0); tried < p.size(); tried++ {
		if p.taken[at] == "" && p.isForHosts(at) {
			p.given[name], p.taken[at] = at, name
			return at, true
		}
		if at = at.Next(); !p.prefix.Contains(at) {
			at = p.prefix.Addr()
		}
	}
	return netip.Addr{}, false
}

// isForHosts tells whether an address is one that a host may have: the first of a network is none, nor is the last of
// one of IPv4, unless the network is for two hosts (RFC 3021, RFC 6164) or one.
func (p *Pool) isForHosts(at netip.Addr) bool {
	if at.BitLen()-p.prefix.Bits() < 2 {
		return true
	}
	return at != p.prefix.Addr() && (at.Is6() || p.prefix.Contains(at.Next()))
}

func (p *Pool) size() uint32 {
	return uint32(1) << min(p.prefix.Addr().BitLen()-p.prefix.Bits(), 16)
}

// listValues gives the addresses of a list in a Gateway's spec or status that say which.
func listValues(list any) (all []netip.Addr) {
	items, _ := list.([]any)
	for _, one := range items {
		fields, _ := one.(map[string]any)
		value, _ := fields["value"].(string)
		if value == "" {
			continue
		}
		at, _ := netip.ParseAddr(value) // what is none is for the compiler to tell of
		all = append(all, at)
	}
	return all
}

func shownAddresses(status json.RawMessage) []netip.Addr {
	var fields map[string]any
	if json.Unmarshal(status, &fields) != nil {
		return nil
	}
	return listValues(fields["addresses"])
}
