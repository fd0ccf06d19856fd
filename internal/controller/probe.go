package controller

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/envoyproc"
)

// probeEvery is after what time an address is tried again that could not be had.
const probeEvery = 5 * time.Second

// addressError is that of a change of which no listener can be where it shall be.
type addressError struct{ error }

// updateProbed is update without the new listeners at whose addresses an Envoy on this machine could not listen.
func (c *Controller) updateProbed(p *pass) error {
	r := &c.remembered
	r.unusable = envoyproc.FindUnusable(slices.Collect(maps.Keys(r.unusable)), 0) // those that still are
	if err := c.update(p); err != nil {
		return err
	}
	result, err := p.update.Configuration()
	if err != nil {
		return err
	}
	all := listAddresses(result.Served...)
	var served []netip.AddrPort
	for _, p := range r.published {
		served = append(served, listAddresses(p.of)...)
	}
	added := slices.DeleteFunc(slices.Clone(all), func(at netip.AddrPort) bool {
		return slices.ContainsFunc(served, func(own netip.AddrPort) bool { return overlaps(at, own) })
	})
	more := envoyproc.FindUnusable(added, envoyproc.Closing) // a listener there may just have gone
	switch {
	case len(more) == 0:
		return nil
	case len(more) == len(all):
		var problems []error
		for _, at := range all {
			problems = append(problems, errors.New(more[at]))
		}
		return addressError{errors.Join(problems...)}
	}
	unusable := maps.Clone(r.unusable) // the follower has the last ones
	maps.Copy(unusable, more)
	r.unusable = unusable
	return c.update(p)
}

// overlaps tells whether Envoy's own listener at one address would keep limpet from listening at another for a moment.
// Envoy itself can listen on both, and rejects what it can't.
func overlaps(at, own netip.AddrPort) bool {
	return at.Port() == own.Port() && (at.Addr() == own.Addr() || at.Addr().IsUnspecified() || own.Addr().IsUnspecified())
}

// listAddresses lists where listeners of connections are.
func listAddresses(some ...*envoy.Served) (all []netip.AddrPort) {
	for _, d := range some {
		for _, l := range d.Addresses {
			if !l.UDP {
				all = append(all, l.At)
			}
		}
	}
	return all
}
