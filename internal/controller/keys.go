package controller

import (
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/message"
)

// Fingerprints are those of the keys that Envoys are served; none where they have their own.
func (c *Controller) Fingerprints() keyfile.Fingerprints {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.remembered.keys
}

// tellKeys says which keys Envoys are served from now on, if those are others than before.
func (c *Controller) tellKeys(now keyfile.Fingerprints) {
	c.lock.Lock()
	before := c.remembered.keys
	c.remembered.keys = now
	c.lock.Unlock()
	if now.Ring != before.Ring {
		message.Print(c.Stderr, now.String())
	}
}
