package compiler

import (
	"slices"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// mirror is what someone knows of what there is to say who is told of new problems alone.
type mirror struct{ said map[report.Said]bool }

// newMirror takes all that a result says.
func newMirror(r *Result) *mirror {
	m := &mirror{said: map[report.Said]bool{}}
	for _, p := range r.Warnings {
		m.said[sayingOf(p)] = true
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
		if said := sayingOf(p); m.said[said] || !now.said[said] {
			t.Errorf("%s: said to be new: %s", name, p)
		}
	}
	fresh := len(now.said)
	for said := range now.said {
		if m.said[said] {
			fresh--
		}
	}
	isSame := func(a, b Problem) bool { return sayingOf(a) == sayingOf(b) }
	if told := len(slices.CompactFunc(slices.Clone(u.NewWarnings), isSame)); told != fresh {
		t.Errorf("%s: told of %d new problems, not of %d: %v", name, told, fresh, u.NewWarnings)
	}
	return now
}
