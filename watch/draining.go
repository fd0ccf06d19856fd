// Package watch remembers since when hosts terminate.
package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"time"
)

// Draining remembers since when hosts terminate, which EndpointSlices don't say.
type Draining struct {
	// Since has each such host with the time at which it was first seen to terminate.
	Since map[netip.AddrPort]time.Time

	file string // empty to forget all of it at the end
}

// NewDraining begins with what a file says, and keeps it up to date; without a file with nothing. A file that can't be
// read is an error, and what comes of it begins with nothing.
func NewDraining(file string) (*Draining, error) {
	d := &Draining{Since: map[netip.AddrPort]time.Time{}, file: file}
	if file == "" {
		return d, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &d.Since)
	}
	if err != nil {
		d.Since = map[netip.AddrPort]time.Time{}
		return d, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}

// See notes which hosts terminate at a time. Those that do so no more are forgotten, so that an address that comes back
// begins anew.
func (d *Draining) See(hosts []netip.AddrPort, now time.Time) error {
	seen := make(map[netip.AddrPort]time.Time, len(hosts))
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

// save moves the new text into the file's place.
func (d *Draining) save() error {
	if d.file == "" {
		return nil
	}
	text, err := json.MarshalIndent(d.Since, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.file), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(d.file), ".*.tmp")
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(text, '\n'))
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), d.file)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
