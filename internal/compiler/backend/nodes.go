package backend

import (
	"net/netip"
	"slices"
)

// Nodes are the known machines of a cluster, and its API servers. What listens on a machine belongs to no namespace,
// except for Pods on the machine's network. Nodes do not change once they are made; nil means that nothing is known.
type Nodes struct {
	// Pods has, for each machine's address, the namespaces that have a Pod at that address.
	Pods map[netip.Addr][]string
	// APIServers are where API servers listen. No endpoint may be there, not even a Pod's on that machine.
	APIServers []netip.AddrPort
}

// isAPIServer tells whether an API server listens at an address.
func (n *Nodes) isAPIServer(at netip.AddrPort) bool {
	return n != nil && slices.Contains(n.APIServers, at)
}

// belongsToOthers tells whether an address is that of a machine on whose network the namespace has no Pod.
func (n *Nodes) belongsToOthers(namespace string, at netip.Addr) bool {
	namespaces, is := n.podsAt(at)
	return is && !slices.Contains(namespaces, namespace)
}

// ListChanged lists the addresses of which the two values say something else.
func (n *Nodes) ListChanged(now *Nodes) map[netip.Addr]bool {
	moved := map[netip.Addr]bool{}
	for _, lists := range [][2]*Nodes{{n, now}, {now, n}} {
		if n == now || lists[0] == nil {
			continue
		}
		for _, at := range lists[0].APIServers {
			if lists[1] == nil || !slices.Contains(lists[1].APIServers, at) {
				moved[at.Addr()] = true
			}
		}
		for at, namespaces := range lists[0].Pods {
			if others, is := lists[1].podsAt(at); !is || !slices.Equal(namespaces, others) {
				moved[at] = true
			}
		}
	}
	return moved
}

func (n *Nodes) podsAt(at netip.Addr) (namespaces []string, is bool) {
	if n == nil {
		return nil, false
	}
	namespaces, is = n.Pods[at]
	return namespaces, is
}
