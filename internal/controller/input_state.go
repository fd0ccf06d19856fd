package controller

import (
	"slices"
	"time"
)

// InputState says whether what is served is what the input says.
type InputState struct {
	// Refused are the errors by which some of the input is not in effect, in the words in which they were printed; none where all of it is.
	Refused []string
	// Since is when the first of these pieces of the input was refused.
	Since time.Time
}

// InputState is that of the input that was read last.
func (c *Controller) InputState() InputState {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.remembered.inputState
}

// noteInput notes what of the input is not in effect.
func (c *Controller) noteInput() {
	var refused []string
	for _, text := range []string{c.loop.readError, c.loop.failure} {
		if text != "" {
			refused = append(refused, text)
		}
	}
	for _, fault := range c.loop.held.listFaults() {
		refused = append(refused, fault.String())
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	state := &c.remembered.inputState
	switch {
	case len(refused) == 0:
		state.Since = time.Time{}
	case len(state.Refused) == 0:
		state.Since = time.Now()
	}
	state.Refused = slices.Compact(refused)
}
