package compiler

import (
	"fmt"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
)

// RetiredKey is a key with which sessions may be signed, and which verifies none any more.
type RetiredKey struct {
	ID string
	// Unused is for how long it has signed none.
	Unused time.Duration
}

// takeEnded gives what changes have ended of routes' sessions since this was last asked for.
func (f *Follower) takeEnded(c Changes) map[object.Ref]Ended {
	all := map[object.Ref]Ended{}
	note := func(e policy.EndedSessions, why string) {
		ref := e.Route.Ref()
		all[ref] = all[ref].Add(Ended{Generation: e.Route.Value.Generation, At: c.Time, Rules: e.Had, Why: []string{why}})
	}
	for _, e := range f.state.TakeEnded() {
		note(e, e.Path()+": "+e.Why)
	}
	for _, key := range c.Retired {
		for _, e := range f.state.LongLived(key.Unused) {
			note(e, fmt.Sprintf("the key %q, with which they may be signed, is in the ring no more", key.ID))
		}
	}
	return all
}
