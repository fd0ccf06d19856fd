package follow

import (
	"github.com/limpet-proxy/limpet/internal/compiler/index"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// reported counts how often each problem is given, so that those that are new can be told.
type reported struct {
	counted[report.Statement]
	last map[report.Statement]report.Entry // where one was given last, since new ones were asked for
	// about are the reports that say something of an object for its status, and mark is told of objects of which that may
	// be something else.
	about index.Sets[object.Ref, *report.Report]
	mark  func(object.Ref)
}

func newReported(mark func(object.Ref)) reported {
	return reported{
		counted: newCounted[report.Statement](), last: map[report.Statement]report.Entry{},
		about: index.Sets[object.Ref, *report.Report]{}, mark: mark,
	}
}

// count counts what a report says in or out; nil says nothing.
func (s *reported) count(rep *report.Report, by int) {
	if rep == nil {
		return
	}
	rep.VisitProblems(func(w report.Statement, e report.Entry) {
		s.add(w, by)
		if by > 0 {
			s.last[w] = e
		}
		if e.IsOfStatus() {
			s.about.Set(e.Ref(), rep, by > 0)
			s.mark(e.Ref())
		}
	})
}

// takeNew gives the problems that are given now and were not before, and tells whether there are other ones than
// before.
func (s *reported) takeNew() (problems []report.Problem, others bool) {
	var entries []report.Entry
	taken := s.take()
	for w := range taken {
		if s.now[w] > 0 {
			entries = append(entries, s.last[w])
		}
	}
	s.last = map[report.Statement]report.Entry{}
	return report.SortEntries(entries), len(taken) > 0
}
