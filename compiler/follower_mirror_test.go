package compiler

import (
	"slices"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// mirror is what someone knows of what there is to say who is told of new problems alone.
type mirror struct{ known map[report.Statement]bool }

// newMirror takes all that a result says.
func newMirror(r *Result) *mirror {
	m := &mirror{known: map[report.Statement]bool{}}
	for _, p := range r.Warnings {
		m.known[newFaultOf(p).Statement] = true
	}
	return m
}

// see applies an update to what is known, and compares that with what there is.
func (m *mirror) see(t *testing.T, name string, u *Update, r *Result) *mirror {
	t.Helper()
	now := newMirror(r)
	if m == nil {
		return now
	}
	for _, p := range u.NewWarnings {
		if known := newFaultOf(p).Statement; m.known[known] || !now.known[known] {
			t.Errorf("%s: said to be new: %s", name, p)
		}
	}
	added := len(now.known)
	for known := range now.known {
		if m.known[known] {
			added--
		}
	}
	isSame := func(a, b Problem) bool { return newFaultOf(a).Statement == newFaultOf(b).Statement }
	if reported := len(slices.CompactFunc(slices.Clone(u.NewWarnings), isSame)); reported != added {
		t.Errorf("%s: told of %d new problems, not of %d: %v", name, reported, added, u.NewWarnings)
	}
	return now
}
