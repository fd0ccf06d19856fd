package controller

import (
	"slices"
	"strings"
	"time"
)

// InputState says whether what is served is what the input that was read last says: by the errors by which some of it
// is not in effect, in the words in which they were printed, and since when the first of these pieces was refused;
// nothing where all of it is.
func (c *Controller) InputState() (refused []string, since time.Time) {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.remembered.refused, c.remembered.refusedSince
}

// noteInput notes what of the input is not in effect.
func (c *Controller) noteInput() {
	var refused []string
	for _, text := range []string{c.loop.readError, c.loop.failure} {
		if text != "" {
			refused = append(refused, strings.Split(text, "\n")...)
		}
	}
	for _, fault := range c.loop.held.listFaults() {
		if line := fault.String(); !slices.Contains(refused, line) {
			refused = append(refused, line)
		}
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	r := &c.remembered
	switch {
	case len(refused) == 0:
		r.refusedSince = time.Time{}
	case len(r.refused) == 0:
		r.refusedSince = time.Now()
	}
	r.refused = refused
}
