package serve

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/livereload"
)

// dryRun is a Gateway whose proxies go on by the objects as they were, while it is tried what they are now. What is no one's wish goes
// on for them as for others: endpoints, certificates, keys and what is remembered of hosts.
type dryRun struct {
	// frozen is what its proxies go on by; nil if that is not known, for this process began after the dry run did, or unaffordable.
	frozen       *frozen
	unaffordable bool
	// served is what the proxies are served, and tried what they would be.
	served, tried *envoy.Served
}

// Each beginning of dry runs costs what limpet costs without any, so there may be so many at a time in all, and for the Gateways of one
// namespace: who may write those pays for nobody else's.
const (
	mostFrozen            = 16
	mostFrozenOfNamespace = 2
)

// frozen are all objects as they were when dry runs began, one or several at the same time. To follow them costs as much as to follow
// those of now.
type frozen struct {
	before []compiler.Source
	// decided is what was decided on them.
	decided  *compiler.Earlier
	follower *compiler.Follower
	update   *compiler.Update
}

// facts are the kinds of objects that say how things are, by the beginning of their sources' names. All others say how they shall be.
var facts = []string{"EndpointSlice/", "Secret/", "ConfigMap/", "Pod/"}

func isFact(s compiler.Source) bool {
	return slices.ContainsFunc(facts, func(kind string) bool { return strings.HasPrefix(s.Name, kind) })
}

// settleDryRuns begins and ends dry runs. Those of the first compilation began before this process did. With files there are none:
// what these would change "limpet check --since" says.
func (s *Output) settleDryRuns(keys []string) error {
	if !s.Admitted {
		return nil
	}
	maps.DeleteFunc(s.dryRuns, func(key string, _ *dryRun) bool { return !slices.Contains(keys, key) })
	isNew := func(key string) bool { return s.dryRuns[key] == nil }
	if !slices.ContainsFunc(keys, isNew) {
		return nil
	}
	var now *frozen
	begun := map[string]*dryRun{}
	for _, key := range keys {
		if !isNew(key) {
			continue
		}
		d := &dryRun{served: &envoy.Served{Gateway: key}, unaffordable: !s.canFreeze(key)}
		begun[key] = d
		if d.unaffordable {
			continue
		}
		if now == nil {
			var err error
			if now, err = s.freeze(); err != nil {
				return err
			}
		}
		d.frozen = now
	}
	if s.dryRuns == nil {
		s.dryRuns = map[string]*dryRun{}
	}
	maps.Copy(s.dryRuns, begun)
	return nil
}

// canFreeze tells whether there may be another beginning of dry runs, for a Gateway.
func (s *Output) canFreeze(key string) bool {
	all, own := map[*frozen]bool{}, map[*frozen]bool{}
	namespace, _, _ := strings.Cut(key, "/")
	for other, d := range s.dryRuns {
		if d.frozen == nil {
			continue
		}
		all[d.frozen] = true
		if strings.HasPrefix(other, namespace+"/") {
			own[d.frozen] = true
		}
	}
	return len(all) < mostFrozen && len(own) < mostFrozenOfNamespace
}

// freeze keeps the objects as they were in the last compilation that came to something; nil before there was one.
func (s *Output) freeze() (f *frozen, err error) {
	if !s.compiled {
		return nil, nil
	}
	f = &frozen{before: slices.DeleteFunc(slices.Clone(s.accepted.Sources), isFact)}
	o := s.options(s.accepted)
	o.Incumbents = s.follower.Incumbents()
	if f.decided, err = compiler.Decide(s.accepted.Sources, o); err != nil {
		return nil, err
	}
	f.follower, err = compiler.NewFollower(o)
	return f, err
}

// listFrozen lists what is frozen, each once, in no order.
func (s *Output) listFrozen() (all []*frozen) {
	for _, d := range s.dryRuns {
		if d.frozen != nil && !slices.Contains(all, d.frozen) {
			all = append(all, d.frozen)
		}
	}
	return all
}

// follow takes over what is no one's wish.
func (f *frozen) follow(s *Output, in livereload.Inputs, c compiler.Changes) (err error) {
	sources := slices.Clone(f.before)
	for _, one := range in.Sources {
		if isFact(one) {
			sources = append(sources, one)
		}
	}
	slices.SortFunc(sources, func(a, b compiler.Source) int { return cmp.Compare(a.Name, b.Name) })
	f.update, err = f.follower.Replace(s.Unselected.Append(sources), c)
	return err
}

// listPods lists the pods at addresses of all that is compiled.
func (s *Output) listPods(update *compiler.Update) []compiler.PodAt {
	pods := update.Pods
	for _, f := range s.listFrozen() {
		if f.update != nil {
			pods = append(slices.Clip(pods), f.update.Pods...)
		}
	}
	if len(s.dryRuns) > 0 {
		slices.SortFunc(pods, func(a, b compiler.PodAt) int {
			return cmp.Or(a.HostKey.Compare(b.HostKey), cmp.Compare(a.UID, b.UID))
		})
		pods = slices.Compact(pods)
	}
	return pods
}

// holdDryRuns puts what goes on in the place of what is tried.
func (s *Output) holdDryRuns(result *compiler.Result) (*compiler.Result, error) {
	if len(s.dryRuns) == 0 {
		return result, nil
	}
	held := *result
	held.Served = nil
	for _, f := range s.listFrozen() {
		if err := f.hold(&held); err != nil {
			return nil, err
		}
	}
	for _, served := range result.Served {
		d := s.dryRuns[served.Gateway]
		if d != nil {
			d.tried = served
		}
		last := s.untold(served.Gateway)
		switch {
		case d == nil:
		case d.unaffordable && last != nil:
			served = last
		case d.frozen == nil:
			continue // its proxies keep what they have
		default:
			if err := d.goOn(); err != nil {
				return nil, err
			}
			served = d.served
		}
		held.Served = append(held.Served, served)
	}
	return &held, nil
}

// hold adds what proxies go on with, as far as it says something of hosts, to a result.
func (f *frozen) hold(to *compiler.Result) error {
	own, err := f.update.Configuration()
	if err != nil {
		return err
	}
	to.Draining = slices.Concat(to.Draining, own.Draining)
	to.Unsettled, to.LongestUnused = to.Unsettled || own.Unsettled, max(to.LongestUnused, own.LongestUnused)
	if to.Until.IsZero() || !own.Until.IsZero() && own.Until.Before(to.Until) {
		to.Until = own.Until
	}
	return nil
}

// goOn finds out what a Gateway's proxies go on with.
func (d *dryRun) goOn() error {
	own, err := d.frozen.update.Configuration()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(own.Served, func(one *envoy.Served) bool { return one.Gateway == d.served.Gateway })
	if at >= 0 {
		d.served = own.Served[at]
	}
	return nil
}

// listDryRuns says of the Gateways that are tried what would change.
func (s *Output) listDryRuns() map[string]compiler.DryRun {
	all := map[string]compiler.DryRun{}
	for key, d := range s.dryRuns {
		tried := compiler.DryRun{Unaffordable: d.unaffordable}
		if d.frozen != nil {
			tried.Before = d.frozen.decided
		}
		if d.frozen != nil && d.tried != nil {
			tried.Changes = listChanges(d.served, d.tried)
		}
		all[key] = tried
	}
	return all
}

// changesFor are those of a compilation.
func (s *Output) changesFor(in livereload.Inputs, now time.Time, moved []compiler.HostKey) compiler.Changes {
	return compiler.Changes{Keys: in.Keys, Time: now, Draining: s.Draining.Since, Owners: s.Owners.Of, Moved: moved}
}
