package serve

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/envoyproc"
	"github.com/limpet-proxy/limpet/internal/livereload"
)

// probeEvery is after what time an address is tried again that could not be had.
const probeEvery = 5 * time.Second

// probe leaves the new listeners out at whose addresses an Envoy on this machine could not listen.
func (s *Output) probe(in livereload.Inputs, now time.Time, update *compiler.Update) (*compiler.Update, error) {
	result, err := update.Configuration()
	if err != nil {
		return nil, err
	}
	all := listAddresses(result.Served)
	served := s.listServed()
	added := slices.DeleteFunc(slices.Clone(all), func(at netip.AddrPort) bool { return slices.Contains(served, at) })
	more := envoyproc.FindUnusable(added)
	switch {
	case len(more) == 0:
		return update, nil
	case len(more) == len(all):
		return nil, envoyproc.CheckFree(all)
	}
	maps.Copy(s.unusable, more)
	fresh := s.fresh
	update, err = s.update(in, now)
	s.fresh = append(fresh, s.fresh...)
	return update, err
}

// probeAgain forgets the addresses that can be had by now.
func (s *Output) probeAgain() {
	s.unusable = envoyproc.FindUnusable(slices.Collect(maps.Keys(s.unusable)))
}

// listServed lists where the listeners are that are served.
func (s *Output) listServed() (all []netip.AddrPort) {
	for _, p := range s.published {
		all = append(all, listAddresses([]*envoy.Served{p.of})...)
	}
	return all
}

// listAddresses lists where listeners are.
func listAddresses(some []*envoy.Served) (all []netip.AddrPort) {
	for _, d := range some {
		for _, l := range d.Listeners {
			if at, err := envoy.ParseListenerName(l.Name); err == nil {
				all = append(all, at)
			}
		}
	}
	return all
}
