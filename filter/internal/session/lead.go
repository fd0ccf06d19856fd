package session

import policyconfig "github.com/limpet-proxy/limpet/policy-config"

// lead is a cluster of a backend of a split whose routes are there once more for each backend.
type lead struct {
	cluster string
	backend uint32
	// value is that of the header which the routes to the backend match; empty for none.
	value string
}

// newLeads reads what validation has read before; nil for none.
func newLeads(list []string) (leads []lead) {
	for _, text := range list {
		if item, err := policyconfig.ParseLead(text); err == nil {
			leads = append(leads, lead{item.Cluster, item.Backend, item.Value()})
		}
	}
	return leads
}

// lead leads a pinned request to its session's backend, if the split still has that. The weights choose for all others.
func (x *Exchange) lead(h Request, backend uint32) {
	for i := range x.policy.leads {
		if l := &x.policy.leads[i]; l.backend == backend && l.value != "" {
			x.kept, x.led = true, backend
			h.Lead(l.value)
			return
		}
	}
}

// backendOfCluster is the tag of the backend that a cluster leads to; 0 for none.
func (p *Policy) backendOfCluster(cluster string) uint32 {
	for i := range p.leads {
		if l := &p.leads[i]; equal(l.cluster, cluster) {
			return l.backend
		}
	}
	return 0
}

// misled tells whether a request was led to a backend that the proxy has no cluster for: it has no endpoints, or is not
// there any more.
func (x *Exchange) misled(details string) bool {
	return x.kept && x.policy.leads != nil && (details == "cluster_not_found" || details == "direct_response")
}
