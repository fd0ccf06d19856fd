package serve

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/livereload"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// Output is the livereload.Output that serves.
type Output struct {
	Server *xds.Server
	// Options are those of a compilation of the inputs.
	Options  func(livereload.Inputs) compiler.Options
	Draining *livereload.Draining
	// Unselected is what is known of pods that Services no longer select; nil for nothing.
	Unselected *livereload.Unselected
	Owners     *livereload.Owners
	// Compiled, if there is one, is told how long each compilation took.
	Compiled func(took time.Duration, err error)
	// Traces, if there are any, are of each change.
	Traces *Traces
	// Own, Remote and Together are as in [compiler.Served].
	Own              []netip.AddrPort
	Remote, Together bool
	// Probe says that the Envoy runs here: a listener at an address that this machine has not, or not free, is left out, and the address
	// is tried again.
	Probe bool

	// Proxies, if there is one, says how the proxies do that are run for Gateways, and what is wrong with parameters of classes.
	Proxies func() (states map[string]compiler.Proxies, classes map[string]string)
	// Story, if there is one, says what the proxies of a Gateway tell of its requests; nil for what all do.
	Story func(gateway string) *Story
	// Admitted says that an API server has admitted the objects, and that nothing at all may be served.
	Admitted bool
	// Notify, if there is one, is called after each change of what statuses depend on.
	Notify func()

	done      atomic.Int64 // compilations and checks
	compiling atomic.Int32 // compilations under way
	rejected  atomic.Bool  // the last check knew of something that an Envoy did not take

	lock      sync.Mutex // of what follows, and of what is remembered
	follower  *compiler.Follower
	unusable  map[netip.AddrPort]string // addresses at which no listener can be, with the reason
	published map[string]published      // what is served, by Gateways
	told      map[string]told           // those of them that have a story of their own
	fresh     []compiler.Problem        // that the last compilation was the first to find
	missing   bool                      // as Unselected.Problem has it
	unused    time.Duration             // the longest that a session of what is served goes on without a request
	unsettled time.Time                 // since when there are addresses that Envoys may not know to be other pods'; zero for none
	unserved  bool                      // some of them were found after what is served was made
	accepted  livereload.Inputs         // of the last one that came to something
	compiled  bool                      // something did
	repeated  bool                      // the last compilation was of the same inputs as the one before
	news      bool                      // something was compiled since statuses were last asked for that they may depend on

	checking sync.Mutex // of the cache that checks share
}

// Compile compiles the inputs, and remembers which hosts terminate and whose addresses are. It costs what has changed since the
// last time.
func (s *Output) Compile(in livereload.Inputs) (*compiler.Result, error) {
	s.compiling.Add(1)
	defer s.compiling.Add(-1)
	s.lock.Lock()
	defer s.lock.Unlock()
	defer s.done.Add(1)
	now := time.Now()
	result, err := s.compile(in, now)
	if s.Compiled != nil {
		s.Compiled(time.Since(now), err)
	}
	if err != nil {
		return nil, err
	}
	s.repeated = s.compiled && isSameList(s.accepted.Sources, in.Sources)
	s.accepted, s.compiled = in, true
	s.awaitSettled(result, now)
	if len(s.unusable) > 0 {
		comeBy(result, now.Add(probeEvery))
	}
	return result, s.Draining.See(result.Draining, now)
}

func isSameList(a, b []compiler.Source) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// hasNews tells whether there are other objects than before that statuses may depend on: all but EndpointSlices and Pods. What those come
// to for statuses is what there is to say of them.
func hasNews(before, now []compiler.Source) bool {
	set, gone := read.Diff(before, now)
	for _, s := range set {
		gone = append(gone, s.Name)
	}
	return slices.ContainsFunc(gone, func(name string) bool {
		return !strings.HasPrefix(name, "EndpointSlice/") && !strings.HasPrefix(name, "Pod/")
	})
}

func (s *Output) compile(in livereload.Inputs, now time.Time) (*compiler.Result, error) {
	first := s.follower == nil
	if first {
		follower, err := compiler.NewFollower(s.options(in))
		if err != nil {
			return nil, err
		}
		s.follower = follower
	}
	if err := s.settle(); err != nil {
		return nil, err
	}
	s.probeAgain()
	update, err := s.update(in, now)
	if err == nil && s.Probe {
		update, err = s.probe(in, now, update)
	}
	if err != nil {
		return nil, err
	}
	missing := s.Unselected.Problem()
	if missing != nil && !s.missing {
		s.fresh = append(s.fresh, *missing)
	}
	s.news = s.news || s.missing != (missing != nil)
	s.missing = missing != nil
	if !first {
		return update.Configuration()
	}
	result, err := update.Result() // with all that there is to say
	if err == nil && s.missing {
		result.Warnings = append(result.Warnings, *missing)
	}
	return result, err
}

// update has the follower take the inputs, and once more if addresses have passed to other pods by them.
func (s *Output) update(in livereload.Inputs, now time.Time) (*compiler.Update, error) {
	update, err := s.follow(in, now, nil)
	if err != nil {
		return nil, err
	}
	s.news = s.news || !update.SaysSame || hasNews(s.accepted.Sources, in.Sources)
	s.fresh = update.NewWarnings
	moved, err := s.Owners.See(update.Pods, now)
	s.unserved = s.unserved || len(moved) > 0
	if err != nil || len(moved) == 0 {
		return update, err
	}
	if update, err = s.follow(in, now, moved); err != nil {
		return nil, err
	}
	s.news = s.news || !update.SaysSame
	s.fresh = append(s.fresh, update.NewWarnings...)
	return update, nil
}

// follow has the follower take the inputs, with what is remembered. Moved are the addresses of which that is news.
func (s *Output) follow(in livereload.Inputs, now time.Time, moved []compiler.HostKey) (*compiler.Update, error) {
	sources, err := s.Unselected.Extend(in.Sources, s.Options(in).Namespace, now)
	if err != nil {
		return nil, err
	}
	return s.follower.Replace(sources, compiler.Changes{
		Keys: in.Keys, Time: now, Draining: s.Draining.Since, Owners: s.Owners.Of, Moved: moved, Unusable: maps.Clone(s.unusable),
	})
}

// Done counts the compilations and checks so far.
func (s *Output) Done() int64 { return s.done.Load() }

// NewWarnings are the problems that the last compilation was the first to find.
func (s *Output) NewWarnings() []compiler.Problem {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.fresh
}

// patience is how long a change counts as on its way after it was seen, if an Envoy does not acknowledge it before.
const patience = 250 * time.Millisecond

// IsBusy tells whether a change is on its way to Envoys.
func (s *Output) IsBusy() bool {
	return s.compiling.Load() > 0 || s.Server.IsBusy(time.Now().Add(-patience))
}

// Check says what statuses the inputs' objects shall have, by what Compile made of them last. No change waits for it. Pause, if there is
// one, is called now and then, and may hold it up.
func (s *Output) Check(in livereload.Inputs, pause func()) (result *compiler.CheckResult, err error) {
	s.checking.Lock()
	defer s.checking.Unlock()
	defer s.done.Add(1)
	o := s.options(in)
	o.Time, o.Pause = time.Now(), pause
	o.Envoy.Served.Rejected = map[string]string{}
	for _, c := range s.Server.Clients() {
		for _, r := range c.Rejected {
			o.Envoy.Served.Rejected[c.Gateway] = r.Type + " " + r.Name + ": " + r.Words
		}
	}
	if s.Proxies != nil {
		o.Envoy.Served.Proxies, o.Envoy.Served.ClassParameters = s.Proxies()
	}
	s.rejected.Store(len(o.Envoy.Served.Rejected) > 0)
	sources := s.recall(in.Sources, &o)
	parallel.Sparingly(func() { result, err = compiler.Statuses(sources, o) })
	return result, err
}

// recall puts what is remembered into options and sources, as it is now.
func (s *Output) recall(sources []compiler.Source, o *compiler.Options) []compiler.Source {
	s.lock.Lock()
	defer s.lock.Unlock()
	o.Envoy.Served.Draining, o.Envoy.Served.Owners = s.Draining.Since, maps.Clone(s.Owners.Of)
	if s.follower != nil {
		o.Incumbents = s.follower.Incumbents()
	}
	return s.Unselected.Append(sources)
}

// options are those of a compilation, without what is remembered.
func (s *Output) options(in livereload.Inputs) compiler.Options {
	o := s.Options(in)
	o.Incumbents, o.HoldInvalid = &compiler.Incumbents{}, !s.Admitted
	o.AssumeAdmitted, o.AllowEmpty = o.AssumeAdmitted || s.Admitted, o.AllowEmpty || s.Admitted
	o.Envoy.Served = &compiler.Served{Own: s.Own, Remote: s.Remote, Together: s.Together}
	return o
}

// Apply gives the server what it shall serve. It does not wait for Envoys: their acknowledgements are each one's own.
func (s *Output) Apply(_ context.Context, since time.Time, result *compiler.Result) (string, error) {
	changed, different := s.serve(since, result)
	s.lock.Lock()
	defer s.lock.Unlock()
	what := fmt.Sprintf("served in %d ms: %d of %d Gateways have changed", time.Since(since).Milliseconds(), changed, len(s.published))
	switch {
	case changed == 0 && s.repeated:
		what = "" // nobody has changed anything
	case s.Together:
		what = different
	}
	return what, s.Owners.Keep()
}

// Addresses that have passed to other pods are settled once all Envoys know that. It is looked soon, then less and less often: each Envoy
// has them when it knows itself, and what is left to do is to forget the difference.
const (
	settleSoon = 100 * time.Millisecond
	settleLate = time.Minute
)

// settle forgets which addresses are not settled, if all Envoys that are connected have the session policies that they are served last.
func (s *Output) settle() error {
	isBehind := func(c xds.ClientStatus) bool { return !s.Server.HasLatestRoutes(c) }
	if s.unsettled.IsZero() || s.unserved || slices.ContainsFunc(s.Server.Clients(), isBehind) {
		return nil
	}
	_, err := s.Owners.Confirm()
	return err
}

// awaitSettled has a result made again soon if it has addresses that are not settled.
func (s *Output) awaitSettled(result *compiler.Result, now time.Time) {
	if !result.Unsettled || !s.Owners.IsPending() {
		s.unsettled = time.Time{}
		return
	}
	if s.unsettled.IsZero() {
		s.unsettled = now
	}
	comeBy(result, now.Add(min(max(now.Sub(s.unsettled), settleSoon), settleLate)))
}

// comeBy has a result made again at a time, or before.
func comeBy(result *compiler.Result, again time.Time) {
	if result.Until.IsZero() || again.Before(result.Until) {
		result.Until = again
	}
}

// serve gives the server a configuration. It counts the Gateways that this changes, and says what is different where there is one for all.
func (s *Output) serve(since time.Time, result *compiler.Result) (changed int, different string) {
	s.lock.Lock()
	defer func() {
		news := s.news
		s.news = false
		s.lock.Unlock()
		if news {
			s.Changed()
		}
	}()
	s.unused, s.unserved, different = result.LongestUnused, false, nothingDifferent
	now := make(map[string]published, len(result.Served))
	for _, d := range result.Served {
		d = s.tell(d)
		last, known := s.published[d.Gateway]
		switch {
		case !known:
			now[d.Gateway] = published{d, NewSnapshot(since, d)}
		case last.of == d:
			now[d.Gateway] = last
			continue
		default:
			now[d.Gateway] = last.follow(since, d)
		}
		if !known || last.snapshot.Generation != now[d.Gateway].snapshot.Generation {
			changed++
			if known && s.Together {
				different = describeChanges(last.of, d)
			}
			s.Traces.Compiled(d.Gateway, since, now[d.Gateway].snapshot.Generation)
		}
		s.Server.Set(d.Gateway, now[d.Gateway].snapshot)
	}
	for key := range s.published {
		if _, stays := now[key]; !stays { // there is no such Gateway any more
			s.Server.Remove(key, since)
			changed++
		}
	}
	s.published = now
	return changed, different
}

// LongestUnused is the longest time for which a session of what is served goes on without a request; not known before anything is served.
func (s *Output) LongestUnused() (longest time.Duration, known bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.unused, s.published != nil
}

// Answered says that an Envoy has taken a change as a whole, or rejected something. Statuses depend on what is rejected alone.
func (s *Output) Answered(rejects bool) {
	if rejects || s.rejected.Load() {
		s.Changed()
	}
}

// Changed says that something has changed that statuses depend on.
func (s *Output) Changed() {
	if s.Notify != nil {
		s.Notify()
	}
}

// Serving says what goes on when a change does not come into effect.
func (s *Output) Serving() string { return livereload.LastGood }
