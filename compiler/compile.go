// Package compiler turns Gateway API objects into what keeps HTTP sessions on their backends: the filter's plugin
// configuration and, for a plain Envoy, a complete bootstrap.
//
// Compile is a pure function of the documents and the options: equal input, in whatever order, gives equal bytes.
// Every field that a document sets is supported, or has no bearing on a proxy and is listed as such, or is refused;
// what can't be honoured is reported. Its steps are packages below this one:
//
//	read           files to documents, with the line of every field
//	resource       documents to typed objects, as an API server would admit them (admission)
//	gateway        listeners and routes to an ordered list of matches for each hostname
//	policy         a rule's session persistence to session policies, by precedence
//	backend        backendRefs to Services' endpoints
//	backendtls     how backends are spoken to over TLS
//	loadbalancing  and retrybudget, what requests without a session get
//	lower          all of it to ir, the neutral configuration
//	status         what became of every object, in the words of its API
//	emit/...       ir to files, one package for each target
//
// A Follower takes the same steps part by part, by package follow.
package compiler

import (
	"cmp"
	"net/netip"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/backendtls"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/loadbalancing"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/retrybudget"
	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
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
	// LongestUnused is the longest time for which a session goes on without a request, with EnvoyOptions.Served: for so long a
	// key verifies that no longer signs.
	LongestUnused time.Duration
	// Draining are the hosts that terminate and still serve, for the next Served.Draining. Until is when the same input will
	// give another result, because the drain limit of one of them will have passed; zero is never.
	Draining []HostKey
	Until    time.Time
	// Pods are the pods at addresses, for who remembers them for the next Served.Owners. Unsettled says that some are no
	// endpoints yet: their address was another's, and proxies must take this configuration over first.
	Pods      []PodAt
	Unsettled bool
	// Selection is which pods Services select and have left, for the next Served.Selection.
	Selection *Selection
	// Incumbents are who has what, for the next Options.Incumbents; nil without these.
	Incumbents *Incumbents
	// Warnings are all there is to say of the input: what is left out (their Verdict is Refused), what was admitted and
	// can't be honoured, and, as advice, what is worth knowing.
	Warnings []Problem
	// PassedOver counts the documents that are none of limpet's business, by kind.
	PassedOver map[string]int
}

// Compile compiles documents. What no API server would admit, and what limpet does not support, is left out: a rule, a
// listener or an object, and all objects of a file that can't be read; Result.Warnings says so. The error is of type Errors
// when nothing comes out: no listener is left, or, with Options.Strict, anything is at fault. Any other error is about the options.
func Compile(sources []Source, o Options) (result *Result, err error) {
	defer func() { o.Cache.endCompilation(err == nil) }()
	j, err := analyze(sources, &o)
	if err != nil {
		return nil, err
	}
	result = &Result{Selection: j.selection}
	if err := o.Target.emit(j, &o, result); err != nil {
		return nil, err
	}
	if problems := o.judge(j.rep, j.servesNothing()); len(problems) > 0 {
		return nil, problems
	}
	if o.Incumbents != nil {
		result.Incumbents = j.findIncumbents()
	}
	result.Warnings, result.PassedOver = j.rep.Problems(), j.objects.PassedOver
	return result, nil
}

// judge gives the problems for which nothing comes out; nil for none.
func (o *Options) judge(rep *report.Report, servesNothing bool) Errors {
	if problems := rep.ErrorsFrom(cmp.Or(o.FailOn, report.Warning)); o.Strict && len(problems) > 0 {
		return problems
	}
	if servesNothing && !o.AllowEmpty {
		return append(rep.ErrorsFrom(report.Refused), emptyProblem)
	}
	return nil
}

// refusesUnreadable tells whether nothing is to come out because there are files that can't be read.
func (o *Options) refusesUnreadable(rep *report.Report) bool {
	return len(rep.Unreadable()) > 0 && (o.Strict || o.HoldInvalid)
}

// emptyProblem is that of an input of which nothing is served.
var emptyProblem = Problem{LeftOut: true, Message: "no listener is left: nothing would be served; " +
	"a Gateway counts when its GatewayClass is in the input and has limpet's controllerName"}

// servesNothing reports whether a proxy would listen nowhere. What a control plane serves besides is not known.
func (j *analysis) servesNothing() bool {
	return j.plan.Proxy != nil && len(j.plan.Proxy.Listeners) == 0
}

// Main is the document that people ask a target for; a result for a server has none.
func (r *Result) Main() []byte { return r.Files[len(r.Files)-1].Data }

// analysis is what the steps before the emitters come to.
type analysis struct {
	parsed  parsedOptions
	objects *resource.Objects
	// order says which of two namespaces' objects was there first.
	order *seniority.Order
	// topology is where requests arrive, and decisions are about the session persistence of what they reach.
	topology  *gateway.Topology
	decisions *policy.Decisions
	backends  *backend.Index
	// selection is which pods Services select and have left; nil where nothing watches pods.
	selection *Selection
	// backendTLS is how backends are spoken to over TLS; nil for a target with a control plane of its own.
	backendTLS *backendtls.Policies
	// loadBalancing and traffic are about requests that no session pins; nil for a target with a control plane of its own,
	// which makes routes and clusters itself.
	loadBalancing *loadbalancing.Policies
	traffic       []*lower.BackendTraffic
	// plan is what emitters write from.
	plan *ir.Plan
	// cache has the results of steps that earlier compilations took.
	cache *Cache
	// rep takes what emitters have to say too: strict compilations and errors are judged after them.
	rep *report.Report
}

// analyze takes the steps before the emitters. Its error is as Compile's, but for warnings, which Compile judges.
func analyze(sources []Source, o *Options) (*analysis, error) {
	settings, err := o.parse()
	if err != nil {
		return nil, err
	}
	cache := o.Cache
	if cache == nil {
		cache = &Cache{} // which keeps nothing
	}
	controlled := o.Target.findController() != ""
	pause := parallel.Pause(o.Pause)
	j := &analysis{parsed: settings, cache: cache, rep: &report.Report{}}
	j.objects, err = cache.resources.Admit(sources, o.admissionOptions(settings), pause, j.rep)
	if err != nil {
		return nil, err
	}
	if o.refusesUnreadable(j.rep) {
		return nil, j.rep.Errors(o.Strict) // what follows from that would only distract
	}
	pause.Take()
	j.objects.Controller = gatewayv1.GatewayController(o.ControllerName)
	j.order = newOrder(sources, j.objects)
	if controlled {
		j.topology = cache.buildTopology(gateway.NewInputPerGateway(j.objects, o.Target.findController()), j.rep)
		j.backends = backend.NewUnverified(j.objects, o.Target.findEmitter().platformBackends...)
	} else {
		in := gateway.NewInput(j.objects, settings.bind).AssumeClasses(o.AssumeClass).Within(o.budget())
		if o.areApart() {
			in = in.Apart()
		}
		in = in.Settle(o.listening(settings, j.order))
		j.topology = cache.buildTopology(in, j.rep)
		pause.Take()
		places := o.newPlaces(j.objects, j.topology.Claims(), settings)
		j.followSelection(o)
		j.backends = cache.indexBackends(j.objects, j.selection, places, j.rep)
		j.backendTLS = backendtls.New(j.objects, j.rep)
		j.backends.Secure(j.backendTLS.Has)
	}
	pause.Take()
	policies := o.policyOptions(settings)
	policies.Order, policies.HeldNames = j.order, o.heldNames()
	j.decisions = cache.rules.Decide(j.objects, j.topology.Ports, j.backends, policies, j.rep)
	if controlled {
		j.plan = lower.NewPlan(j.objects, j.topology.Ports, j.decisions, j.backends)
		lower.AdviseUnissued(j.topology.Ports, j.decisions, j.rep)
		j.plan.Compare = j.order.Compare
	} else {
		pause.Take()
		j.lower(o)
	}
	pause.Take()
	return j, nil
}

// followSelection follows what Services select, where that is remembered.
func (j *analysis) followSelection(o *Options) {
	if known, watched := o.selection(); watched {
		j.selection = known.Follow(j.objects, o.Time)
		backend.ReportUnseenPods(j.objects, j.rep)
	}
}

// lower makes the plan of a target without a control plane.
func (j *analysis) lower(o *Options) {
	j.plan = &ir.Plan{}
	j.loadBalancing = loadbalancing.New(j.objects, j.rep)
	j.plan.Proxy, j.traffic = lower.Lower(j.topology.Ports, lower.Input{
		Backends: j.backends, BackendTLS: j.backendTLS, LoadBalancing: j.loadBalancing, RetryBudgets: retrybudget.New(j.objects, j.rep),
		Decisions: j.decisions, Draining: o.newDraining(), Owners: o.newOwners(), LocalClients: o.LocalClients,
		WithoutPods: o.Target != TargetEnvoy, Native: o.Envoy != nil && o.Envoy.Native, Pause: o.Pause,
	}, j.rep)
	if o.Target != TargetEnvoy {
		j.adviseAddresses()
	}
	j.plan.Proxy.Policies = j.cache.sortPolicies(j.plan.Proxy.Policies)
}

// adviseAddresses is for targets that know nothing of pods.
func (j *analysis) adviseAddresses() {
	lower.AdviseAddresses(j.topology.Ports, j.decisions, j.plan, j.rep)
}

// newPlaces says where no endpoint is.
func (o *Options) newPlaces(objects *resource.Objects, claims gateway.Claims, settings parsedOptions) *backend.Places {
	own, remote := []netip.AddrPort{settings.admin}, false
	if s := o.served(); s != nil {
		own, remote = append(own, s.Own...), s.Remote
	}
	places := backend.NewPlaces(objects, claims, own...)
	places.NoLoopback, places.Names, places.Zone = remote, o.ExternalNames, o.Zone
	if o.Envoy != nil {
		places.Machine = o.Envoy.Machine
	}
	return places
}

// parsedOptions are the options that are not plain text.
type parsedOptions struct {
	bind  netip.Addr
	admin netip.AddrPort // not valid for none
	// release is that of --gateway-api.
	release sessionapi.APIRelease
}
