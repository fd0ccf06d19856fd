package compiler

import (
	"cmp"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/follow"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Follower keeps the configuration of an Envoy up to date with documents that change one by one. A change costs what it
// touches, however many other documents there are. What comes out is what Compile gives for the same documents.
//
// With Options.Holders what several objects want stays with those who had it in the last result. It serves one change
// at a time.
type Follower struct {
	options Options
	state   *follow.State
	last    *Update
	// accepted are the faults of files and documents with which the last result came.
	accepted map[faultOf]bool
	// refused says that the last changes came to no result.
	refused bool
}

// Changes are what happened to the documents since the last time. Several at once cost less than one after the other.
type Changes struct {
	// Set are sources that are new or have changed, by their names: files, or an object in each.
	Set []Source
	// Removed are the names of sources that are gone.
	Removed []string
	// Files lists the names of all sources in the order in which Compile would take them; nil for the order of the names.
	Files func() []string
	// Keys, Time, Scopes and Draining are as in Options and Served.
	Keys     policyconfig.Keys
	Scopes   *ScopeKeys
	Time     time.Time
	Draining map[HostKey]time.Time
	// Owners is as in Served, and Moved are the addresses of which it says something else than the last time.
	Owners map[HostKey]HostOwner
	Moved  []HostKey
	// Selection and Nodes are as in Served.
	Selection *Selection
	Nodes     *Nodes
	// Retired are keys that were in force at the last time and are not now.
	Retired []RetiredKey
	// Unusable is as in EnvoyOptions.
	Unusable map[netip.AddrPort]string
}

// Update is what changes came to.
type Update struct {
	// Whole says that it is the first.
	Whole bool
	// NewWarnings are those of Result.Warnings that the last Update did not have, wherever in the files they were then;
	// and with Options.HoldInvalid what is refused of files that were written: whoever edits one is told again.
	NewWarnings []Problem
	// OtherStatuses says that statuses may be others than with the last Update.
	OtherStatuses bool
	// OtherPods are the pods, by their uids and in order, at each address at which they may be others than with the last
	// Update; with Whole at all that have any.
	OtherPods map[HostKey][]string
	// Selection is as in Result.
	Selection *Selection
	// Ended has the routes of whose sessions the changes have ended some.
	Ended map[object.Ref]Ended

	follower *Follower
	keys     policyconfig.Keys
	scopes   *ScopeKeys
	result   *Result // once it is made
	complete bool    // it has what there is to say, too
}

// NewFollower makes one without documents. The target is TargetEnvoy, with EnvoyOptions.Served; Keys, Time and Draining
// come with changes, or not at all.
func NewFollower(o Options) (*Follower, error) {
	if err := o.parse(); err != nil {
		return nil, err
	}
	if o.served() == nil {
		return nil, errors.New("served: Required value: only a configuration for a server can follow its documents")
	}
	state := follow.New(o.followSettings())
	if had := o.Holders; had != nil && had.names != nil {
		state.SetHolders(had.claims, had.names, had.hosts)
	}
	return &Follower{options: o, state: state}, nil
}

// followSettings are what does not change while documents do.
func (o *Options) followSettings() follow.Settings {
	return follow.Settings{
		Admission: o.admissionOptions(), Steps: o.pipelineSettings(),
		Controller: gatewayv1.GatewayController(o.ControllerName), KeepHolders: o.Holders != nil,
		ManyRoutes: cmp.Or(o.manyRoutes, follow.ManyRoutes),
		Envoy:      envoy.Assembly{Settings: o.envoySettings(o.global().Config(), nil)},
	}
}

// Apply takes changes over. The error is as Compile's: the last Update then stays what it was, and the next one tells
// of all changes since.
func (f *Follower) Apply(c Changes) (*Update, error) {
	f.refused = true
	for _, name := range c.Removed {
		f.state.Store().Remove(name)
	}
	if err := f.state.Store().Set(c.Set); err != nil {
		return nil, err
	}
	var invalid Errors
	if f.options.HoldInvalid {
		invalid = f.listInvalid()
		if problems := f.judgeInvalid(invalid); len(problems) > 0 {
			return nil, problems
		}
	}
	f.options.Envoy.Unusable = c.Unusable
	if c.Files == nil {
		c.Files = func() []string { return slices.Sorted(f.state.Store().Names()) }
	}
	err := f.state.Update(follow.Environment{
		Now: c.Time, Since: c.Draining, Owners: c.Owners, Moved: c.Moved, Selection: c.Selection, Nodes: c.Nodes,
		Files: c.Files, Listening: f.options.listening(nil),
	})
	if err != nil {
		return nil, err
	}
	if f.options.Strict || f.state.ServesNothing() {
		if problems := f.listErrors(); len(problems) > 0 {
			return nil, problems
		}
	}
	if f.options.HoldInvalid {
		f.acceptInvalid(invalid)
	}
	u := &Update{
		follower: f, keys: c.Keys, scopes: c.Scopes, Whole: f.last == nil, Selection: f.state.Selection(),
	}
	if len(c.Retired) > 0 || f.state.MayEndSessions() {
		u.Ended = f.listEnded(c)
	}
	if u.NewWarnings, u.OtherStatuses, err = f.state.Finish(); err != nil {
		return nil, err
	}
	u.NewWarnings = f.tellAgain(u.NewWarnings, c.Set)
	u.OtherPods, f.last, f.refused = f.state.TakeOtherPods(), u, false
	return u, nil
}

// Result is the whole of it, as Compile gives it. It can be asked for until the next change. What has not changed is
// the same value as in the last Result that was asked for.
func (u *Update) Result() (*Result, error) {
	r, err := u.Configuration()
	if err != nil || u.complete {
		return r, err
	}
	rep, state := &report.Report{}, u.follower.state
	state.Store().ReportAll(rep)
	state.ReportSteps(rep)
	r.Warnings, r.PassedOver, r.Pods = rep.Problems(), state.Store().PassedOver(), state.Pods()
	u.complete = true
	return r, nil
}

// Configuration is Result without Pods and what there is to say, Warnings and PassedOver.
func (u *Update) Configuration() (*Result, error) {
	if u.result != nil {
		return u.result, nil
	}
	state := u.follower.state
	r := &Result{PrivateKeys: state.HasPrivateKeys(), Unacknowledged: state.IsUnacknowledged(), Selection: u.Selection}
	r.Draining, r.Until = state.Draining()
	var err error
	r.Served, err = state.Served(u.keys, u.scopes, u.follower.options.served().telemetryOf)
	r.LongestUnused, u.result = state.LongestUnused(), r
	return r, err
}

// Holders are who had what in the last result, for a compilation of the same documents. They do not change with the
// next one.
func (f *Follower) Holders() *Holders {
	claims, names, hosts := f.state.Holders()
	return &Holders{claims: claims, names: maps.Clone(names), hosts: maps.Clone(hosts)}
}
