package follow

import (
	"bytes"

	"github.com/limpet-proxy/limpet/internal/compiler/index"
)

// stale is what has changed since the configuration was put together last.
type stale struct {
	listeners bool
	// hosts are the domains of those that have changed, by their site's key, and touched says that there are hosts or
	// sites that may have.
	hosts   index.Sets[string, string]
	touched bool
	// settings and endpoints are the clusters of which these have changed, and apart says that one of them has endpoints
	// apart from it and had none, or the reverse.
	settings, endpoints []string
	apart               bool
}

// findStale finds that.
func (m *merged) findStale() *stale {
	s := &stale{
		listeners: m.was.listeners, hosts: index.Sets[string, string]{},
		touched: m.was.listeners || len(m.was.hosts) > 0,
	}
	for key, was := range m.was.hosts {
		if !bytes.Equal(was, m.text(key)) {
			s.hosts.Add(key.site, key.domain)
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
