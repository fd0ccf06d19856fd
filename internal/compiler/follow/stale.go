package follow

import (
	"bytes"
	"cmp"
	"reflect"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// stale is what has changed since the configuration was put together last.
type stale struct {
	listeners, policies bool
	sites               map[string]bool
	hosts               map[string]map[string]bool // domains, by site
	// settings and endpoints are the clusters of which these have changed, and inline says that one of them has or had its
	// endpoints inside.
	settings, endpoints []string
	inline              bool
}

// findStale finds that.
func (m *merged) findStale() *stale {
	s := &stale{listeners: m.was.listeners, sites: map[string]bool{}, hosts: map[string]map[string]bool{}}
	for name, was := range m.was.policies {
		s.policies = s.policies || !reflect.DeepEqual(was, m.policies[name])
	}
	for key, was := range m.was.hosts {
		if !bytes.Equal(was, m.text(key)) {
			s.noteHost(key)
		}
	}
	none := &envoy.Cluster{}
	for name, was := range m.was.clusters {
		was, now := cmp.Or(was, none), cmp.Or(m.clusterText(name), none)
		if !bytes.Equal(was.Settings, now.Settings) {
			s.settings = append(s.settings, name)
		}
		if !was.PackEndpoints().Equal(now.PackEndpoints()) {
			s.endpoints = append(s.endpoints, name)
		}
		s.inline = s.inline || was.Inline || now.Inline
	}
	return s
}

func (s *stale) noteHost(key hostKey) {
	if s.hosts[key.site] == nil {
		s.hosts[key.site] = map[string]bool{}
	}
	s.sites[key.site], s.hosts[key.site][key.domain] = true, true
}
