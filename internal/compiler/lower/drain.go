package lower

import (
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
)

// Draining is what is known of hosts that terminate and still serve (S41).
type Draining struct {
	// Now is the time of the compilation.
	Now time.Time
	// Since is when such hosts began to terminate; those that are not in it begin now.
	Since map[ir.HostKey]time.Time
}

// limitDrain gives each choice the limits of its session for hosts that terminate and for those that are unselected.
func (l *lowerer) limitDrain(choices []choice, session func(choice) *policy.Session) {
	if l.Draining == nil {
		return
	}
	for i := range choices {
		if choices[i].backend == nil {
			continue
		}
		if s := session(choices[i]); s != nil {
			if limit, written := s.Effective.DrainTimeout(); written {
				choices[i].drainTimeout = &limit
			}
			if limit, written := s.Effective.KeepUnselected(); written {
				choices[i].keepUnselected = &limit
			}
		}
	}
}

// limitSuffix is a part of the name of a cluster whose hosts depend on limits.
func (c choice) limitSuffix() (suffix string) {
	if c.drainTimeout != nil {
		suffix = "/drain-" + c.drainTimeout.String()
	}
	if c.keepUnselected != nil {
		suffix += "/keep-" + c.keepUnselected.String()
	}
	return suffix
}

// canTakeOver tells whether every backend that takes new sessions has a ready host, and there is one.
func canTakeOver(choices []choice) bool {
	new := slices.DeleteFunc(slices.Clone(choices), func(c choice) bool { return c.weight == 0 })
	return len(new) > 0 && !slices.ContainsFunc(new, func(c choice) bool { return c.backend == nil || !c.backend.Ready() })
}
