package policy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// ReasonConflicted is that of Accepted=False for a policy that loses to another (GEP-713).
const ReasonConflicted = "Conflicted"

// reportAll says what became of what people wrote, at the place where they wrote it.
func (d *decider) reportAll() {
	for _, r := range d.order {
		for _, s := range r.candidates {
			d.reportConflicts(s)
			d.reportIgnored(s)
			d.reportRefusals(s)
		}
		for _, s := range r.Sessions {
			d.reportDrain(s)
			d.reportDomain(s)
			d.reportHostPaths(s)
			d.reportPartial(s)
		}
		d.reportSharedHeaders(r)
	}
	for _, r := range d.renames {
		d.adviseWhereWritten(r.By, fmt.Sprintf("for rule %d of %s the name is %s: %s", r.Rule, r.Route, r.To, renameReason[r.SemanticsRule]))
	}
}

var renameReason = map[string]string{
	"S26": "the policy reaches several rules whose cookies would overwrite each other",
	"S27": "one cookie can't hold a session in each of the rule's backends",
}

// warnWhereWritten notes something at the place where a value is written.
func (d *decider) warnWhereWritten(w precedence.FieldValue, reason, message string) {
	if subject := d.findSubject(w.Origin.Ref); subject != nil {
		d.rep.WarnForAt(subject, reason, w.Path, message)
	}
}

func (d *decider) adviseWhereWritten(w precedence.FieldValue, message string) {
	if subject := d.findSubject(w.Origin.Ref); subject != nil {
		d.rep.AdviseAt(subject, w.Path, message)
	}
}

// reportConflicts names the losers of each rung (S13 to S15), field by field.
func (d *decider) reportConflicts(s *Session) {
	for _, c := range s.Effective.Conflicts {
		if len(c.Fields) == 0 {
			continue // the loser says nothing of sessions
		}
		parts := []precedence.Conflict{c}
		if !c.Whole {
			parts = nil
			for _, fieldConflict := range c.Fields {
				one := c
				one.Fields, one.Path = []precedence.FieldConflict{fieldConflict}, fieldConflict.Loser.Path
				parts = append(parts, one)
			}
		}
		for _, p := range parts {
			at := precedence.FieldValue{Origin: p.Loser, Path: p.Path}
			message := strings.TrimPrefix(p.Message(), p.Path+": ")
			if p.OtherTarget {
				d.adviseWhereWritten(at, message)
			} else {
				d.warnWhereWritten(at, ReasonConflicted, message)
			}
		}
	}
}

// reportIgnored names what does not hold though nothing stronger writes it. That a cookie's attributes mean nothing to a
// header is what people expect who write them for a whole Gateway.
func (d *decider) reportIgnored(s *Session) {
	if len(s.Refusals) > 0 {
		return // nothing holds there
	}
	for _, ignored := range s.Effective.Ignored {
		switch ignored.Rule {
		case "S11":
			d.adviseWhereWritten(ignored.FieldValue, ignored.Reason)
		case "S12":
			d.warnWhereWritten(ignored.FieldValue, "", ignored.Reason)
		default: // what can't be read: the block's own check has said so
		}
	}
}

func (d *decider) reportRefusals(s *Session) {
	end := fmt.Sprintf(": every request of the rule gets %d", gateway.UnresolvedStatusCode(s.Route))
	if s.Rejected {
		end = ": the route serves nothing"
	}
	if d.options.ExternalControlPlane {
		end = ": the rule goes without sessions"
	}
	for _, r := range s.Refusals {
		d.rep.WarnForAt(s.Route, string(gatewayv1.RouteReasonUnsupportedValue), r.Path, r.Message+end)
	}
}

// reportDrain says where nothing knows since when a host terminates (S41).
func (d *decider) reportDrain(s *Session) {
	if d.options.KnowsTermination {
		return
	}
	if _, written := s.Effective.DrainTimeout(); written {
		d.warnWhereWritten(s.Effective.Field("drainTimeout").FieldValue, "", "not carried: EndpointSlices don't say since when a host terminates, so sessions stay as long as it serves")
	}
}

// reportDomain notes a Domain that browsers will not take from any of the rule's hosts.
func (d *decider) reportDomain(s *Session) {
	domain, is := s.cookieDomain()
	if !is {
		return
	}
	hosts := s.rule.hostnames
	for _, h := range hosts {
		name := strings.TrimPrefix(h, "*.")
		if h == "*" || isBelow(name, domain) || name != h && isBelow(domain, name) {
			return
		}
	}
	d.warnWhereWritten(s.Effective.Field("cookie.domain").FieldValue, "", fmt.Sprintf(
		"none of the hosts of rule %d of %s (%s) is below this domain: browsers will drop the cookie", s.Rule, s.Route, strings.Join(hosts, ", ")))
}

func isBelow(name, domain string) bool {
	name, domain = strings.ToLower(name), strings.ToLower(domain)
	return name == domain || strings.HasSuffix(name, "."+domain)
}

// reportHostPaths says where a name with __Host- has changed the cookie's path (S23).
func (d *decider) reportHostPaths(s *Session) {
	for _, path := range s.replacedPaths {
		if path != "" {
			d.adviseWhereWritten(s.nameValue, fmt.Sprintf("the name begins with __Host-, so the cookie's path is \"/\" and not %q", path))
		}
	}
}

// reportSharedHeaders says what a client can't do: send two values of one header, one for each backend (S27).
func (d *decider) reportSharedHeaders(r *Rule) {
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

// reportPartial says that a policy on one Service of a split holds for all of them (S36).
func (d *decider) reportPartial(s *Session) {
	if s.Backend != nil || !s.Effective.TurnedOnBy.Level.IsOnService() || d.options.RejectPartial {
		return
	}
	if without := d.findWithoutSession(s); without != nil {
		d.adviseWhereWritten(s.Effective.TurnedOnBy, fmt.Sprintf("rule %d of %s splits between this and %s, which has no policy: the session holds for all of the split",
			s.Rule, s.Route, without))
	}
}

// findWithoutSession gives a backend of a split that has no session by its own policies, nil if each has.
func (d *decider) findWithoutSession(s *Session) *object.Ref {
	for _, b := range s.Path.Backends {
		alone := s.Path
		alone.Backends = []object.Ref{b}
		if e := precedence.Merge(d.blocksOn(alone)); !e.On {
			return &b
		}
	}
	return nil
}

// reportDeprecations passes on what the shape of a rule's session deserves to hear (S19).
func (d *decider) reportDeprecations(route *gateway.Route, hints sessionapi.ReleaseHints) {
	for _, e := range hints.Warnings() {
		d.rep.Advise(route, field.NewPath(e.Field), e.Detail)
	}
}
