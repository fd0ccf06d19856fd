package lower

import (
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Draining is what is known of hosts that terminate and still serve (S41).
type Draining struct {
	// Now is the time of the compilation.
	Now time.Time
	// Since is when such hosts began to terminate; those that are not in it begin now.
	Since map[ir.HostKey]time.Time
}

// limitDrain gives each choice the limits of its session for hosts that terminate and for those that are unselected.
func (l *lowerer) limitDrain(choices []choice, session func(choice) *policy.Session) {
	if l.Draining == nil {
		return
	}
	for i := range choices {
		if choices[i].backend == nil {
			continue
		}
		if s := session(choices[i]); s != nil {
			if limit, written := s.Effective.DrainTimeout(); written {
				choices[i].drain = &limit
			}
			if limit, written := s.Effective.KeepUnselected(); written {
				choices[i].keep = &limit
			}
		}
	}
}

// limitSuffix is a part of the name of a cluster whose hosts depend on limits.
func (c choice) limitSuffix() (suffix string) {
	if c.drain != nil {
		suffix = "/drain-" + c.drain.String()
	}
	if c.keep != nil {
		suffix += "/keep-" + c.keep.String()
	}
	return suffix
}

// selectEndpoints are the endpoints of a choice without those whose address is another pod's by what is remembered, and without those that
// have drained for long enough, or that are unselected for longer than its session wants, whose sessions then move. Those that drain stay
// as long as a session that moves might find no host: others says that every backend which takes new sessions is ready.
func (l *lowerer) selectEndpoints(c choice, others bool) []ir.Endpoint {
	selected := make([]ir.Endpoint, 0, len(c.backend.Endpoints))
	for _, e := range c.backend.Endpoints {
		if !l.judgeOwner(&e) || l.mustLeave(c, &e, others) {
			continue
		}
		if l.NamePods {
			e.Pod = ir.Pod{Namespace: e.Pod.Namespace, Object: e.Pod.Object}
		} else {
			e.Pod = ir.Pod{} // a pod in the place of another changes no cluster
		}
		selected = append(selected, e)
	}
	return selected
}

// mustLeave tells whether sessions leave a host that is unselected, or that terminates, which it notes.
func (l *lowerer) mustLeave(c choice, e *ir.Endpoint, others bool) bool {
	switch {
	case e.Unselected != 0:
		return c.keep == nil || l.isOver(time.Unix(0, e.Unselected), *c.keep)
	case !e.Draining || l.Draining == nil || e.Host != "":
		return false
	}
	l.draining[e.Key()] = true
	return c.drain != nil && others && l.hasDrained(e.Key(), *c.drain)
}

// hasDrained tells whether a host's time is over.
func (l *lowerer) hasDrained(at ir.HostKey, limit policyconfig.Duration) bool {
	since, known := l.Draining.Since[at]
	if !known {
		since = l.Draining.Now
	}
	return l.isOver(since, limit)
}

// isOver tells whether a time is over that began then, and notes when it will be.
func (l *lowerer) isOver(since time.Time, limit policyconfig.Duration) bool {
	end := since.Add(time.Duration(limit) * time.Second)
	if !l.Draining.Now.Before(end) {
		return true
	}
	if l.until.IsZero() || end.Before(l.until) {
		l.until = end
	}
	return false
}

// canTakeOver tells whether every backend that takes new sessions has a ready host, and there is one.
func canTakeOver(choices []choice) bool {
	new := slices.DeleteFunc(slices.Clone(choices), func(c choice) bool { return c.weight == 0 })
	return len(new) > 0 && !slices.ContainsFunc(new, func(c choice) bool { return c.backend == nil || !c.backend.Ready() })
}

// listDrainingHosts are the hosts that terminate, in order.
func (l *lowerer) listDrainingHosts() []ir.HostKey {
	var all []ir.HostKey
	for at := range l.draining {
		all = append(all, at)
	}
	slices.SortFunc(all, ir.HostKey.Compare)
	return all
}
