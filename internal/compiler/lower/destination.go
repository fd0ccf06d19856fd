package lower

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/backend"
)

// Destination is a backend that routes lead to.
type Destination struct {
	// Service and Name are the backend's.
	Service, Name string
	// Clusters are the indices of the clusters that have its hosts.
	Clusters []int

	choiceNeeds choiceNeeds
	facts       hostFacts
}

// choiceNeeds say which facts of a backend's hosts policies get, besides those that all get.
type choiceNeeds struct {
	// owners says that policies get the owners of its hosts, and names that sessions follow the names of pods.
	owners, names bool
	// revoked says that a policy revokes its hosts.
	revoked bool
}

// hostFacts are the facts of a backend's hosts on which not only clusters depend, but routes, policies and messages.
type hostFacts struct {
	// ready says that some host takes new sessions.
	ready bool
	// named says that some hosts are behind DNS names, and faulty that there is something to report of single hosts.
	named, faulty bool
	// owners and revoked are what policies get.
	owners  []string
	revoked []netip.AddrPort
}

func (n choiceNeeds) findFacts(b *backend.Backend, owners Owners) hostFacts {
	f := hostFacts{ready: b.Ready(), named: slices.ContainsFunc(b.Endpoints, isNamed), faulty: b.Faulty}
	identity := v1alpha1.IdentityPod
	if n.names {
		identity = v1alpha1.IdentityName
	}
	if n.owners {
		f.owners = owners.list(identity, b)
		slices.Sort(f.owners)
	}
	if n.revoked {
		f.revoked = listAddresses(b)
		slices.SortFunc(f.revoked, netip.AddrPort.Compare)
	}
	return f
}

// equal tells whether only clusters differ between two facts. It is false for faults, whose reports have places in
// documents, and for DNS names, which are settings of clusters.
func (f *hostFacts) equal(other *hostFacts) bool {
	return f.ready == other.ready && !f.named && !other.named && !f.faulty && !other.faulty &&
		slices.Equal(f.owners, other.owners) && slices.Equal(f.revoked, other.revoked)
}

// ChangesClustersOnly tells whether a change of the backend's hosts changes clusters alone. Then only their hosts are
// chosen again.
func (d *Destination) ChangesClustersOnly(now *backend.Backend, owners Owners) bool {
	facts := d.choiceNeeds.findFacts(now, owners)
	return d.facts.equal(&facts)
}

// noteNeeds notes which facts of a backend's hosts policies get.
func (l *lowerer) noteNeeds(b *backend.Backend, more choiceNeeds) {
	n := l.choiceNeeds[b]
	l.choiceNeeds[b] = choiceNeeds{n.owners || more.owners, n.names || more.names, n.revoked || more.revoked}
}

// listDestinations lists the backends that routes lead to, by Service and name.
func (l *lowerer) listDestinations(clusters []Cluster) []Destination {
	used := slices.SortedFunc(l.Backends.Used(), func(a, b *backend.Backend) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Name, b.Name))
	})
	all, places := make([]Destination, len(used)), make(map[*backend.Backend]int, len(used))
	for i, b := range used {
		all[i] = Destination{
			Service:     b.Service,
			Name:        b.Name,
			choiceNeeds: l.choiceNeeds[b],
			facts:       l.choiceNeeds[b].findFacts(b, l.Owners),
		}
		places[b] = i
	}
	for at := range clusters {
		for _, o := range clusters[at].origins {
			if i, is := places[o.backend]; is && !slices.Contains(all[i].Clusters, at) {
				all[i].Clusters = append(all[i].Clusters, at)
			}
		}
	}
	return all
}
