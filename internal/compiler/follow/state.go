// Package follow keeps a configuration up to date with objects that change one by one, at a cost that depends on what a
// change touches and not on how much else there is.
//
// It takes the compiler's own steps, and takes them for a part of the input at a time. A [State] holds
//
//   - the base: Gateways, and whatever else all routes depend on, and the routes of connections, which have whole
//     listeners (base.go);
//   - groups of routes: those whose requests or cookies can meet (package coupling), each compiled with the objects
//     that its routes lead to and the policies that are attached to these, and with the keys by which these were asked
//     for (gather.go);
//   - what they all come to, put together (merged.go).
//
// A change marks what it touches: the base, and the parts that asked for what the object is an answer to (keys.go).
// What is marked is made again, and nothing else. From no state to the whole input is a change like any other.
package follow

import (
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/index"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/internal/compiler/pipeline"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Settings are what does not change.
type Settings struct {
	Admission resource.Options
	// Steps are those of the compiler's steps.
	Steps pipeline.Settings
	// Controller is the controllerName of limpet's GatewayClasses; empty for the usual one.
	Controller gatewayv1.GatewayController
	// KeepHolders leaves what several want with those who had it.
	KeepHolders bool
	// ManyRoutes is from how many routes on a group keeps the results of steps.
	ManyRoutes int
	// Envoy has everything but the plugin's configuration.
	Envoy envoy.Assembly
}

// Environment is what a result depends on besides documents: the time, since when hosts terminate, the order of the
// files, the machines of a cluster, and where Gateways may listen.
type Environment struct {
	Now       time.Time
	Since     map[ir.HostKey]time.Time
	Owners    lower.Owners // nil for nothing yet
	Moved     []ir.HostKey // addresses of which Owners says something else than before
	Selection *backend.Selection
	Nodes     *backend.Nodes
	Files     func() []string
	Listening gateway.Listening
}

// draining is what is known of hosts that terminate.
func (m Environment) draining() *lower.Draining { return &lower.Draining{Now: m.Now, Since: m.Since} }

// State is a configuration that follows its objects.
type State struct {
	settings       Settings
	store          *resource.Store
	objects        *inventory
	marks          marks
	base           *base
	groups         groups
	askers         index.Sets[key, *group] // the groups that asked for each key
	attached       map[*sessionPolicy]attachment
	selected       selected
	nodes          *backend.Nodes
	merged         *merged
	reported       reported
	ancestorLimits *ancestorLimits
	layout         layout
	// listening says where Gateways may listen, and who goes first; holders are those of the last result, gone the
	// parts of it that have gone and added the groups that were made since.
	listening gateway.Listening
	holders   holders
	gone      []*groupPart
	added     map[*group]bool
	statuses  *statuses
}

// New makes a state without objects.
func New(s Settings) *State {
	known := newStatuses()
	state := &State{
		settings: s, objects: newInventory(s.Controller), marks: newMarks(),
		groups: newGroups(), askers: index.Sets[key, *group]{}, attached: map[*sessionPolicy]attachment{},
		selected: newSelected(), merged: newMerged(s.Envoy), reported: newReported(known.mark),
		ancestorLimits: newAncestorLimits(), layout: newLayout(), holders: newHolders(),
		added: map[*group]bool{}, statuses: known,
	}
	state.store = resource.NewStore(s.Admission, state.reported.count)
	return state
}

// Store has the sources. What changes there the state takes over with Update.
func (s *State) Store() *resource.Store { return s.store }

// Update brings everything up to date with the objects. The error is a fault of this program.
func (s *State) Update(m Environment) error {
	if m.Owners == nil {
		m.Owners = lower.Owners{}
	}
	if err := s.store.ResolveNames(m.Files); err != nil {
		return err
	}
	take := s.take
	if s.store.ChangesSlicesOnly() {
		take = s.takeSlices
	}
	take(s.store.TakeChanges())
	s.resolveOrder(m)
	s.updateSelection(m)
	if m.Nodes != s.nodes {
		s.updateNodes(m.Nodes)
	}
	s.updateBase(m)
	if s.layout.tally == nil || len(s.layout.changed) > 0 {
		s.updateLayout()
	}
	s.updateAttached()
	s.updateEndpoints(m)
	return s.updateGroups(m)
}

// updateAttached says again of marked policies what becomes of their attachment.
func (s *State) updateAttached() {
	var marked []*sessionPolicy
	for p := range s.marks.policies {
		s.reported.count(s.attached[p].report, -1)
		delete(s.attached, p)
		s.ancestorLimits.changed[p.Ref()] = true
		s.statuses.mark(p.Ref())
		if s.objects.policies[p.Ref()] == p {
			marked = append(marked, p)
		}
	}
	made := parallel.Map(marked, func(some []*sessionPolicy, made []attachment) {
		for i, p := range some {
			made[i] = s.attach(p)
		}
	})
	for i, a := range made {
		s.attached[marked[i]] = a
		s.reported.count(a.report, 1)
	}
	s.marks.policies = map[*sessionPolicy]bool{}
}

// attachment is what becomes of a policy's attachment, whatever requests there are.
type attachment struct {
	report  *report.Report
	targets []policy.Attachment
	// taken counts the ancestors in the policy's status besides Gateways.
	taken int
}

// attach finds that.
func (s *State) attach(p *sessionPolicy) attachment {
	alone := &resource.Objects{SessionPolicies: []*sessionPolicy{p}, Controller: s.objects.context.Controller}
	a, o := attachment{report: &report.Report{}}, s.settings.Steps.Policy
	o.AncestorLimit = func(in ancestors.Input) *ancestors.Limit {
		a.taken = ancestors.CountTaken(in)[p.Ref()]
		return nil
	}
	decisions := policy.Cache{}.DecidePart(alone, s.objects.targets, nil, nil, o, a.report, &report.Report{})
	a.targets = decisions.Attachments
	return a
}

// ReportSteps passes on all that there is to say of the input, but for what there is of documents by themselves, which
// Store has.
func (s *State) ReportSteps(rep *report.Report) {
	if s.base == nil {
		return
	}
	rep.Add(s.base.streams.report)
	rep.Add(&s.selected.report)
	for _, a := range s.attached {
		rep.Add(a.report)
	}
	for _, r := range s.ancestorLimits.reports {
		rep.Add(r)
	}
	for g := range s.groups.all {
		rep.Add(g.part.report)
	}
}

// Selection is which pods Services select and have left, for the next [Environment].
func (s *State) Selection() *backend.Selection { return s.selected.now }

// ServesNothing reports whether a proxy would listen nowhere.
func (s *State) ServesNothing() bool { return len(s.base.listeners) == 0 }
