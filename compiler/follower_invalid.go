package compiler

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// listErrors lists what keeps the input from being compiled, where something can: nothing else does than that it serves
// nothing, or with Strict that it has errors.
func (f *Follower) listErrors() Errors {
	rep := &report.Report{}
	if f.state.Store().ReportAll(rep); f.options.Strict && len(rep.Unreadable()) > 0 {
		return rep.Errors(true)
	}
	f.state.ReportSteps(rep)
	return f.options.listFatal(rep, f.state.ServesNothing(), f.state.Store().PassedOver())
}

// listInvalid lists what no API server would admit of the documents, where that holds changes up.
func (f *Follower) listInvalid() Errors {
	rep := &report.Report{}
	f.state.Store().ReportAlone(rep)
	return slices.DeleteFunc(rep.Errors(false), func(p Problem) bool { return !p.LeftOut || p.Reason != "" })
}

// judgeInvalid gives the faults of documents that the last result did not have, where those hold a change up.
func (f *Follower) judgeInvalid(invalid Errors) Errors {
	if f.last == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(invalid), func(p Problem) bool { return f.accepted[newFaultOf(p)] })
}

// faultOf is what is said of a file or a document, wherever in the file that is. Two tenants' files may have the same
// fault.
type faultOf struct {
	file string
	report.Statement
}

func newFaultOf(p Problem) faultOf {
	return faultOf{p.File, report.Statement{Object: p.Object, Path: p.Path, Message: p.Message}}
}

func (f *Follower) acceptInvalid(invalid Errors) {
	f.accepted = map[faultOf]bool{}
	for _, p := range invalid {
		f.accepted[newFaultOf(p)] = true
	}
}

// tellAgain adds what is refused of files that were written, where the input is files and not just read.
func (f *Follower) tellAgain(warnings []Problem, written []Source) []Problem {
	if !f.options.HoldInvalid || f.last == nil {
		return warnings
	}
	known := map[Problem]bool{}
	for _, p := range warnings {
		known[p] = true
	}
	for _, source := range written {
		for _, p := range f.state.Store().RefusedOf(source.Name) {
			if !known[p] {
				warnings = append(warnings, p)
			}
		}
	}
	return warnings
}
