package controller

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/message"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Ended gives the routes of which edits have ended sessions, as far back as people are told of that.
func (c *Controller) Ended() map[object.Ref]compiler.Ended {
	c.lock.Lock()
	defer c.lock.Unlock()
	ended := maps.Clone(c.remembered.ended)
	maps.DeleteFunc(ended, func(_ object.Ref, e compiler.Ended) bool { return time.Since(e.At) >= compiler.TellEnded })
	return ended
}

// noteEnded notes the routes of whose sessions a pass has ended some.
func (c *Controller) noteEnded(p *pass) {
	r := &c.remembered
	r.changes = r.changes || len(p.update.Ended) > 0
	maps.DeleteFunc(r.ended, func(_ object.Ref, e compiler.Ended) bool { return p.now.Sub(e.At) >= compiler.TellEnded })
	for ref, e := range p.update.Ended {
		p.ended = append(p.ended, compiler.Problem{
			Code: report.SessionsEnd, Object: ref.String(), File: e.File, Line: e.Line,
			Message: e.String() + "; once the edit is taken back, those of clients that have not come since go on",
		})
		if r.ended == nil {
			r.ended = map[object.Ref]compiler.Ended{}
		}
		r.ended[ref] = r.ended[ref].Add(e)
	}
}

// printFound says what a pass has found, and whose sessions it has ended.
func (c *Controller) printFound(p *pass) {
	message.PrintProblems(c.Stderr, p.warnings, c.Style)
	slices.SortFunc(p.ended, func(a, b compiler.Problem) int { return strings.Compare(a.Object, b.Object) })
	message.PrintProblems(c.Stderr, p.ended, c.Style)
}

// retired lists the keys with which sessions may be signed and which are not in the ring of a pass any more, though
// they were in the one before.
func (p *pass) retired(before policyconfig.KeyRing) (keys []compiler.RetiredKey) {
	for id, signed := range keyfile.Retired(before, p.input.Ring, p.now) {
		keys = append(keys, compiler.RetiredKey{ID: id, Unused: p.now.Sub(signed)})
	}
	return keys
}
