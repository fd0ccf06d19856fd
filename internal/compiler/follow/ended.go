package follow

import (
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/policy"
)

// endings tells which sessions end: of parts that have gone since this was last asked for, and those of groups that
// were made since.
type endings struct {
	gone []*policy.Sessions
	made map[*group]bool
}

func newEndings() endings { return endings{made: map[*group]bool{}} }

func (e *endings) add(g *group) { e.made[g] = true }

func (e *endings) remove(g *group) {
	if !e.made[g] {
		e.gone = append(e.gone, g.part.sessions)
	}
	delete(e.made, g)
}

// TakeEnded gives the sessions that changes have ended since this was last asked for, but for those of routes that are
// not served any more.
func (s *State) TakeEnded() []policy.EndedSessions {
	var now []*policy.Sessions
	for g := range s.endings.made {
		now = append(now, g.part.sessions)
	}
	before := s.endings.gone
	s.endings = newEndings()
	if len(before) == 0 {
		return nil
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
