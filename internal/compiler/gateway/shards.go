package gateway

import (
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// mostSharded is how many of a Gateway's sites have shards, which are Envoy's to keep even where they have no routes.
const mostSharded = 16

// shardable is a site that may have some: of a port, or of a server name there.
type shardable struct {
	port     int
	hostname string // "*" for all of the port
	senior   object.Origin
}

// chooseSharded gives the senior sites shards: with the listeners of others that come later none loses its own, for its
// connections would drain.
func (b *builder) chooseSharded(ports []Port) {
	var all []shardable
	for i := range ports {
		all = append(all, b.listShardable(i, &ports[i])...)
	}
	slices.SortStableFunc(all, func(x, y shardable) int { return b.order.Compare(x.senior, y.senior) })
	chosen := map[string]int{} // by Gateway, where these share no port
	for _, s := range all {
		p := &ports[s.port]
		if chosen[p.Gateway]++; chosen[p.Gateway] <= mostSharded {
			p.Sharded = append(p.Sharded, s.hostname)
		}
	}
}

// listShardable lists a port's. With TLS for one server name there is no more than a host or two.
func (b *builder) listShardable(index int, p *Port) (all []shardable) {
	for _, h := range p.Hosts {
		l := h.Listener
		switch s := (shardable{index, h.Domain, l.origin()}); {
		case p.UDP || l.StreamsOnly():
		case !p.TLS && len(all) == 0:
			s.hostname = "*"
			all = append(all, s)
		case !p.TLS:
			if b.order.Compare(s.senior, all[0].senior) < 0 {
				all[0].senior = s.senior
			}
		case h.Domain == l.hostname && strings.HasPrefix(h.Domain, "*") && len(l.Certificates()) > 0:
			all = append(all, s)
		}
	}
	return all
}

// origin is that of the object which has the listener.
func (l *listener) origin() object.Origin {
	if l.set != nil {
		return l.set.Origin()
	}
	return l.gateway.Origin()
}
