// Package compiler turns Gateway API objects into what keeps HTTP sessions on their backends: the filter's plugin
// configuration and, for a plain Envoy, a complete bootstrap.
//
// Compile is a pure function of the documents and the options: equal input, in whatever order, gives equal bytes.
// Every field that a document sets is supported, or has no bearing on a proxy and is listed as such, or is refused;
// what can't be honoured is reported. Its steps are packages below this one:
//
//	read           files to documents, with the line of every field
//	resource       documents to typed objects, as an API server would admit them (admission)
//	pipeline       objects to ir, the neutral configuration; it has the steps' order
//	status         what became of every object, in the words of its API
//	emit/...       ir to files, one package for each target
//
// Compile is for once; Check, Describe and ReadSessions say what it would come to. A [Follower] is for a stream of
// changes: it has the same options and gives the same [Result], and takes the pipeline part by part (package follow).
package compiler

import (
	"cmp"
	"slices"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/pipeline"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Source is a file of the input: its name as the user wrote it, and its bytes.
type Source = read.Source

// Problem is one thing that is wrong with the input. Its String is one line for a terminal.
type Problem = report.Problem

// Verdict is what a problem means for the object that it is about.
type Verdict = report.Verdict

// The verdicts, the harmless ones first.
const (
	Accepted = report.Accepted
	Advice   = report.Advice
	Warning  = report.Warning
	Unknown  = report.Unknown
	Refused  = report.Refused
)

// Worst is the worst verdict of problems, Accepted for none.
func Worst(problems []Problem) Verdict { return report.Worst(problems) }

// Errors is the error of a compilation that the input did not allow: every problem that was found.
type Errors = report.Errors

// Result is what a compilation gives.
type Result struct {
	// Plugin is the filter's configuration with all policies and PluginJSON its text, also where the policies travel with
	// their routes (TargetEnvoy). Both hold the key ring if Options.Keys does.
	Plugin     policyconfig.Config
	PluginJSON []byte
	// Files are what the target asks for, in the order to be written in; the document that people ask for is the last.
	Files []File
	// PrivateKeys says that some of Files hold private keys of TLS certificates.
	PrivateKeys bool
	// Served is what the proxies of each Gateway discover from a server, or those of all, with EnvoyOptions.Served.
	Served []*envoy.Served
	// LongestUnused is the longest time for which a session goes on without a request, with EnvoyOptions.Served: for so
	// long a key verifies that no longer signs.
	LongestUnused time.Duration
	// Draining are the hosts that terminate and still serve, for the next Served.Draining. Until is when the same input
	// will give another result, because the drain limit of one of them will have passed; zero is never.
	Draining []HostKey
	Until    time.Time
	// Pods are the pods at addresses, for who remembers them for the next Served.Owners. Unacknowledged says that some are
	// no endpoints yet: their address was another's, and proxies must take this configuration over first.
	Pods           []PodAt
	Unacknowledged bool
	// Selection is which pods Services select and have left, for the next Served.Selection.
	Selection *Selection
	// Holders are who has what, for the next Options.Holders; nil without these.
	Holders *Holders
	// Warnings are all there is to say of the input: what is left out (their Verdict is Refused), what was admitted and
	// can't be honoured, and, as advice, what is worth knowing.
	Warnings []Problem
	// PassedOver counts the documents that are none of limpet's business, by kind.
	PassedOver map[string]int
}

// Compile compiles documents. What no API server would admit, and what limpet does not support, is left out: a rule, a
// listener or an object, and all objects of a file that can't be read; Result.Warnings says so. The error is of type
// Errors when nothing comes out: no listener is left, or, with Options.Strict, anything is at fault. Any other error is
// about the options.
func Compile(sources []Source, o Options) (*Result, error) {
	j, err := analyze(sources, &o)
	if err != nil {
		return nil, err
	}
	result := &Result{Selection: j.selection}
	if err := o.Target.emit(j, &o, result); err != nil {
		return nil, err
	}
	if problems := o.listFatal(j.rep, j.servesNothing(), j.objects.PassedOver); len(problems) > 0 {
		o.suggestNames(j, problems)
		return nil, problems
	}
	if o.Holders != nil {
		result.Holders = j.findHolders()
	}
	result.Warnings, result.PassedOver = j.rep.Problems(), j.objects.PassedOver
	o.suggestNames(j, result.Warnings)
	return result, nil
}

// listFatal gives the problems for which nothing comes out; nil for none.
func (o *Options) listFatal(rep *report.Report, servesNothing bool, passedOver map[string]int) Errors {
	if problems := rep.ErrorsFrom(cmp.Or(o.FailOn, report.Warning)); o.Strict && len(problems) > 0 {
		return problems
	}
	if servesNothing && !o.AllowEmpty {
		return append(rep.ErrorsFrom(report.Refused), explainEmpty(rep.Problems(), passedOver))
	}
	return nil
}

// servesNothing reports whether a proxy would listen nowhere. What a control plane serves besides is not known.
func (j *analysis) servesNothing() bool {
	return j.Plan.Proxy != nil && len(j.Plan.Proxy.Listeners) == 0
}

// Main is the document that people ask a target for; a result for a server has none.
func (r *Result) Main() []byte { return r.Files[len(r.Files)-1].Data }

// analysis is what the steps before the emitters come to.
type analysis struct {
	objects *resource.Objects
	*pipeline.Part
	// selection is which pods Services select and have left; nil where nothing watches pods.
	selection *Selection
	// rep takes what emitters have to say too: strict compilations and errors are judged after them.
	rep *report.Report
}

// analyze takes the steps before the emitters. Its error is as Compile's, but for warnings, which Compile judges.
func analyze(sources []Source, o *Options) (*analysis, error) {
	err := o.parse()
	if err != nil {
		return nil, err
	}
	j := &analysis{rep: &report.Report{}}
	if j.objects, err = resource.Admit(sources, o.admissionOptions(), j.rep); err != nil {
		return nil, err
	}
	if len(j.rep.Unreadable()) > 0 && (o.Strict || o.HoldInvalid) {
		return nil, j.rep.Errors(o.Strict) // what follows from that would only distract
	}
	j.objects.Controller = gatewayv1.GatewayController(o.ControllerName)
	in := pipeline.Input{
		Settings: o.pipelineSettings(), Objects: j.objects, Listening: o.listening(newOrder(sources, j.objects)),
	}
	if o.Holders != nil {
		in.HeldNames = o.Holders.names
	}
	if s := o.served(); s != nil {
		j.selection = s.Selection.Follow(j.objects, o.Time)
		backend.ReportUnseenPods(j.objects, j.rep)
		in.Selection, in.Nodes = j.selection, s.Nodes
		in.Draining = &lower.Draining{Now: o.Time, Since: s.Draining}
		if in.Owners = s.Owners; in.Owners == nil {
			in.Owners = lower.Owners{} // nothing is remembered yet
		}
	}
	j.Part = pipeline.Run(in, j.rep)
	if j.Plan.Proxy != nil {
		if o.Target != TargetEnvoy {
			j.adviseAddresses()
		}
		slices.SortFunc(j.Plan.Proxy.Policies, func(a, b policyconfig.Policy) int { return cmp.Compare(a.Name, b.Name) })
	}
	return j, nil
}

// adviseAddresses is for targets that know nothing of pods.
func (j *analysis) adviseAddresses() {
	lower.AdviseAddresses(j.Topology.Ports, j.Decisions, j.Plan, j.rep)
}
