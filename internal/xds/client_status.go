package xds

import (
	"cmp"
	"slices"
	"time"
)

// ClientStatus is what is known of a connected Envoy.
type ClientStatus struct {
	Gateway string `json:"gateway"`
	// Node is what the Envoy calls itself, and Identity what its certificate says; empty on a connection without TLS.
	Node     string `json:"node"`
	Identity string `json:"identity,omitempty"`
	Address  string `json:"address"`
	// Version is Envoy's, and Warning what is wrong with that.
	Version   string    `json:"version,omitempty"`
	Warning   string    `json:"warning,omitempty"`
	Connected time.Time `json:"connected"`
	// Generation is what it has acknowledged as a whole, and Target what it is being brought to.
	Generation string `json:"generation,omitempty"`
	Target     string `json:"target,omitempty"`
	// Stage is how far that has come.
	Stage string `json:"stage"`
	// Late says what it owes an answer to for longer than the deadline; empty for nothing.
	Late     string      `json:"late,omitempty"`
	Rejected []Rejection `json:"rejected,omitempty"`
	// Routes is "sharded" for an Envoy that has a table of routes for each shard, or WholeRoutes and its words for one
	// that can't; empty before that is known, and where nothing has shards.
	Routes string `json:"routes,omitempty"`

	// Done is the number of the last snapshot that it has as far as it takes it.
	Done uint64 `json:"-"`

	routed uint64 // as the client has it
	// listeners are those of the last snapshot all of which it has acknowledged, as Snapshot.Listeners; empty before.
	listeners string
}

// Acknowledged gives, for each Gateway, the listeners that a connected Envoy has acknowledged as a whole, as
// [Snapshot.Listeners].
func (s *Server) Acknowledged() map[string][]string {
	all := map[string][]string{}
	for _, c := range s.Clients() {
		if c.listeners != "" && !slices.Contains(all[c.Gateway], c.listeners) {
			all[c.Gateway] = append(all[c.Gateway], c.listeners)
		}
	}
	return all
}

func (s *Server) acknowledged() {
	if s.options.Acknowledged != nil {
		s.options.Acknowledged()
	}
}

// Clients are the connected Envoys, by their Gateway and name.
func (s *Server) Clients() []ClientStatus {
	s.lock.Lock()
	defer s.lock.Unlock()
	var all []ClientStatus
	for _, g := range s.gateways {
		for one := range g.streams {
			all = append(all, *one.status.Load())
		}
	}
	slices.SortFunc(all, func(a, b ClientStatus) int {
		return cmp.Or(cmp.Compare(a.Gateway, b.Gateway), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Address, b.Address))
	})
	return all
}
