package memory

import (
	"maps"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
)

// Draining remembers since when hosts terminate, which EndpointSlices don't say.
type Draining struct {
	// Since has each such host with the time at which it was first seen to terminate.
	Since map[compiler.HostKey]time.Time

	table table[compiler.HostKey, time.Time]
}

func newDraining(s Store) (*Draining, error) {
	t, since, err := load[compiler.HostKey](s, func(time.Time) bool { return true })
	return &Draining{Since: since, table: t}, err
}

// Update notes which hosts terminate at a time. Those that do so no more are forgotten, so that an address that comes
// back begins again.
func (d *Draining) Update(hosts []compiler.HostKey, now time.Time) error {
	seen := make(map[compiler.HostKey]time.Time, len(hosts))
	for _, host := range hosts {
		seen[host] = now.Round(0) // of the wall clock, which goes on when limpet does not
		if since, known := d.Since[host]; known {
			seen[host] = since
		}
	}
	if maps.EqualFunc(seen, d.Since, time.Time.Equal) {
		return nil
	}
	before := d.Since
	d.Since = seen
	return d.table.replace(before, seen, time.Time.Equal)
}
