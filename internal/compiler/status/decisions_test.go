package status_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// The policies and what they can be attached to. "mine" is the one whose status is looked at.
var (
	mine      = object.Origin{Ref: object.Ref{Kind: object.KindSessionPolicy, Namespace: "shop", Name: "mine"}}
	yours     = object.Origin{Ref: object.Ref{Kind: object.KindSessionPolicy, Namespace: "shop", Name: "yours"}}
	web       = object.Ref{Kind: object.KindGateway, Namespace: "shop", Name: "web"}
	cartRoute = object.Ref{Kind: object.KindHTTPRoute, Namespace: "shop", Name: "cart"}
	cartSvc   = object.TargetRef{Ref: object.Ref{Kind: object.KindService, Namespace: "shop", Name: "cart"}}
)

// decided is what was decided: mine is attached to the Service cart, to which one path leads.
type decided struct {
	*policy.Decisions
	path *policy.Decision
	// problems are those of the report.
	problems []report.Problem
}

// writes is a value that a policy writes on a level.
func writes(of object.Origin, level precedence.Level, value any) precedence.FieldValue {
	return precedence.FieldValue{Value: value, Text: fmt.Sprint(value), Level: level, Origin: of, Path: "spec.absoluteTimeout"}
}

const (
	onTheService = precedence.Level(13)
	onTheRule    = precedence.Level(10)
	byOverride   = precedence.Level(1)
)

// turnOn has sessions on with a field whose value is held, and what it overrides.
func (d *decided) turnOn(held precedence.FieldValue, overrides ...precedence.FieldValue) {
	e := &d.path.Effective
	e.On = true
	e.Fields = append(e.Fields, &precedence.Field{Name: "absoluteTimeout", FieldValue: held, Overrides: overrides})
}

func (d *decided) conflict(otherTarget bool) {
	d.path.Effective.Conflicts = append(d.path.Effective.Conflicts, precedence.Conflict{
		Loser: mine, Winner: yours, Level: onTheService, OtherTarget: otherTarget, Path: "spec",
		Fields: []precedence.FieldConflict{{Field: "absoluteTimeout", Loser: writes(mine, onTheService, "1h"), Winner: writes(yours, onTheService, "2h")}},
	})
}

// buildStatuses admits documents and writes the statuses for decisions that the case makes about them.
func buildStatuses(t *testing.T, decide func(*decided), documents ...string) []status.Object {
	t.Helper()
	objects := compilertest.Admit(t, append(documents, strings.Split(statusBase, "---\n")...)...)
	attachments := attach(objects)
	d := &decided{Decisions: &policy.Decisions{}}
	d.path = &policy.Decision{
		Path:  precedence.TrafficPath{Class: "limpet", Gateway: web, Listener: "http", Route: cartRoute, Rule: "pay", Backends: []object.TargetRef{{Ref: cartSvc.Ref}}},
		Route: objects.Routes[0], Rule: 0,
	}
	d.Paths = []*policy.Decision{d.path}
	d.Attachments = []policy.Attachment{{Policy: mine, Target: cartSvc, Path: "spec.targetRefs[0]"}}
	if decide != nil {
		decide(d)
	}
	return status.Build(status.Input{Objects: objects, Attachments: attachments, Decisions: d.Decisions, Problems: d.problems, Now: now})
}

// newProblem is what is said of an object under a reason.
func newProblem(of object.Ref, reason, path string) report.Problem {
	return report.Problem{Ref: of, Place: report.PlaceOf(path), Object: of.String(), Path: path, Message: "no", Reason: reason}
}

// attach attaches the routes of objects.
func attach(objects *resource.Objects) *gateway.AttachmentStatus {
	return gateway.Build(gateway.NewInput(objects, netip.MustParseAddr("0.0.0.0"))).Attachments
}

// statusOf is the status of an object.
func statusOf[T any](t *testing.T, objects []status.Object, name string) T {
	t.Helper()
	for _, o := range objects {
		if fmt.Sprintf("%s %s/%s", o.Kind, o.Metadata.Namespace, o.Metadata.Name) == name {
			if s, is := o.Status.(T); is {
				return s
			}
			t.Fatalf("%s has a status of the type %T", name, o.Status)
		}
	}
	t.Fatalf("%s has no status", name)
	panic("not reached")
}

// formatConditions gives conditions as TYPE=STATUS/REASON: MESSAGE, one on a line.
func formatConditions(conditions []metav1.Condition) string {
	lines := make([]string, len(conditions))
	for i, c := range conditions {
		lines[i] = fmt.Sprintf("%s=%s/%s: %s", strings.TrimPrefix(c.Type, "limpet.dev/"), c.Status, c.Reason, c.Message)
	}
	return strings.Join(lines, "\n")
}

var accepted = "Accepted=True/Accepted: \n"

// policyCases are decisions about the policy "mine", and the ancestor and conditions that they come to.
var policyCases = map[string]struct {
	decide   func(*decided)
	ancestor string
	want     string
}{
	"a field holds":               {func(d *decided) { d.turnOn(writes(mine, onTheService, "1h")) }, "Gateway web", accepted + "Programmed=True/Programmed: "},
	"no path leads to the target": {func(d *decided) { d.Paths = nil }, "Service cart", accepted + "Programmed=False/Pending: no Gateway leads requests to Service shop/cart"},
	"the target is missing": {func(d *decided) {
		d.Attachments[0].Reason, d.Attachments[0].Message = report.ReasonTargetNotFound, "it is gone"
	}, "Service cart", "Accepted=False/TargetNotFound: spec.targetRefs[0]: it is gone"},
	"the target may not be used":     {func(d *decided) { d.Attachments[0].Reason, d.Attachments[0].Message = report.ReasonInvalid, "no" }, "Service cart", "Accepted=False/Invalid: spec.targetRefs[0]: no"},
	"merged with another's defaults": {func(d *decided) { d.turnOn(writes(mine, onTheService, "1h")); d.turnOn(writes(yours, onTheRule, "1h")) }, "Gateway web", accepted + "Programmed=True/Programmed: merged, as patch defaults, with SessionPersistencePolicy shop/yours"},
	"merged as an override and a default": {func(d *decided) {
		d.turnOn(writes(mine, byOverride, "1h"))
		d.turnOn(writes(mine, onTheService, "1h"))
		d.turnOn(writes(yours, onTheRule, "1h"))
	}, "Gateway web", accepted + "Programmed=True/Programmed: merged, as patch overrides and patch defaults, with SessionPersistencePolicy shop/yours"},
	"another's value holds":                  {func(d *decided) { d.turnOn(writes(yours, onTheRule, "2h"), writes(mine, onTheService, "1h")) }, "Gateway web", accepted + "Programmed=False/Overridden: overridden by SessionPersistencePolicy shop/yours"},
	"another's value holds, and is the same": {func(d *decided) { d.turnOn(writes(yours, onTheRule, "1h"), writes(mine, onTheService, "1h")) }, "Gateway web", accepted + "Programmed=True/Programmed: "},
	"one of two fields is another's": {func(d *decided) {
		d.turnOn(writes(mine, onTheService, "1h"))
		d.turnOn(writes(yours, onTheRule, "2h"), writes(mine, onTheService, "1h"))
	}, "Gateway web", accepted + "Programmed=True/Programmed: merged, as patch defaults, with SessionPersistencePolicy shop/yours"},
	"a built-in default is not another's": {func(d *decided) {
		d.turnOn(writes(mine, onTheService, "1h"))
		d.turnOn(writes(object.Origin{}, precedence.BuiltIn, ""))
	}, "Gateway web", accepted + "Programmed=True/Programmed: "},
	"another turns sessions off": {func(d *decided) {
		d.turnOn(writes(yours, onTheRule, true), writes(mine, onTheService, false))
		d.path.Effective.On = false
	}, "Gateway web", accepted + "Programmed=False/Overridden: overridden by SessionPersistencePolicy shop/yours"},
	"it turns sessions off itself":           {func(d *decided) { d.turnOn(writes(mine, onTheService, true)); d.path.Effective.On = false }, "Gateway web", accepted + "Programmed=True/Programmed: "},
	"it loses a conflict":                    {func(d *decided) { d.turnOn(writes(yours, onTheService, "2h")); d.conflict(false) }, "Gateway web", "Accepted=False/Conflicted: spec.absoluteTimeout: conflicts with SessionPersistencePolicy shop/yours, which comes first by name and writes 2h"},
	"it loses on another target of the rule": {func(d *decided) { d.turnOn(writes(mine, onTheService, "2h")); d.conflict(true) }, "Gateway web", accepted + "Programmed=True/PartiallyProgrammed: spec.absoluteTimeout: conflicts with SessionPersistencePolicy shop/yours on another Service of the same rule, which comes first by name and writes 2h"},
	"another loses to it": {func(d *decided) {
		d.turnOn(writes(mine, onTheService, "2h"))
		d.conflict(false)
		c := &d.path.Effective.Conflicts[0]
		c.Loser, c.Winner = yours, mine
	}, "Gateway web", accepted + "Programmed=True/Programmed: "},
	"a field of it does not apply": {func(d *decided) {
		d.turnOn(writes(mine, onTheService, "1h"))
		d.path.Effective.Ignored = []precedence.IgnoredField{{FieldValue: writes(mine, onTheService, "1h"), Reason: "does not apply"}}
	}, "Gateway web", accepted + "Programmed=True/PartiallyProgrammed: spec.absoluteTimeout: does not apply"},
	"a field of another does not apply": {func(d *decided) {
		d.turnOn(writes(mine, onTheService, "1h"))
		d.path.Effective.Ignored = []precedence.IgnoredField{{FieldValue: writes(yours, onTheService, "1h"), Reason: "does not apply"}}
	}, "Gateway web", accepted + "Programmed=True/Programmed: "},
	"the rule can't have the session": {func(d *decided) {
		d.turnOn(writes(mine, onTheService, "1h"))
		d.path.Refusals = []policy.Refusal{{Path: "spec.rules[0]", Message: "no"}}
	}, "Gateway web", accepted + "Programmed=True/PartiallyProgrammed: HTTPRoute shop/cart is refused: spec.rules[0]: no"},
	"its name is made another": {func(d *decided) {
		d.turnOn(writes(mine, onTheService, "1h"))
		d.Renames = []policy.Rename{{Route: d.path.Route, By: writes(mine, onTheService, "a"), SemanticsRule: "S26", From: "a", To: "a-1"}}
	}, "Gateway web", accepted + "Programmed=True/PartiallyProgrammed: the name a is a-1 at HTTPRoute shop/cart rule 0 (S26)"},
	"another rule's name is made another": {func(d *decided) {
		d.turnOn(writes(mine, onTheService, "1h"))
		d.Renames = []policy.Rename{{Route: d.path.Route, Rule: 1, By: writes(mine, onTheService, "a")}}
	}, "Gateway web", accepted + "Programmed=True/Programmed: "},
	"a problem of it": {func(d *decided) {
		d.turnOn(writes(mine, onTheService, "1h"))
		d.problems = []report.Problem{{Ref: mine.Ref, Path: "spec.failStatus", Message: "not carried"}}
	}, "Gateway web", accepted + "Programmed=True/PartiallyProgrammed: spec.failStatus: not carried"},
	"advice is no problem": {func(d *decided) {
		d.turnOn(writes(mine, onTheService, "1h"))
		d.problems = []report.Problem{{Ref: mine.Ref, Message: "by the way", Advice: true}}
	}, "Gateway web", accepted + "Programmed=True/Programmed: "},
}

// TestConditionsOfAPolicy holds what each decision comes to in the conditions of a policy.
//
// requirements: 2C.15, 2C.19, S60, S61
func TestConditionsOfAPolicy(t *testing.T) {
	for name, c := range policyCases {
		t.Run(name, func(t *testing.T) {
			objects := buildStatuses(t, c.decide, sessionPolicyText("shop/mine", onService, "absoluteTimeout: 1h"), sessionPolicyText("shop/yours", onRoute, "absoluteTimeout: 1h"))
			s := statusOf[gatewayv1.PolicyStatus](t, objects, mine.String())
			if len(s.Ancestors) != 1 {
				t.Fatalf("%d ancestors, want 1: %v", len(s.Ancestors), s.Ancestors)
			}
			a := s.Ancestors[0]
			if got := referenceText(string(*a.AncestorRef.Kind), a.AncestorRef); got != c.ancestor {
				t.Errorf("the ancestor is %s, want %s", got, c.ancestor)
			}
			if got := formatConditions(a.Conditions); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestConditionsOfARoute holds what problems and refused rules come to in the conditions of a route with two rules.
//
// requirements: S48, S50
func TestConditionsOfARoute(t *testing.T) {
	route := object.Ref{Kind: object.KindHTTPRoute, Namespace: "shop", Name: "two"}
	problem := func(reason, path string) report.Problem { return newProblem(route, reason, path) }
	const resolved = "ResolvedRefs=True/ResolvedRefs: "
	for name, c := range map[string]struct {
		problems []report.Problem
		want     string
		attached int32
	}{
		"nothing":                            {nil, accepted + resolved, 2},
		"a reference leads nowhere":          {[]report.Problem{problem("BackendNotFound", "spec.rules[0].backendRefs[0]")}, accepted + "ResolvedRefs=False/BackendNotFound: spec.rules[0].backendRefs[0]: no", 2},
		"two references, the first's reason": {[]report.Problem{problem("RefNotPermitted", "spec.rules[0].backendRefs[0]"), problem("InvalidKind", "spec.rules[1].backendRefs[0]")}, accepted + "ResolvedRefs=False/RefNotPermitted: spec.rules[0].backendRefs[0]: no; spec.rules[1].backendRefs[0]: no", 2},
		"one of two rules is refused":        {[]report.Problem{problem("UnsupportedValue", "spec.rules[1].retry")}, accepted + resolved + "\nPartiallyInvalid=True/UnsupportedValue: Dropped Rule 1: spec.rules[1].retry: no", 2},
		"both rules are refused":             {[]report.Problem{problem("UnsupportedValue", "spec.rules[0]"), problem("UnsupportedValue", "spec.rules[1].retry")}, "Accepted=False/UnsupportedValue: spec.rules[0]: no; spec.rules[1].retry: no\n" + resolved, 1},
		"one rule is refused twice":          {[]report.Problem{problem("UnsupportedValue", "spec.rules[0].a"), problem("UnsupportedValue", "spec.rules[0].b")}, accepted + resolved + "\nPartiallyInvalid=True/UnsupportedValue: Dropped Rule 0: spec.rules[0].a: no; spec.rules[0].b: no", 2},
		"the route as a whole":               {[]report.Problem{problem("UnsupportedValue", "spec")}, "Accepted=False/UnsupportedValue: spec: no\n" + resolved, 1},
		"hostnames that it does not reach":   {[]report.Problem{problem("HostsWithheld", "spec.hostnames")}, accepted + resolved + "\nPartiallyInvalid=True/UnsupportedValue: spec.hostnames: no", 2},
		"hostnames without a fallback":       {[]report.Problem{problem("FallbackWithheld", "spec.hostnames")}, "Accepted=True/Accepted: spec.hostnames: no\n" + resolved, 2},
		"another object's problem":           {[]report.Problem{newProblem(object.Ref{Kind: object.KindHTTPRoute, Namespace: "shop", Name: "other"}, "UnsupportedValue", "")}, accepted + resolved, 2},
	} {
		t.Run(name, func(t *testing.T) {
			two := "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: two, namespace: shop}\nspec: {parentRefs: [{name: web, sectionName: http}], rules: [{}, {}]}"
			objects := buildStatuses(t, func(d *decided) { d.problems = c.problems }, two)
			s := statusOf[gatewayv1.HTTPRouteStatus](t, objects, route.String())
			if len(s.Parents) != 1 || s.Parents[0].ControllerName != status.ControllerName {
				t.Fatalf("the parents are %v", s.Parents)
			}
			if got := formatConditions(s.Parents[0].Conditions); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if got := statusOf[gatewayv1.GatewayStatus](t, objects, "Gateway shop/web").Listeners[0].AttachedRoutes; got != c.attached {
				t.Errorf("%d routes are attached, want %d", got, c.attached)
			}
		})
	}
	t.Run("rejected by a decision", func(t *testing.T) {
		objects := buildStatuses(t, func(d *decided) { d.path.Rejected = true })
		got := formatConditions(statusOf[gatewayv1.HTTPRouteStatus](t, objects, cartRoute.String()).Parents[0].Conditions)
		if !strings.HasPrefix(got, "Accepted=False/UnsupportedValue") {
			t.Errorf("got %s", got)
		}
	})
}

// TestConditionsOfAGateway holds what problems of listeners come to for each and for the Gateway.
func TestConditionsOfAGateway(t *testing.T) {
	const gatewayText = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: younger, namespace: shop}\nspec: {gatewayClassName: limpet, listeners: [%s]%s}"
	const plain, noKind = "{name: a, protocol: HTTP, port: 8000}", "{name: b, protocol: HTTP, port: 8001, allowedRoutes: {kinds: [{kind: TCPRoute}]}}"
	const noCertificate = "{name: c, protocol: HTTPS, port: 8443, tls: {certificateRefs: [{name: gone}]}}"
	const taken = "{name: d, protocol: HTTP, port: 80}" // the Gateway web has it
	younger := object.Ref{Kind: object.KindGateway, Namespace: "shop", Name: "younger"}
	problem := func(reason, path string) report.Problem { return newProblem(younger, reason, path) }
	const ok = "Accepted=True/Accepted: \nProgrammed=True/Programmed: \nResolvedRefs=True/ResolvedRefs: "
	const fine = ok + "\nConflicted=False/NoConflicts: "
	for name, c := range map[string]struct {
		listeners, spec string
		problems        []report.Problem
		want            string
		first           string // the first listener's
	}{
		"a listener": {plain, "", nil, ok, fine},
		"one listener of no kind": {
			noKind + "," + plain, "",
			[]report.Problem{problem("InvalidRouteKinds", "spec.listeners[0].allowedRoutes.kinds[0].kind")},
			"Accepted=True/ListenersNotValid: listeners that are not valid: b\nProgrammed=True/Programmed: \nResolvedRefs=False/ListenersNotResolved: listeners with references that are not resolved: b",
			"Accepted=True/Accepted: \nProgrammed=False/Invalid: it allows no kind of route that limpet knows\nResolvedRefs=False/InvalidRouteKinds: spec.listeners[0].allowedRoutes.kinds[0].kind: no\nConflicted=False/NoConflicts: ",
		},
		"no certificate": {
			noCertificate, "",
			[]report.Problem{problem("InvalidCertificateRef", "spec.listeners[0].tls.certificateRefs[0].name")},
			"Accepted=True/ListenersNotValid: listeners that are not valid: c\nProgrammed=True/Programmed: \nResolvedRefs=False/ListenersNotResolved: listeners with references that are not resolved: c",
			"Accepted=True/Accepted: \nProgrammed=False/Invalid: it has no certificate that can be used\nResolvedRefs=False/InvalidCertificateRef: spec.listeners[0].tls.certificateRefs[0].name: no\nConflicted=False/NoConflicts: ",
		},
		"another Gateway has the port": {
			taken, "",
			[]report.Problem{problem("HostnameConflict", "spec.listeners[0]")},
			"Accepted=False/ListenersNotValid: listeners that are not valid: d\nProgrammed=False/Invalid: it is not accepted, or none of its listeners\nResolvedRefs=True/ResolvedRefs: ",
			"Accepted=False/HostnameConflict: spec.listeners[0]: no\nProgrammed=False/Invalid: another listener has its port\nResolvedRefs=True/ResolvedRefs: \nConflicted=True/HostnameConflict: spec.listeners[0]: no",
		},
		"a conflict on one of two addresses": {
			taken, `, addresses: [{value: 0.0.0.0}, {value: 10.0.0.1}]`,
			[]report.Problem{problem("HostnameConflict", "spec.listeners[0]")},
			ok, strings.Replace(fine, "Conflicted=False/NoConflicts: ", "Conflicted=True/HostnameConflict: spec.listeners[0]: no", 1),
		},
		"an address that can't be bound": {
			plain, "",
			[]report.Problem{problem(string(gatewayv1.GatewayReasonAddressNotUsable), "spec.addresses[0].value")},
			"Accepted=True/Accepted: \nProgrammed=False/AddressNotUsable: spec.addresses[0].value: no\nResolvedRefs=True/ResolvedRefs: ", fine,
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := buildStatuses(t, func(d *decided) { d.problems = c.problems }, fmt.Sprintf(gatewayText, c.listeners, c.spec))
			s := statusOf[gatewayv1.GatewayStatus](t, objects, "Gateway shop/younger")
			if got := formatConditions(s.Conditions); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if got := formatConditions(s.Listeners[0].Conditions); got != c.first {
				t.Errorf("of the listener: got\n%s\nwant\n%s", got, c.first)
			}
		})
	}
}
