package follow

import (
	"github.com/limpet-proxy/limpet/internal/compiler/index"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// said counts how often each problem is given, so that those that are new can be told.
type said struct {
	count map[report.Said]int
	// was is how often one was given when new ones were last asked for, if it has changed; last is where it was given
	// last.
	was  map[report.Said]int
	last map[report.Said]report.Entry
	// about are the reports that say something of an object for its status, and mark is told of objects of which that may
	// be something else.
	about index.Sets[object.Ref, *report.Report]
	mark  func(object.Ref)
}

func newSaid(mark func(object.Ref)) said {
	return said{
		count: map[report.Said]int{}, was: map[report.Said]int{}, last: map[report.Said]report.Entry{},
		about: index.Sets[object.Ref, *report.Report]{}, mark: mark,
	}
}

func (s said) add(rep *report.Report) {
	rep.VisitProblems(func(w report.Said, e report.Entry) {
		s.touch(w)
		count(s.count, w, 1)
		s.last[w] = e
		if e.IsOfStatus() {
			s.about.Add(e.Ref(), rep)
			s.mark(e.Ref())
		}
	})
}

func (s said) remove(rep *report.Report) {
	if rep == nil {
		return
	}
	rep.VisitProblems(func(w report.Said, e report.Entry) {
		s.touch(w)
		count(s.count, w, -1)
		if e.IsOfStatus() {
			s.about.Remove(e.Ref(), rep)
			s.mark(e.Ref())
		}
	})
}

func (s said) touch(w report.Said) {
	if _, noted := s.was[w]; !noted {
		s.was[w] = s.count[w]
	}
}

// isSame tells whether what is given now is what was given when new ones were last asked for.
func (s said) isSame() bool {
	for w, was := range s.was {
		if (was > 0) != (s.count[w] > 0) {
			return false
		}
	}
	return true
}

// takeNew gives the problems that are given now and were not before.
func (s said) takeNew() []report.Problem {
	var entries []report.Entry
	for w, was := range s.was {
		if was == 0 && s.count[w] > 0 {
			entries = append(entries, s.last[w])
		}
	}
	clear(s.was)
	clear(s.last)
	return report.SortEntries(entries)
}
