package livereload

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/atomicfile"
)

// Draining remembers since when hosts terminate, which EndpointSlices don't say.
type Draining struct {
	// Since has each such host with the time at which it was first seen to terminate.
	Since map[compiler.HostKey]time.Time

	file string // empty to forget all of it at the end
}

// NewDraining begins with what a file says, and keeps it up to date; without a file with nothing. A file that can't be
// read is an error, and what comes of it begins with nothing.
func NewDraining(file string) (*Draining, error) {
	since, err := readMemory[compiler.HostKey, time.Time](file)
	return &Draining{Since: since, file: file}, err
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
	return d.save()
}

// save writes the file, if there is one.
func (d *Draining) save() error {
	if d.file == "" {
		return nil
	}
	text, err := json.MarshalIndent(d.Since, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(d.file, append(text, '\n'), 0o644)
}
