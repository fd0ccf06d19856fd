package follow

import (
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/policy"
)

// ListEnded gives the sessions that the changes of this round have ended, but for those of routes that are not served
// any more.
func (s *State) ListEnded() []policy.EndedSessions {
	if len(s.gone) == 0 {
		return nil
	}
	var before, now []*policy.Sessions
	for _, p := range s.gone {
		before = append(before, p.sessions)
	}
	for g := range s.added {
		now = append(now, g.part.sessions)
	}
	return slices.DeleteFunc(policy.FindEndedSessions(before, now), func(e policy.EndedSessions) bool { return e.Gone })
}

// LongLived gives the sessions that may go on without a request for longer than a time.
func (s *State) LongLived(unused time.Duration) (all []policy.EndedSessions) {
	for g := range s.groups.all {
		all = append(all, g.part.sessions.LongLived(unused)...)
	}
	return all
}
