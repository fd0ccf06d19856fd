//go:build !tinygo

package policyconfig

import (
	"cmp"
	"time"
)

// LongestUnused is the longest time for which a session goes on without a request; 0 for one that ends with nothing but
// its key.
func (p *Policy) LongestUnused() time.Duration {
	return time.Duration(cmp.Or(p.IdleTimeout, p.AbsoluteTimeout)) * time.Second
}
