package compiler

import "github.com/limpet-proxy/limpet/internal/compiler/report"

// Statuses is what the function Statuses gives for the documents that were followed last: it puts together what is known of them, and
// compiles nothing. The options say what is known of proxies, and the time. It is nil where the documents can't be followed.
func (f *Follower) Statuses(o Options) *CheckResult {
	if f.last == nil || f.whole {
		return nil
	}
	rep := &report.Report{}
	f.state.ReportAll(rep)
	in := f.state.Statuses()
	in.Objects.PassedOver = f.state.Store().PassedOver()
	result, _ := o.buildStatuses(in, rep, f.state.ServesNothing())
	return result
}
