package ir

import (
	"fmt"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Plan is what every target is written from.
type Plan struct {
	// Proxy is the whole configuration of a proxy; nil for a target whose control plane makes listeners, routes and
	// clusters itself. The other fields are for such a target, which adds sessions to what the control plane makes.
	Proxy *Config
	// Rules are those that requests reach, each once on each listener: by the listener's key, then the older route
	// first, then by index. Most have no session; yet they have names that those with one must not share.
	Rules []*AttachedRule
	// Compare puts the one of two objects first that was there first.
	Compare func(a, b object.Origin) int
	// Gateways are those of Rules, the older first.
	Gateways []*Gateway
	// Routes are all route objects of the input, the older first.
	Routes []*RouteObject
	// HostRoutes are routes that name no parents, which no control plane but limpet knows.
	HostRoutes []*Object
	// Objects are the input's objects of other kinds, by kind, the older first.
	Objects map[string][]*Object
	// Hosts are the objects that add hosts to those that the control plane knows besides Services, by the host.
	Hosts map[string]*Object
	// Written are the input's objects of kinds that limpet writes, by name.
	Written map[object.Ref]*WrittenObject
	// Withheld are the rules that go without the session that they ask for, because the target can't hold it, and why;
	// emitters note it (Withhold, LeaveOut).
	Withheld map[RulePlace]string
}

// RulePlace is a rule on a Gateway's listener.
type RulePlace struct {
	Route    object.Ref
	Rule     int
	Gateway  object.Ref
	Listener string
}

// place is where an attached rule is.
func (a *AttachedRule) place() RulePlace {
	return RulePlace{Route: a.Route.Ref, Rule: a.Index, Gateway: a.Listener.Gateway.Ref, Listener: a.Listener.Name}
}

// Withhold takes its session from a rule that a target can't give it, on some listeners, and reports why: the rule's
// sessions are left out.
func (p *Plan) Withhold(attached []*AttachedRule, rep *report.Report, target, path, why string) {
	if p.Withheld == nil {
		p.Withheld = map[RulePlace]string{}
	}
	message := "not supported by " + target + ": " + why + ": the rule goes without sessions"
	for _, a := range attached {
		if p.Withheld[a.place()] == "" && a.Sessions.On() {
			p.Withheld[a.place()] = message
		}
	}
	rep.ErrorForAt(report.SessionWithheld, attached[0].Route.Subject, report.ReasonSessionWithheld, path, message)
}

// LeaveOut gives the plan without routes, whose rules go without sessions for a reason.
func (p *Plan) LeaveOut(routes map[object.Ref]bool, why string) *Plan {
	without := *p
	without.Routes = slices.DeleteFunc(slices.Clone(p.Routes), func(r *RouteObject) bool { return routes[r.Ref] })
	without.Rules = slices.DeleteFunc(slices.Clone(p.Rules), func(a *AttachedRule) bool {
		if routes[a.Route.Ref] {
			p.Withheld[a.place()] = why
		}
		return routes[a.Route.Ref]
	})
	return &without
}

// WrittenObject is an object of a kind that limpet writes.
type WrittenObject struct {
	Subject report.Subject
	// Ours says that limpet wrote it, and Owner for whom; empty where that was not said.
	Ours  bool
	Owner string
}

// MayWrite tells whether an object may be written for an owner. If it is in the input as another's, that is reported.
func (p *Plan) MayWrite(ref object.Ref, owner string, rep *report.Report) bool {
	was := p.Written[ref]
	if theirs := p.findObject(ref); was == nil && theirs != nil {
		was = &WrittenObject{Subject: theirs.Subject}
	}
	switch {
	case was == nil, was.Ours && (was.Owner == "" || was.Owner == owner):
		return true
	case !was.Ours:
		rep.ErrorAt(report.NotOwned, was.Subject, "metadata.labels",
			fmt.Sprintf("limpet would write %s, and this one is not limpet's: rename it", ref))
	default:
		reportOwner(was.Subject, ref, owner, was.Owner, "to take the object over, delete it first", rep)
	}
	return false
}

// MayAddTo tells whether limpet may write into an object of the input for an owner, who is in its labels from then on.
// If it does so for another, that is reported.
func (p *Plan) MayAddTo(o *Object, owner string, rep *report.Report) bool {
	theirs := o.Labels[object.OwnerLabel]
	if theirs == "" || theirs == owner {
		return true
	}
	reportOwner(o.Subject, o.Ref, owner, theirs, "to take the object over, take the label off", rep)
	return false
}

// reportOwner reports an object that limpet writes for another owner.
func reportOwner(of report.Subject, ref object.Ref, owner, theirs, takeOver string, rep *report.Report) {
	rep.ErrorAt(
		report.NotOwned,
		of,
		"metadata.labels",
		fmt.Sprintf("limpet would write %s for the owner %q, and it is %q's: "+
			"compile the inputs of both together, or leave the Gateway to one of them; %s", ref, owner, theirs, takeOver),
	)
}

// WhyTaken is the reason for which a rule has no sessions that needs an object that is another's.
func WhyTaken(ref object.Ref) string {
	return "limpet would write " + ref.String() + ", which is another's"
}

// ReportOwner says first of all, where no rule has sessions, that limpet's objects in the input are another owner's:
// whoever compiles has the wrong --owner, or none, more likely than each of the namespaces has a fault of its own.
func (p *Plan) ReportOwner(owner string, rep *report.Report) {
	var others []string
	for _, was := range p.Written {
		if was.Ours && was.Owner != "" && was.Owner != owner {
			others = append(others, fmt.Sprintf("%q", was.Owner))
		}
	}
	if len(p.Withheld) == 0 || len(others) == 0 {
		return
	}
	slices.Sort(others)
	compiled := "without --owner"
	if owner != "" {
		compiled = "with --owner " + owner
	}
	rep.ErrorAt(report.NotOwned, whole{}, "",
		fmt.Sprintf("no rule has sessions: limpet's objects in the input are %s's, and this is compiled %s",
			strings.Join(slices.Compact(others), "'s and "), compiled))
}

// whole is the input as what a problem is about.
type whole struct{}

func (whole) Ref() object.Ref { return object.Ref{} }

func (whole) String() string { return "" }

func (whole) Locate(string) (file string, line int) { return "", 0 }

// WithoutSessions gives the plan with the rules without sessions that a function tells.
func (p *Plan) WithoutSessions(of func(*AttachedRule) bool) *Plan {
	without := *p
	without.Rules = make([]*AttachedRule, len(p.Rules))
	for i, rule := range p.Rules {
		if without.Rules[i] = rule; of(rule) {
			bare := *rule
			bare.Sessions = &RuleSessions{Refused: true}
			without.Rules[i] = &bare
		}
	}
	return &without
}

// WroteBefore tells whether an object of the input is one that limpet wrote, for whomever.
func (p *Plan) WroteBefore(ref object.Ref) bool {
	was := p.Written[ref]
	return was != nil && was.Ours
}

// findObject finds an object of the input; nil if it is not there.
func (p *Plan) findObject(ref object.Ref) *Object {
	for _, o := range p.Objects[ref.Kind] {
		if o.Ref == ref {
			return o
		}
	}
	for _, r := range p.Routes {
		if r.Ref == ref {
			return &r.Object
		}
	}
	return nil
}

// Object is an object of the input.
type Object struct {
	object.Ref
	// Subject is the object as problems name it, and knows the lines of its fields.
	Subject report.Subject
	// Origin says how old it is.
	Origin object.Origin
	Labels map[string]string
	// JSON is the object as it was read, without its status, for those who write it again with something added.
	JSON []byte
}

// Parse gives the object to write again: as it was written, but for what an API server keeps there.
func (o *Object) Parse() (map[string]any, error) {
	doc := map[string]any{}
	if err := utiljson.Unmarshal(o.JSON, &doc); err != nil {
		return doc, err
	}
	meta, _ := doc["metadata"].(map[string]any)
	for _, name := range []string{
		"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink",
		"uid",
	} {
		delete(meta, name)
	}
	if notes, has := meta["annotations"].(map[string]any); has {
		delete(notes, "kubectl.kubernetes.io/last-applied-configuration")
	}
	return doc, nil
}
