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

// listEnded gives what changes have ended of routes' sessions, before they are finished.
func (f *Follower) listEnded(c Changes) map[object.Ref]Ended {
	all := map[object.Ref]Ended{}
	note := func(e policy.EndedSessions, edit Ended) {
		ref := e.Route.Ref()
		edit.Generation, edit.At, edit.Rules = e.Route.Value.Generation, c.Time, e.Had
		if was := all[ref]; was.File != "" {
			edit.File, edit.Line = was.File, was.Line
		}
		all[ref] = all[ref].Add(edit)
	}
	for _, e := range f.state.ListEnded() {
		file, line := e.Route.Locate(e.Path())
		note(e, Ended{Why: []string{e.Path() + ": " + e.Why}, File: file, Line: line})
	}
	for _, key := range c.Retired {
		why := fmt.Sprintf("the key %q, with which they may be signed, is in the ring no more", key.ID)
		for _, e := range f.state.LongLived(key.Unused) {
			note(e, Ended{Why: []string{why}})
		}
	}
	return all
}
