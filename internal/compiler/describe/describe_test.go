package describe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/describe"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

const documents = `
{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r}, spec: {rules: [
  {name: pay, backendRefs: [{name: cart, port: 80}], timeouts: {request: 10s, backendRequest: 2s}, retry: {codes: [502, 503], backoff: 100ms}}, {retry: {attempts: 1}}]}}
---
{apiVersion: limpet.dev/v1alpha1, kind: LoadBalancerPolicy, metadata: {name: a}, spec: {targetRefs: [{group: "", kind: Service, name: cart}], strategy: Random}}
---
{apiVersion: limpet.dev/v1alpha1, kind: LoadBalancerPolicy, metadata: {name: b}, spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}], strategy: RequestHash, requestHashPolicies: [{hashSourceIP: true}], healthCheck: {type: TCP, interval: 7s}, outlierDetection: {consecutiveGatewayErrors: 2}}}`

// The objects that decisions are about.
var (
	web     = object.Ref{Kind: object.KindGateway, Namespace: "default", Name: "web"}
	route   = object.Ref{Kind: object.KindHTTPRoute, Namespace: "default", Name: "r"}
	cart    = object.Ref{Kind: object.KindService, Namespace: "default", Name: "cart"}
	mine    = object.Ref{Kind: object.KindSessionPolicy, Namespace: "default", Name: "mine"}
	yours   = object.Ref{Kind: object.KindSessionPolicy, Namespace: "default", Name: "yours"}
	budget  = object.Ref{Kind: object.KindTrafficPolicy, Namespace: "default", Name: "budget"}
	another = object.Ref{Kind: object.KindTrafficPolicy, Namespace: "default", Name: "another"}
)

// subject is an object in a file of its name, whose fields all are on line 7 and which itself is on line 1.
type subject object.Ref

func (s subject) Ref() object.Ref { return object.Ref(s) }
func (s subject) String() string  { return object.Ref(s).String() }
func (s subject) Locate(path string) (string, int) {
	if path == "" {
		return "in.yaml", 1
	}
	return "in.yaml", 7
}

// input is what was decided about one path: from the listener http of the Gateway web by the rule pay to the Service cart.
type input struct {
	describe.Input
	objects  *resource.Objects
	decision *policy.Decision
	traffic  *lower.BackendTraffic
}

func newInput(t *testing.T) *input {
	t.Helper()
	in := &input{objects: compilertest.Admit(t, documents)}
	path := newPath("http")
	in.decision = &policy.Decision{Path: path, Route: in.objects.Routes[0], Release: sessionapi.Release16}
	in.Decisions = &policy.Decisions{Paths: []*policy.Decision{in.decision}}
	in.Subjects = map[object.Ref]report.Subject{}
	for _, ref := range []object.Ref{web, route, cart, mine, yours, budget, another} {
		in.Subjects[ref] = subject(ref)
	}
	in.traffic = &lower.BackendTraffic{Route: in.objects.Routes[0], Backend: object.TargetRef{Ref: cart}, Paths: []precedence.TrafficPath{path}}
	return in
}

func newPath(listener string) precedence.TrafficPath {
	return precedence.TrafficPath{Class: "limpet", Gateway: web, Listener: listener, Route: route, Rule: "pay", Backends: []object.TargetRef{{Ref: cart}}}
}

// turnOn has sessions on by a policy, with a field that it holds or overrides.
func (in *input) turnOn(fields ...*precedence.Field) {
	in.decision.Scope, in.decision.Name = "scope", "limpet-r"
	in.decision.Effective = precedence.Effective{On: true, TurnedOnBy: writes(mine, 12, "spec", "false"), Fields: fields}
}

// writes is a value that an object writes on a level.
func writes(of object.Ref, level precedence.Level, path, text string) precedence.FieldValue {
	return precedence.FieldValue{Value: text, Text: text, Level: level, Origin: object.Origin{Ref: of}, Path: path}
}

func builtIn(text string) precedence.FieldValue {
	return precedence.FieldValue{Text: text, Level: precedence.BuiltIn}
}

// formatOrigin is VALUE@PRECEDENCE OBJECT PATH LINE, without what is not known.
func formatOrigin(o describe.Origin) string {
	text := fmt.Sprintf("%s@%d %s %s", o.Value, o.Precedence, o.Object, o.Path)
	if o.Line > 0 {
		text += fmt.Sprintf(" :%d", o.Line)
	}
	return strings.Join(strings.Fields(text), " ")
}

// formatFields has a line for each field, with what it overrides after a bar.
func formatFields(fields []describe.Field) string {
	lines := make([]string, len(fields))
	for i, f := range fields {
		lines[i] = f.Name + "=" + formatOrigin(f.Origin)
		for _, o := range f.Overrides {
			lines[i] += " | " + formatOrigin(o)
		}
	}
	return strings.Join(lines, "\n")
}

// checkLines compares texts line by line, without regard to how they are indented.
func checkLines(t *testing.T, what, got, want string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if got != strings.Join(lines, "\n") {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, strings.Join(lines, "\n"))
	}
}

// TestFieldsOfASession holds what is told of each field: its value, where it is written, and what it overrides.
//
// requirements: 2C.20
func TestFieldsOfASession(t *testing.T) {
	field := func(name string, held precedence.FieldValue, fallback string, overrides ...precedence.FieldValue) *precedence.Field {
		return &precedence.Field{Name: name, FieldValue: held, Default: fallback, Overrides: overrides}
	}
	for name, c := range map[string]struct {
		decide func(*input)
		want   string
		notes  string
	}{
		"written": {func(in *input) {
			in.turnOn(field("absoluteTimeout", writes(mine, 12, "spec.absoluteTimeout", "1h"), ""))
		}, "absoluteTimeout=1h@12 SessionPersistencePolicy default/mine spec.absoluteTimeout :7", ""},
		"against another's": {func(in *input) {
			in.turnOn(field("absoluteTimeout", writes(yours, 9, "spec.absoluteTimeout", "2h"), "", writes(mine, 12, "spec.absoluteTimeout", "1h")))
		}, "absoluteTimeout=2h@9 SessionPersistencePolicy default/yours spec.absoluteTimeout :7 | 1h@12 SessionPersistencePolicy default/mine spec.absoluteTimeout :7", ""},
		"against the built-in":     {func(in *input) { in.turnOn(field("failStatus", writes(mine, 12, "spec.failStatus", "500"), "503")) }, "failStatus=500@12 SessionPersistencePolicy default/mine spec.failStatus :7 | 503@28", ""},
		"the same as the built-in": {func(in *input) { in.turnOn(field("failStatus", writes(mine, 12, "spec.failStatus", "503"), "503")) }, "failStatus=503@12 SessionPersistencePolicy default/mine spec.failStatus :7", ""},
		"built in":                 {func(in *input) { in.turnOn(field("failStatus", builtIn("503"), "503")) }, "failStatus=503@28", ""},
		"no value at all":          {func(in *input) { in.turnOn(field("endSessionHeader", builtIn(""), "")) }, "", ""},
		"disabled is not shown":    {func(in *input) { in.turnOn(field("disabled", writes(mine, 12, "spec", "false"), "")) }, "", ""},
		"the name that is made":    {func(in *input) { in.turnOn(field("sessionName", builtIn(""), "")) }, "sessionName=limpet-r@28", ""},
		"the paths that are made": {func(in *input) {
			in.turnOn(field("cookie.path", builtIn(""), ""))
			for _, path := range []string{"/a", "/b", "/a", ""} {
				in.decision.Policies = append(in.decision.Policies, policyconfig.Policy{Cookie: &policyconfig.Cookie{Path: path}})
			}
			in.decision.Policies = append(in.decision.Policies, policyconfig.Policy{})
		}, "cookie.path=/a, /b@28", ""},
		"what does not apply": {func(in *input) {
			in.turnOn()
			in.decision.Effective.Ignored = []precedence.IgnoredField{{FieldValue: writes(mine, 12, "spec.cookie", ""), Reason: "does not apply"}}
		}, "", "SessionPersistencePolicy default/mine: spec.cookie: does not apply"},
		"who loses": {func(in *input) {
			in.turnOn()
			in.decision.Effective.Conflicts = []precedence.Conflict{{Loser: object.Origin{Ref: mine}, Winner: object.Origin{Ref: yours}, Fields: []precedence.FieldConflict{{Loser: writes(mine, 12, "spec.a", "1"), Winner: writes(yours, 12, "spec.a", "2")}}}}
		}, "", "SessionPersistencePolicy default/mine: spec.a: conflicts with SessionPersistencePolicy default/yours, which comes first by name and writes 2"},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput(t)
			c.decide(in)
			d := describe.Describe(route, "", in.Input)
			if len(d.Sessions) != 1 {
				t.Fatalf("%d sessions, want 1", len(d.Sessions))
			}
			s := d.Sessions[0]
			checkLines(t, "fields", formatFields(s.Fields), c.want)
			checkLines(t, "notes", strings.Join(s.Notes, "\n"), c.notes)
			if !s.On || s.By == nil || s.By.Object != mine.String() || s.By.Value != "" || s.Scope != "scope" || s.Name != "limpet-r" || s.Generation != "1.6" {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// TestSessionsThatAreOff tells who turned them off, and nothing of fields that then have no meaning.
func TestSessionsThatAreOff(t *testing.T) {
	for name, c := range map[string]struct {
		fields []*precedence.Field
		by     string
	}{
		"by a policy":           {[]*precedence.Field{{Name: "disabled", FieldValue: writes(yours, 9, "spec.disabled", "true")}, {Name: "failStatus", FieldValue: writes(mine, 12, "spec.failStatus", "500")}}, "@9 SessionPersistencePolicy default/yours spec.disabled :7"},
		"as there is no policy": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput(t)
			in.decision.Effective.Fields = c.fields
			in.decision.Refusals = []policy.Refusal{{Path: "spec.rules[0]", Message: "no"}}
			s := describe.Describe(route, "", in.Input).Sessions[0]
			by := ""
			if s.By != nil {
				by = formatOrigin(*s.By)
			}
			if s.On || by != c.by || len(s.Fields) != 0 || strings.Join(s.Refused, "; ") != "spec.rules[0]: no" {
				t.Errorf("got %+v by %s", s, by)
			}
		})
	}
}

// TestPolicyOffFromAbove: where a stronger policy turns sessions off, no field of a weaker one is effective, and the one that turns them off says so.
func TestPolicyOffFromAbove(t *testing.T) {
	in := newInput(t)
	in.decision.Effective.Fields = []*precedence.Field{
		{Name: "disabled", FieldValue: writes(yours, 2, "spec.override.disabled", "true")},
		{Name: "absoluteTimeout", FieldValue: writes(mine, 12, "spec.absoluteTimeout", "1h")},
		{Name: "forward", FieldValue: writes(yours, 2, "spec.override.forward", "false")},
	}
	off := " by true@2 SessionPersistencePolicy default/yours spec.override.disabled :7"
	e := describe.Describe(mine, "", in.Input).Effects[0]
	checkLines(t, "effective below", formatFields(e.Effective), "")
	checkLines(t, "overridden below", formatOverridden(e), "absoluteTimeout=1h@12 SessionPersistencePolicy default/mine spec.absoluteTimeout :7"+off)
	e = describe.Describe(yours, "", in.Input).Effects[0]
	checkLines(t, "effective above", formatFields(e.Effective), "disabled=true@2 SessionPersistencePolicy default/yours spec.override.disabled :7")
	checkLines(t, "overridden above", formatOverridden(e), "forward=false@2 SessionPersistencePolicy default/yours spec.override.forward :7"+off)
}

// TestPathsThroughAnObject holds which objects and sections a path is shown for, and that listeners through which the
// same holds are put together.
func TestPathsThroughAnObject(t *testing.T) {
	in := newInput(t)
	in.turnOn()
	more := *in.decision
	more.Path = newPath("more")
	other := *in.decision
	other.Path, other.Rule = newPath("http"), 1
	other.Path.Rule = ""
	in.Decisions.Paths = append(in.Decisions.Paths, &more, &other)
	for name, c := range map[string]struct {
		ref     object.Ref
		section string
		want    string // RULE: VIA
	}{
		"the route":        {route, "", "0: Gateway default/web, listener http; Gateway default/web, listener more\n1: Gateway default/web, listener http"},
		"a rule":           {route, "pay", "0: Gateway default/web, listener http; Gateway default/web, listener more"},
		"the Gateway":      {web, "", "0: Gateway default/web, listener http; Gateway default/web, listener more\n1: Gateway default/web, listener http"},
		"a listener":       {web, "more", "0: Gateway default/web, listener more"},
		"the Service":      {cart, "", "0: Gateway default/web, listener http; Gateway default/web, listener more\n1: Gateway default/web, listener http"},
		"the class":        {object.Ref{Kind: object.KindGatewayClass, Name: "limpet"}, "", "0: Gateway default/web, listener http; Gateway default/web, listener more\n1: Gateway default/web, listener http"},
		"another Service":  {object.Ref{Kind: object.KindService, Namespace: "default", Name: "other"}, "", ""},
		"another listener": {web, "none", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := describe.Describe(c.ref, c.section, in.Input)
			var got []string
			for _, s := range d.Sessions {
				got = append(got, fmt.Sprintf("%d: %s", s.Rule, strings.Join(s.Via, "; ")))
				if s.Route != route.String() || strings.Join(s.Backends, "") != cart.String() {
					t.Errorf("the path is %+v", s.TrafficPath)
				}
			}
			checkLines(t, "paths", strings.Join(got, "\n"), c.want)
			if d.Object != c.ref.String() || d.Section != c.section {
				t.Errorf("it is about %s, %s", d.Object, d.Section)
			}
			if located := in.Subjects[c.ref] != nil; located != (d.Line == 1) {
				t.Errorf("it is on line %d", d.Line)
			}
		})
	}
}

// TestEffectsOfAPolicy holds what is told of a policy itself: its targets, the fields that hold, and those of which
// another's hold, or none.
func TestEffectsOfAPolicy(t *testing.T) {
	in := newInput(t)
	in.Decisions.Attachments = []policy.Attachment{
		{Policy: object.Origin{Ref: mine}, Target: object.TargetRef{Ref: cart}, Path: "spec.targetRefs[0]"},
		{Policy: object.Origin{Ref: mine}, Target: object.TargetRef{Ref: route, Section: "none"}, Path: "spec.targetRefs[1]", Reason: "TargetNotFound", Message: "gone"},
		{Policy: object.Origin{Ref: yours}, Target: object.TargetRef{Ref: cart}, Path: "spec.targetRefs[0]"},
	}
	implied := writes(mine, 12, "spec", "false")
	implied.Implied = true
	in.turnOn(
		&precedence.Field{Name: "disabled", FieldValue: writes(yours, 9, "spec.disabled", "false"), Overrides: []precedence.FieldValue{implied}},
		&precedence.Field{Name: "absoluteTimeout", FieldValue: writes(mine, 12, "spec.absoluteTimeout", "1h")},
		&precedence.Field{Name: "failStatus", FieldValue: writes(yours, 9, "spec.failStatus", "500"), Overrides: []precedence.FieldValue{writes(mine, 12, "spec.failStatus", "501")}},
		&precedence.Field{Name: "forward", FieldValue: builtIn("true")},
	)
	in.decision.Effective.Ignored = []precedence.IgnoredField{{FieldValue: writes(mine, 12, "spec.cookie", ""), Reason: "does not apply"}, {FieldValue: writes(yours, 9, "spec.x", ""), Reason: "is another's"}}
	in.Decisions.Renames = []policy.Rename{
		{Route: in.decision.Route, By: writes(mine, 12, "spec.sessionName", "a"), From: "a", To: "a-1", SemanticsRule: "S26"},
		{Route: in.decision.Route, Rule: 1, By: writes(mine, 12, "spec.sessionName", "a"), From: "a", To: "a-2"},
	}
	d := describe.Describe(mine, "", in.Input)
	var targets []string
	for _, target := range d.Targets {
		targets = append(targets, strings.TrimSpace(target.Path+" "+target.Target+" "+target.Reason+" "+target.Message))
	}
	checkLines(t, "targets", strings.Join(targets, "\n"), "spec.targetRefs[0] Service default/cart\nspec.targetRefs[1] HTTPRoute default/r, sectionName none TargetNotFound gone")
	if len(d.Effects) != 1 || len(d.Sessions) != 0 {
		t.Fatalf("%d effects and %d sessions, want one effect", len(d.Effects), len(d.Sessions))
	}
	e := d.Effects[0]
	checkLines(t, "fields that hold", formatFields(e.Effective), "absoluteTimeout=1h@12 SessionPersistencePolicy default/mine spec.absoluteTimeout :7")
	checkLines(t, "fields that do not", formatOverridden(e), "failStatus=501@12 SessionPersistencePolicy default/mine spec.failStatus :7 by 500@9 SessionPersistencePolicy default/yours spec.failStatus :7")
	checkLines(t, "notes", strings.Join(e.Notes, "\n"), "spec.cookie: does not apply\nthe name a is emitted as a-1 (S26)")
	if d := describe.Describe(object.Ref{Kind: object.KindSessionPolicy, Namespace: "default", Name: "idle"}, "", in.Input); len(d.Effects)+len(d.Targets) != 0 {
		t.Errorf("a policy without effect has %+v", d)
	}
}

func formatOverridden(e describe.Effect) string {
	var lines []string
	for _, o := range e.Overridden {
		lines = append(lines, o.Name+"="+formatOrigin(o.Origin)+" by "+formatOrigin(o.By))
	}
	return strings.Join(lines, "\n")
}
