package serve

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/livereload"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// Output is the livereload.Output that serves.
type Output struct {
	Server *xds.Server
	// Options are those of a compilation of the inputs.
	Options  func(livereload.Inputs) compiler.Options
	Draining *livereload.Draining
	// Compiled, if there is one, is told how long each compilation took.
	Compiled func(took time.Duration, err error)
	// Own and Remote are as in [compiler.Served].
	Own    []netip.AddrPort
	Remote bool
}

// Compile compiles the inputs, and remembers which hosts terminate.
func (s *Output) Compile(in livereload.Inputs) (*compiler.Result, error) {
	o := s.Options(in)
	o.Time = time.Now()
	o.Envoy.Served = &compiler.Served{Draining: s.Draining.Since, Own: s.Own, Remote: s.Remote}
	result, err := compiler.Compile(in.Sources, o)
	if s.Compiled != nil {
		s.Compiled(time.Since(o.Time), err)
	}
	if err != nil {
		return nil, err
	}
	return result, s.Draining.See(result.Draining, o.Time)
}

// Apply gives the server what it shall serve. It does not wait for Envoys: their acknowledgements are each one's own.
func (s *Output) Apply(_ context.Context, since time.Time, result *compiler.Result) (string, error) {
	var keys []string
	changed := 0
	set := func(key string, next *xds.Snapshot) {
		if last := s.Server.Latest(key); last == nil || last.Generation != next.Generation {
			changed++
		}
		s.Server.Set(key, next)
	}
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
		time.Since(since).Milliseconds(), changed, len(keys)), nil
}

// Serving says what goes on when a change does not come into effect.
func (s *Output) Serving() string { return livereload.LastGood }
