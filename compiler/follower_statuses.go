package compiler

import (
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// Decided is what a follower has decided about some objects, for their statuses. It does not change when the follower
// goes on.
type Decided struct {
	in            status.Input
	rep           report.Report
	servesNothing bool
	all           bool
}

// TakeDecided returns what was decided about the objects whose statuses may have changed since the last call, and about
// more: objects for which [Options] have something new that statuses depend on. It is nil before the first Update, and
// after changes that came to none. With all it gives all objects.
func (f *Follower) TakeDecided(more []object.Ref, all bool) *Decided {
	f.state.MarkStatuses(more, all)
	if f.last == nil || f.refused {
		return nil
	}
	d := &Decided{servesNothing: f.state.ServesNothing()}
	d.in, d.all = f.state.TakeDecided(&d.rep)
	return d
}

// Statuses gives the statuses of these objects, as [Check] does, and compiles nothing. The options say what is known of
// proxies, what statuses objects have, and the time.
func (d *Decided) Statuses(o Options) *CheckResult {
	result, _ := o.buildStatuses(d.in, &d.rep, d.servesNothing)
	if result.All = d.all; d.all {
		return result
	}
	has := make(map[object.Ref]bool, len(result.Objects))
	for _, s := range result.Objects {
		has[s.Ref()] = true
	}
	for ref := range d.in.Some.Refs {
		if !has[ref] {
			result.Without = append(result.Without, ref)
		}
	}
	return result
}
