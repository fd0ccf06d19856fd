package livereload

import (
	"maps"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
)

// Draining remembers since when hosts terminate, which EndpointSlices don't say.
type Draining struct {
	// Since has each such host with the time at which it was first seen to terminate.
	Since map[compiler.HostKey]time.Time

	memory Memory
}

// NewDraining begins with what a file says, and keeps it up to date; without a file with nothing. A file that can't be
// read is an error, and what comes of it begins with nothing.
func NewDraining(file string) (*Draining, error) { return NewDrainingIn(FileMemory(file)) }

// NewDrainingIn is NewDraining for any memory.
func NewDrainingIn(m Memory) (*Draining, error) {
	since, err := recall[compiler.HostKey, time.Time](m)
	return &Draining{Since: since, memory: m}, err
}

// See notes which hosts terminate at a time. Those that do so no more are forgotten, so that an address that comes back
// begins anew.
func (d *Draining) See(hosts []compiler.HostKey, now time.Time) error {
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
	d.Since = seen
	return remember(d.memory, d.Since, func(time.Time) bool { return true }, false)
}
