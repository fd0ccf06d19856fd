package compiler

import (
	"github.com/limpet-proxy/limpet/internal/compiler/follow"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Decided is what a follower has decided about its documents, for their statuses. It stays as it is when the follower goes on.
type Decided struct {
	decided       *follow.Decided
	rep           report.Report
	servesNothing bool
}

// Decided gives what was decided at the last Update; nil where that did not come from parts.
func (f *Follower) Decided() *Decided {
	if f.last == nil || f.whole || f.refused {
		return nil
	}
	d := &Decided{decided: f.state.Decided(), servesNothing: f.state.ServesNothing()}
	f.state.ReportAll(&d.rep)
	return d
}

// Statuses is what the function Statuses gives for the same documents: it puts together what is known of them, and compiles nothing. The
// options say what is known of proxies, what statuses objects have, and the time.
func (d *Decided) Statuses(o Options) *CheckResult {
	rep := &report.Report{}
	rep.Add(&d.rep)
	in := d.decided.Statuses()
	parallel.Pause(o.Pause).Take()
	result, _ := o.buildStatuses(in, rep, d.servesNothing)
	return result
}
