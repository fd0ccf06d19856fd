package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/livereload"
	"github.com/limpet-proxy/limpet/internal/rollout"
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
	// Waiting, if there is one, tells whether a change waits for the one that is applied.
	Waiting func() bool
	// Own and Remote are as in [compiler.Served].
	Own    []netip.AddrPort
	Remote bool

	// Admitted says that an API server has admitted the objects, and that nothing at all may be served.
	Admitted bool
	// Notify, if there is one, is called after each change of what statuses depend on.
	Notify func()

	lock       sync.Mutex           // of what a compilation depends on besides the inputs
	incumbents *compiler.Incumbents // of what is served
	unused     time.Duration        // the longest that a session of it goes on without a request
	inputs     livereload.Inputs    // of the last compilation
}

// Compile compiles the inputs, and remembers which hosts terminate and whose addresses are.
func (s *Output) Compile(in livereload.Inputs) (*compiler.Result, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.inputs = in
	result, err := s.compile(in)
	if err != nil {
		return nil, err
	}
	moved, err := s.Owners.See(result.Pods, time.Now())
	if err == nil && len(moved) > 0 {
		result, err = s.compile(in)
	}
	return result, err
}

func (s *Output) compile(in livereload.Inputs) (*compiler.Result, error) {
	o := s.options(in, time.Now())
	sources, err := s.Unselected.Extend(in.Sources, o.Namespace, o.Time)
	if err != nil {
		return nil, err
	}
	result, err := compiler.Compile(sources, o)
	if s.Compiled != nil {
		s.Compiled(time.Since(o.Time), err)
	}
	if err != nil {
		return nil, err
	}
	if missing := s.Unselected.Problem(); missing != nil {
		result.Warnings = append(result.Warnings, *missing)
	}
	return result, s.Draining.See(result.Draining, o.Time)
}

// Check says what becomes of the inputs' objects, by what Compile made of them last.
func (s *Output) Check(in livereload.Inputs) (*compiler.CheckResult, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	o := s.options(in, time.Now())
	o.Envoy.Served.Rejected = map[string]string{}
	for _, c := range s.Server.Clients() {
		for _, r := range c.Rejected {
			o.Envoy.Served.Rejected[c.Gateway] = r.Type + " " + r.Name + ": " + r.Words
		}
	}
	sources, err := s.Unselected.Extend(in.Sources, o.Namespace, o.Time)
	if err != nil {
		return nil, err
	}
	return compiler.Check(sources, o)
}

// options are those of a compilation at a time.
func (s *Output) options(in livereload.Inputs, now time.Time) compiler.Options {
	o := s.Options(in)
	o.Time, o.Incumbents = now, cmp.Or(s.incumbents, &compiler.Incumbents{})
	o.AssumeAdmitted, o.AllowEmpty = o.AssumeAdmitted || s.Admitted, o.AllowEmpty || s.Admitted
	o.Envoy.Served = &compiler.Served{Draining: s.Draining.Since, Owners: s.Owners.Of, Own: s.Own, Remote: s.Remote}
	return o
}

// Apply gives the server what it shall serve. It does not wait for Envoys: their acknowledgements are each one's own. But
// addresses that have passed to other pods are endpoints again only once every Envoy knows that.
func (s *Output) Apply(ctx context.Context, since time.Time, result *compiler.Result) (string, error) {
	what := s.serve(since, result)
	s.lock.Lock()
	pending, err := result.Unsettled && s.Owners.IsPending(), s.Owners.Keep()
	s.lock.Unlock()
	if err != nil || !pending {
		return what, err
	}
	if !s.awaitEnvoys(ctx) {
		return "", &rollout.Unconfirmed{Reason: "some Envoys have not taken the last configuration, and addresses that have passed to " +
			"other pods are no endpoints before they have"}
	}
	s.lock.Lock()
	_, err = s.Owners.Confirm()
	s.lock.Unlock()
	if err != nil {
		return "", err
	}
	next, err := s.Compile(s.inputs)
	if err != nil {
		return "", err
	}
	return s.serve(since, next), nil
}

// Each Envoy has ackPatience to take the session policies for which addresses wait, and is looked at every ackInterval; whether
// another change waits meanwhile, every waitInterval.
const (
	ackPatience  = 5 * time.Second
	ackInterval  = 10 * time.Millisecond
	waitInterval = 100 * time.Millisecond
)

// awaitEnvoys waits until all Envoys that are connected have the session policies that they are served last. It ends early for
// another change: what waits is an address, and nothing else.
func (s *Output) awaitEnvoys(ctx context.Context) bool {
	begun := time.Now()
	for looked := begun; ; time.Sleep(ackInterval) {
		behind := slices.ContainsFunc(s.Server.Clients(), func(c xds.ClientStatus) bool {
			latest := s.Server.Latest(c.Gateway)
			return latest != nil && latest.Generation != c.Routed
		})
		if !behind {
			return true
		}
		now := time.Now()
		if ctx.Err() != nil || now.Sub(begun) > ackPatience {
			return false
		}
		if s.Waiting != nil && now.Sub(looked) >= waitInterval {
			if looked = now; s.Waiting() {
				return false
			}
		}
	}
}

// serve gives the server a configuration, and says in a line what that came to.
func (s *Output) serve(since time.Time, result *compiler.Result) string {
	var keys []string
	changed := 0
	set := func(key string, next *xds.Snapshot) {
		if last := s.Server.Latest(key); last == nil || last.Generation != next.Generation {
			changed++
		}
		s.Server.Set(key, next)
	}
	s.lock.Lock()
	s.incumbents, s.unused = result.Incumbents, result.LongestUnused
	s.lock.Unlock()
	defer s.Changed()
	for _, d := range result.Served {
		keys = append(keys, d.Gateway)
		set(d.Gateway, NewSnapshot(since, d))
	}
	for _, key := range s.Server.Gateways() {
		if !slices.Contains(keys, key) {
			set(key, xds.NewSnapshot(since, nil)) // there is no such Gateway any more
		}
	}
	return fmt.Sprintf("served in %d ms: %d of %d Gateways have changed",
		time.Since(since).Milliseconds(), changed, len(keys))
}

// LongestUnused is the longest time for which a session of what is served goes on without a request.
func (s *Output) LongestUnused() time.Duration {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.unused
}

// Changed says that something has changed that statuses depend on.
func (s *Output) Changed() {
	if s.Notify != nil {
		s.Notify()
	}
}

// Serving says what goes on when a change does not come into effect.
func (s *Output) Serving() string { return livereload.LastGood }
