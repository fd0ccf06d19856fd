package policy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// reporter reports what has no effect, at the place where it is written.
type reporter struct {
	attached *attachedPolicies
	limit    *ancestors.Limit
	targets  *Targets
	objects  *resource.Objects
	options  Options
	rep      *report.Report
	policies map[object.Ref]report.Subject // once one is asked for
	reported map[object.Origin]bool        // the policies whose defaults were reported
	holding  map[object.Ref]bool           // whether some field of a policy is effective on the rule
}

// reportAll reports on all rules.
func (d *reporter) reportAll(decided []*Rule, renames []Rename) {
	for _, r := range decided {
		d.holding = findHolding(r)
		for _, path := range r.paths {
			d.reportConflicts(path)
			d.reportIgnored(path)
			d.reportRefusals(path)
		}
		for _, s := range r.Sessions {
			d.reportLimits(s)
			d.reportMatchesBeside(s)
			d.reportHostPaths(s)
			d.reportPartial(s)
			d.reportCaches(s)
			d.reportDefaultsForAll(s)
		}
		d.reportSharedHeaders(r)
	}
	for _, r := range renames {
		if r.SemanticsRule == "S28" {
			d.reportQualified(r)
			continue
		}
		d.adviseWhereWritten(
			r.By,
			fmt.Sprintf("for rule %d of %s the name is %s: %s", r.Rule, r.Route, r.To, renameReason[r.SemanticsRule]),
		)
	}
}

// reportQualified tells the owner of a route whose cookie has another name than the one that is written.
func (d *reporter) reportQualified(r Rename) {
	why := "it has that name since limpet first saw it beside another session's cookie of its own name, " +
		"and keeps it for the sessions that there are"
	if r.Rival != "" {
		why = fmt.Sprintf("under its own name it would overwrite that of %s, which goes first: "+
			"their names, Domains and paths are the same or one has no path, and a client may reach both", r.Rival)
	}
	d.rep.WarnForAt(report.CookieRenamed, r.Route, report.ReasonNameQualified, r.At, fmt.Sprintf(
		"the cookie %q is served as %q: %s; give the session a name of its own", r.From, r.To, why))
}

// findHolding returns the objects with a field that has an effect on the rule. Their effects elsewhere are in their
// statuses: a rule's findings do not depend on other rules.
func findHolding(r *Rule) map[object.Ref]bool {
	holding := map[object.Ref]bool{}
	for _, path := range r.paths {
		for _, f := range path.Effective.Fields {
			if f.Level != precedence.BuiltIn && !f.Implied {
				holding[f.Origin.Ref] = path.Effective.On || holding[f.Origin.Ref]
			}
		}
	}
	return holding
}

// findSubject gives an object that policies are attached to, or a policy; nil if there is none.
func (d *reporter) findSubject(ref object.Ref) report.Subject {
	if s := d.targets.subjects[ref]; s != nil {
		return s
	}
	if d.policies == nil {
		d.policies = map[object.Ref]report.Subject{}
		addSubjects(d.policies, d.objects.SessionPolicies)
		addSubjects(d.policies, d.objects.TrafficPolicies)
	}
	return d.policies[ref]
}

func addSubjects[T any](subjects map[object.Ref]report.Subject, policies []*resource.Object[T]) {
	for _, p := range policies {
		subjects[p.Ref()] = p
	}
}

var renameReason = map[string]string{
	"S26": "the policy reaches several rules whose cookies would overwrite each other",
	"S27": "one cookie can't hold a session in each of the rule's backends",
}

// warnWhereWritten notes something at the place where a value is written.
func (d *reporter) warnWhereWritten(w precedence.FieldValue, reason, message string) {
	if subject := d.findSubject(w.Origin.Ref); subject != nil {
		d.rep.WarnForAt(report.PolicyOverridden, subject, reason, w.Path, message)
	}
}

func (d *reporter) adviseWhereWritten(w precedence.FieldValue, message string) {
	if subject := d.findSubject(w.Origin.Ref); subject != nil {
		d.rep.AdviseAt(report.PolicyAdvice, subject, w.Path, message)
	}
}

// reportConflicts names the losers of each precedence level (S13 to S15), field by field.
func (d *reporter) reportConflicts(s *Decision) {
	for _, c := range s.Effective.Conflicts {
		if len(c.Fields) == 0 {
			continue // the loser writes nothing about sessions
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
			switch {
			case p.OtherTarget:
				d.adviseWhereWritten(at, message)
			case d.holding[p.Loser.Ref]:
				d.warnWhereWritten(at, report.ReasonPartiallyProgrammed, message)
			default:
				d.warnWhereWritten(at, report.ReasonConflicted, message)
			}
		}
	}
}

// reportIgnored names values that have no effect though no stronger object writes the field. A cookie's attributes that
// mean nothing to a header are advice only: who writes them for a whole Gateway expects that.
func (d *reporter) reportIgnored(s *Decision) {
	if len(s.Refusals) > 0 {
		return // nothing is effective there
	}
	for _, ignored := range s.Effective.Ignored {
		switch ignored.Rule {
		case "S11":
			d.adviseWhereWritten(ignored.FieldValue, ignored.Reason)
		case "S12":
			d.warnWhereWritten(ignored.FieldValue, "", ignored.Reason)
		case "S13":
			d.reportDisplaced(ignored)
		case "S22":
			d.warnWhereWritten(ignored.FieldValue, report.ReasonPartiallyProgrammed, ignored.Reason)
		default: // what can't be read: the block's own check has said so
		}
	}
}

// reportDisplaced names a policy whose block has lost as a whole to another one on its target.
func (d *reporter) reportDisplaced(lost precedence.IgnoredField) {
	reason := report.ReasonConflicted
	if d.holding[lost.Origin.Ref] {
		reason = report.ReasonPartiallyProgrammed
	}
	d.warnWhereWritten(lost.FieldValue, reason, lost.Reason)
}

func (d *reporter) reportRefusals(s *Decision) {
	end := fmt.Sprintf(": every request of the rule gets %d", gateway.UnresolvedStatusCode(s.Route))
	if s.Rejected {
		end = ": the route serves nothing"
	}
	if d.options.ExternalControlPlane {
		end = ": the rule goes without sessions"
	}
	if s.Withheld != "" {
		d.rep.ErrorForAt(report.SessionWithheld, s.Route, report.ReasonSessionWithheld, rulePath(s.Rule).String(), s.Withheld)
	}
	for _, r := range s.Refusals {
		d.rep.WarnForAt(report.SessionRefused, s.Route, string(gatewayv1.RouteReasonUnsupportedValue), r.Path, r.Message+end)
	}
}

// reportLimits says what does not hold as it is written, where it is written.
func (d *reporter) reportLimits(s *Session) {
	for _, l := range s.Limits {
		d.warnWhereWritten(s.Effective.Field(l.Field).FieldValue, "", l.Why)
	}
}

// reportHostPaths says where a name with __Host- has changed the cookie's path (S23).
func (d *reporter) reportHostPaths(s *Session) {
	for _, path := range s.claim.extent.replacedPaths {
		if path != "" {
			d.adviseWhereWritten(s.claim.nameField.FieldValue, fmt.Sprintf(
				"the name begins with __Host-, so the cookie's path is \"/\" and not %q", path))
		}
	}
}

// reportSharedHeaders notes that a client can't send two values of one header, one for each backend (S27).
func (d *reporter) reportSharedHeaders(r *Rule) {
	if len(r.Sessions) < 2 {
		return
	}
	first := map[string]*Session{}
	for _, s := range r.Sessions {
		if s.claim.isCookie() {
			continue
		}
		name := strings.ToLower(s.Name)
		if first[name] == nil {
			first[name] = s
			continue
		}
		d.rep.AdviseAt(report.SharedHeader, s.Route, rulePath(s.Rule).String(), fmt.Sprintf(
			"the rule's backends share the header %s, and a client sends one value: only the session in the backend used last "+
				"is kept",
			s.Name,
		))
	}
}

// reportPartial notes that a policy on one Service of a split applies to all of them (S36).
func (d *reporter) reportPartial(s *Session) {
	if s.Backend != nil || !s.Effective.TurnedOnBy.Level.IsOnService() || d.options.RejectPartial {
		return
	}
	if without := d.findWithoutSession(s); without != nil {
		d.adviseWhereWritten(s.Effective.TurnedOnBy, fmt.Sprintf(
			"rule %d of %s splits between this and %s, which has no policy: the session holds for all of the split",
			s.Rule, s.Route, without.Ref))
	}
}

// findWithoutSession returns a backend of a split that has no session by its own policies; nil if each has one.
func (d *reporter) findWithoutSession(s *Session) *object.TargetRef {
	for _, b := range s.Path.Backends {
		alone := s.Path
		alone.Backends = []object.TargetRef{b}
		if e := precedence.Merge(d.attached.blocksOn(alone, d.limit)); !e.On {
			return &b
		}
	}
	return nil
}

// reportDeprecations passes on what is worth knowing of the shape of a rule's session (S19).
func reportDeprecations(route *gateway.Route, hints sessionapi.ReleaseHints, rep *report.Report) {
	for _, e := range hints.Warnings() {
		rep.Advise(report.OldSessionShape, route, field.NewPath(e.Field), e.Detail)
	}
}
