package follow

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Settle finishes a round of changes without an error: it lists what is not as it was after the last such round, and the
// warnings that are new.
func (s *State) Settle() (changes []Change, warnings []report.Problem, err error) {
	if err := s.merged.settle(); err != nil {
		return nil, nil, err
	}
	s.keepIncumbents()
	return s.merged.takeChanges(), s.said.takeNew(), nil
}

// SaysSame tells whether what there is to say is what there was when this, or what is new, was last asked for.
func (s *State) SaysSame() bool { return s.said.isSame() }

// TakeOldProblems gives what was said when this, or what is new, was last asked for.
func (s *State) TakeOldProblems() map[report.Said]bool { return s.said.takeOld() }

// Discovery is the whole configuration. What has not changed since the last time is the same value.
func (s *State) Discovery(keys policyconfig.Keys) (*envoy.Discovery, error) {
	return s.merged.assemble(keys)
}

// Draining are the hosts that terminate, and the time at which the same objects come to something else, if there is one.
func (s *State) Draining() (hosts []ir.HostKey, until time.Time) {
	for at := range s.merged.draining {
		hosts = append(hosts, at)
	}
	slices.SortFunc(hosts, ir.HostKey.Compare)
	for u := range s.merged.untils {
		if until.IsZero() || u.Before(until) {
			until = u
		}
	}
	return hosts, until
}

// Pods are the pods at addresses, in order, and whether some are no endpoints yet.
func (s *State) Pods() (pods []ir.PodAt, unsettled bool) {
	m := s.merged
	if m.podList == nil {
		m.podList = make([]ir.PodAt, 0, len(m.pods))
		for at := range m.pods {
			m.podList = append(m.podList, at)
		}
		slices.SortFunc(m.podList, ir.PodAt.Compare)
	}
	return m.podList, m.unsettled > 0
}

// HasPrivateKeys reports whether the configuration holds private keys of certificates.
func (s *State) HasPrivateKeys() bool {
	showsSome := func(l ir.Listener) bool { return len(l.ClientCertificates) > 0 }
	return slices.ContainsFunc(s.merged.listeners, ir.Listener.HasPrivateKeys) ||
		slices.ContainsFunc(s.merged.listeners, showsSome) && s.merged.showsClient()
}

// showsClient reports whether hosts of some cluster are shown a certificate.
func (m *merged) showsClient() bool {
	for _, c := range m.clusters {
		if c.users > 0 && c.config.ShowsClient() {
			return true
		}
	}
	return false
}

// assemble puts the configuration together.
func (m *merged) assemble(keys policyconfig.Keys) (*envoy.Discovery, error) {
	last := m.last
	if last == nil {
		last = &envoy.Discovery{}
	}
	d, err := m.assembleFrame(last, keys)
	if err != nil {
		return nil, err
	}
	routes := map[string]envoy.Routes{}
	for _, r := range last.Routes {
		routes[r.Name] = r
	}
	for _, l := range m.listeners {
		for _, s := range m.listSites(l) {
			r, known := routes[s.Name]
			if !known || m.stale.sites[s.key] {
				if r, err = m.assembly.JoinRoutes(s.Name, m.sites[s.key].list(), m.sites[s.key].sessions); err != nil {
					return nil, err
				}
			}
			d.Routes = append(d.Routes, r)
		}
	}
	if d.Clusters = last.Clusters; m.stale.clusters || m.last == nil {
		d.Clusters = m.listClusters()
	}
	m.last = d
	m.stale = stale{sites: map[string]bool{}}
	return d, nil
}

// assembleFrame gives the configuration without routes and clusters.
func (m *merged) assembleFrame(last *envoy.Discovery, keys policyconfig.Keys) (*envoy.Discovery, error) {
	if m.last != nil && !m.stale.policies && !m.stale.listeners && reflect.DeepEqual(last.Plugin.Keys, keys) {
		d := *last
		d.Routes, d.Clusters = nil, nil
		return &d, nil
	}
	policies := make([]policyconfig.Policy, 0, len(m.policies))
	for _, p := range m.policies {
		policies = append(policies, *p)
	}
	slices.SortFunc(policies, func(a, b policyconfig.Policy) int { return cmp.Compare(a.Name, b.Name) })
	config, text, err := plugin.EmitApart(policies, plugin.GlobalOf(m.assembly.Settings.Plugin, keys))
	if err != nil {
		return nil, err
	}
	m.assembly.Settings.Plugin, m.assembly.Settings.PluginJSON = config, text
	if m.last != nil && bytes.Equal(text, last.PluginJSON) && !m.stale.listeners {
		d := *last
		d.Plugin, d.Routes, d.Clusters = config, nil, nil
		return &d, nil
	}
	return m.assembly.Frame(m.listeners)
}

// list gives the texts of a site's hosts, in order.
func (s *siteHosts) list() [][]byte {
	texts := make([][]byte, 0, len(s.among)+len(s.after))
	for _, domains := range [][]string{s.among, s.after} {
		for _, d := range domains {
			texts = append(texts, s.text(d))
		}
	}
	return texts
}

func (m *merged) listClusters() []envoy.Cluster {
	all := make([]envoy.Cluster, 0, len(m.clusterNames))
	for _, name := range m.clusterNames {
		all = append(all, *m.clusters[name].text)
	}
	return all
}

// Size is how many results are kept of a step.
type Size struct {
	Step    string
	Entries int
}

// Sizes tells how much is kept: nothing that the objects at hand do not need.
func (s *State) Sizes() []Size {
	texts := 0
	for _, site := range s.merged.sites {
		texts += len(site.texts) + len(site.written)
	}
	return []Size{
		{"followed objects", s.store.Count()},
		{"groups of routes", len(s.groups.all)},
		{"texts of virtual hosts", texts},
		{"texts of clusters", len(s.merged.clusters)},
		{"session policies", len(s.merged.policies)},
		{"attached policies", len(s.attached)},
		{"names", len(s.objects.named)},
		{"readers", len(s.objects.readers)},
		{"coupled routes", s.objects.graph.Len()},
		{"warnings", len(s.said.count)},
	}
}
