package follow

import (
	"bytes"
	"reflect"
)

// stale is what has changed since the configuration was put together last.
type stale struct {
	listeners, policies bool
	sites               map[string]bool
	hosts               map[string]map[string]bool // domains, by site
	// touched says that there are hosts or sites that may have changed.
	touched bool
	// settings and endpoints are the clusters of which these have changed, and apart says that one of them has endpoints
	// apart from it and had none, or the reverse.
	settings, endpoints []string
	apart               bool
}

// findStale finds that.
func (m *merged) findStale() *stale {
	s := &stale{
		listeners: m.was.listeners, sites: map[string]bool{}, hosts: map[string]map[string]bool{},
		touched: m.was.listeners || len(m.was.hosts) > 0,
	}
	for name, was := range m.was.policies {
		s.policies = s.policies || !reflect.DeepEqual(was, m.policies[name])
	}
	for key, was := range m.was.hosts {
		if !bytes.Equal(was, m.text(key)) {
			s.noteHost(key)
		}
	}
	for name, was := range m.was.clusters {
		now := m.clusterText(name)
		if was == nil || now == nil {
			continue // which is a change of who uses it
		}
		if was.Settings != now.Settings {
			s.settings = append(s.settings, name)
		}
		if was.Endpoints != now.Endpoints {
			s.endpoints = append(s.endpoints, name)
		}
		s.apart = s.apart || (was.Endpoints == nil) != (now.Endpoints == nil)
	}
	return s
}

func (s *stale) noteHost(key hostKey) {
	if s.hosts[key.site] == nil {
		s.hosts[key.site] = map[string]bool{}
	}
	s.sites[key.site], s.hosts[key.site][key.domain] = true, true
}
