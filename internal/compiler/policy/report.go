package policy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
)

// ReasonConflicted is that of Accepted=False for a policy that loses to another (GEP-713).
const ReasonConflicted = "Conflicted"

// report says what became of what people wrote, at the place where they wrote it.
func (d *decider) report() {
	for _, r := range d.order {
		for _, s := range r.ways {
			d.conflicts(s)
			d.drops(s)
			d.refusals(s)
		}
		for _, s := range r.Sessions {
			d.drain(s)
			d.domain(s)
			d.hostPaths(s)
			d.partial(s)
		}
		d.sharedHeader(r)
	}
	for _, r := range d.renames {
		d.advise(r.By, fmt.Sprintf("for rule %d of %s the name is %s: %s", r.Rule, r.Route, r.To, renameReason[r.Law]))
	}
}

var renameReason = map[string]string{
	"S26": "the policy reaches several rules whose cookies would overwrite each other",
	"S27": "one cookie can't hold a session in each of the rule's backends",
}

// warn notes something at the place where a value is written.
func (d *decider) warn(w ladder.Written, reason, message string) {
	if subject := d.subject(w.Source.Object); subject != nil {
		d.rep.WarnForAt(subject, reason, w.Path, message)
	}
}

func (d *decider) advise(w ladder.Written, message string) {
	if subject := d.subject(w.Source.Object); subject != nil {
		d.rep.AdviseAt(subject, w.Path, message)
	}
}

// conflicts names the losers of each rung (S13 to S15), field by field.
func (d *decider) conflicts(s *Session) {
	for _, c := range s.Effective.Conflicts {
		if len(c.Clashes) == 0 {
			continue // the loser says nothing of sessions
		}
		parts := []ladder.Conflict{c}
		if !c.Whole {
			parts = nil
			for _, clash := range c.Clashes {
				one := c
				one.Clashes, one.Path = []ladder.Clash{clash}, clash.Loser.Path
				parts = append(parts, one)
			}
		}
		for _, p := range parts {
			at := ladder.Written{Source: p.Loser, Path: p.Path}
			message := strings.TrimPrefix(p.Message(), p.Path+": ")
			if p.Elsewhere {
				d.advise(at, message)
			} else {
				d.warn(at, ReasonConflicted, message)
			}
		}
	}
}

// drops names what does not hold though nothing stronger writes it. That a cookie's attributes mean nothing to a
// header is what people expect who write them for a whole Gateway.
func (d *decider) drops(s *Session) {
	if len(s.Refusals) > 0 {
		return // nothing holds there
	}
	for _, drop := range s.Effective.Dropped {
		switch drop.Rule {
		case "S11":
			d.advise(drop.Written, drop.Reason)
		case "S12":
			d.warn(drop.Written, "", drop.Reason)
		default: // what can't be read: the block's own check has said so
		}
	}
}

func (d *decider) refusals(s *Session) {
	end := fmt.Sprintf(": every request of the rule gets %d", gateway.Broken(s.Route))
	if s.Rejected {
		end = ": the route serves nothing"
	}
	if d.options.Controlled {
		end = ": the rule goes without sessions"
	}
	for _, r := range s.Refusals {
		d.rep.WarnForAt(s.Route, string(gatewayv1.RouteReasonUnsupportedValue), r.Path, r.Message+end)
	}
}

// drain says where nothing knows since when a host terminates (S41).
func (d *decider) drain(s *Session) {
	if d.options.Drains {
		return
	}
	if _, written := s.Effective.DrainTimeout(); written {
		d.warn(s.Effective.Field("drainTimeout").Written, "", "not carried: EndpointSlices don't say since when a host terminates, so sessions stay as long as it serves")
	}
}

// domain notes a Domain that browsers will not take from any of the rule's hosts.
func (d *decider) domain(s *Session) {
	domain, is := s.domain()
	if !is {
		return
	}
	hosts := s.rule.hostnames
	for _, h := range hosts {
		name := strings.TrimPrefix(h, "*.")
		if h == "*" || below(name, domain) || name != h && below(domain, name) {
			return
		}
	}
	d.warn(s.Effective.Field("cookie.domain").Written, "", fmt.Sprintf(
		"none of the hosts of rule %d of %s (%s) is below this domain: browsers will drop the cookie", s.Rule, s.Route, strings.Join(hosts, ", ")))
}

func below(name, domain string) bool {
	name, domain = strings.ToLower(name), strings.ToLower(domain)
	return name == domain || strings.HasSuffix(name, "."+domain)
}

// hostPaths says where a name with __Host- has changed the cookie's path (S23).
func (d *decider) hostPaths(s *Session) {
	for _, path := range s.asked {
		if path != "" {
			d.advise(s.named, fmt.Sprintf("the name begins with __Host-, so the cookie's path is \"/\" and not %q", path))
		}
	}
}

// sharedHeader says what a client can't do: send two values of one header, one for each backend (S27).
func (d *decider) sharedHeader(r *Rule) {
	if len(r.Sessions) < 2 {
		return
	}
	first := map[string]*Session{}
	for _, s := range r.Sessions {
		if s.isCookie() {
			continue
		}
		name := strings.ToLower(s.Name)
		if first[name] == nil {
			first[name] = s
			continue
		}
		d.rep.AdviseAt(s.Route, s.rulePath().String(), fmt.Sprintf(
			"the rule's backends share the header %s, and a client sends one value: only the session in the backend used last is kept", s.Name))
	}
}

// partial says that a policy on one Service of a split holds for all of them (S36).
func (d *decider) partial(s *Session) {
	if s.Backend != nil || !s.Effective.Origin.Rung.OfService() || d.options.RejectPartial {
		return
	}
	if without := d.without(s); without != nil {
		d.advise(s.Effective.Origin, fmt.Sprintf("rule %d of %s splits between this and %s, which has no policy: the session holds for all of the split",
			s.Rule, s.Route, without))
	}
}

// without gives a backend of a split that has no session by its own policies, nil if each has.
func (d *decider) without(s *Session) *ladder.Object {
	for _, b := range s.Way.Backends {
		alone := s.Way
		alone.Backends = []ladder.Object{b}
		if e := ladder.Merge(d.on(alone)); !e.On {
			return &b
		}
	}
	return nil
}

// deprecations passes on what the shape of a rule's session deserves to hear (S19).
func (d *decider) deprecations(route *gateway.Route, signs ladder.Signs) {
	for _, e := range signs.Warnings() {
		d.rep.Advise(route, field.NewPath(e.Field), e.Detail)
	}
}
