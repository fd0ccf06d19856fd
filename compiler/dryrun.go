package compiler

import (
	"fmt"

	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// DryRun is what is known of a Gateway whose objects are tried.
type DryRun struct {
	// Before is the input that its proxies are served by; nil if that is not known, and Unaffordable says that this is for there are too many
	// dry runs.
	Before       *Earlier
	Unaffordable bool
	// Changes say what would change of what they are served.
	Changes []string
}

// Earlier is an input as it was decided on, for comparison with later ones.
type Earlier struct{ decisions *policy.Decisions }

// Decide decides on an input, and makes no configuration of it.
func Decide(sources []Source, o Options) (*Earlier, error) {
	o.Cache = nil
	o.prepareDryRun()
	j, err := analyze(sources, &o)
	if err != nil {
		return nil, err
	}
	return &Earlier{j.decisions}, nil
}

// describeDryRuns says what would change for the Gateways whose objects are tried: sessions that end first.
func (j *analysis) describeDryRuns(o *Options) map[string]status.DryRun {
	if o.Envoy == nil || o.Envoy.Served == nil {
		return nil
	}
	all := map[string]status.DryRun{}
	for key, d := range o.Envoy.Served.DryRuns {
		tried := status.DryRun{Known: d.Before != nil, Unaffordable: d.Unaffordable}
		if tried.Known {
			for _, e := range policy.FindEndedSessions(d.Before.decisions.Of(key), j.decisions.Of(key)) {
				tried.Changes = append(tried.Changes, describeEnded(e))
			}
			tried.Changes = append(tried.Changes, d.Changes...)
		}
		all[key] = tried
	}
	return all
}

// describeEnded says whose sessions end, and why.
func describeEnded(e policy.EndedSessions) string {
	at := e.Route.Origin().String()
	if e.Rule >= 0 {
		at += fmt.Sprintf(" spec.rules[%d]", e.Rule)
	}
	return "the sessions of " + at + " end: " + e.Why
}
