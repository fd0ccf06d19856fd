package envoy

import "github.com/limpet-proxy/limpet/internal/compiler/ir"

// Assembly puts a configuration for a server together from texts.
type Assembly struct{ Settings Settings }

func (a Assembly) newEmitter() *emitter { return &emitter{settings: a.Settings, served: true} }

func (a Assembly) hostForm(sessions bool) itemForm {
	return itemForm{pinHeader: a.Settings.Plugin.PinHeader, native: a.Settings.Native, binary: true, sessions: sessions}
}

// Site is a part of a listener with routes of its own, by the name of these.
type Site struct {
	Name  string
	Hosts []ir.Host
}

// ListSites gives a listener's sites, in order.
func ListSites(l ir.Listener) []Site {
	var all []Site
	for _, s := range listSites(l) {
		all = append(all, Site{s.name, s.hosts})
	}
	return all
}

// HostText is a virtual host's bytes in each form that it may have, and what of its routes its table's form depends on.
type HostText struct {
	Tally
	// Clusters are those that its routes lead to, in order.
	Clusters []string
	// Scopes are those of each of its routes, as in [WrittenHost].
	Scopes [][]string
	// Shards are those that it is in; nil for all.
	Shards      []uint8
	usual, lean []byte
}

// Text gives the form for a table whose route configuration turns sessions on, or does not.
func (h *HostText) Text(sessions bool) []byte {
	if sessions {
		return h.lean
	}
	return h.usual
}

// RenderHosts gives the texts of a site's virtual hosts, for JoinRoutes, those that are kept or new ones.
func (a Assembly) RenderHosts(kept HostTexts, s Site) ([]HostText, error) {
	usual, err := renderHosts(kept, site{name: s.Name, hosts: s.Hosts}, a.hostForm(false))
	if err != nil {
		return nil, err
	}
	lean, err := renderHosts(kept, site{name: s.Name, hosts: s.Hosts}, a.hostForm(true))
	if err != nil {
		return nil, err
	}
	texts := make([]HostText, len(usual))
	for i := range texts {
		h := &s.Hosts[i]
		texts[i] = HostText{tallyHosts(*h), ListClusters(s.Hosts[i : i+1]), listScopes(h), listShards(h), usual[i], lean[i]}
	}
	return texts, nil
}
