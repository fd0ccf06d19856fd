package envoygateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// subject stands for an object in the report.
type subject object.Ref

func (s subject) Ref() object.Ref           { return object.Ref(s) }
func (s subject) String() string            { return object.Ref(s).String() }
func (subject) Locate(string) (string, int) { return "in.yaml", 0 }

// newObject makes an object with a spec, which is YAML.
func newObject(t *testing.T, kind, name, spec string) ir.Object {
	t.Helper()
	ref := object.Ref{Kind: kind, Namespace: "shop", Name: name}
	value, err := yaml.YAMLToJSON([]byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"kind": %q, "metadata": {"namespace": "shop", "name": %q}, "spec": %s}`, kind, name, value)
	return ir.Object{Ref: ref, Subject: subject(ref), JSON: []byte(text)}
}

// newGateway makes the Gateway shop/web with listeners NAME:PORT, those of port 443 for TLS.
func newGateway(t *testing.T, listeners ...string) *ir.Gateway {
	t.Helper()
	g := &ir.Gateway{Object: newObject(t, object.KindGateway, "web", "{gatewayClassName: eg}"), Class: "eg"}
	for _, l := range listeners {
		one := &ir.GatewayListener{Gateway: g, Protocol: gatewayv1.HTTPProtocolType}
		name, port, _ := strings.Cut(l, ":")
		if _, err := fmt.Sscan(port, &one.Port); err != nil {
			t.Fatal(err)
		}
		if one.Name = name; one.Port == 443 {
			one.Protocol = gatewayv1.HTTPSProtocolType
		}
		g.Listeners = append(g.Listeners, one)
	}
	return g
}

// newRule makes the only rule of a route from its document; all its backends are Services on port 8080.
func newRule(t *testing.T, kind, name, rule string) *ir.Rule {
	t.Helper()
	route := &ir.RouteObject{Object: newObject(t, kind, name, "{rules: ["+rule+"]}")}
	var spec struct {
		Matches     []any
		BackendRefs []struct {
			Kind, Name string
			Weight     *int32
		}
	}
	if err := yaml.Unmarshal([]byte(rule), &spec); err != nil {
		t.Fatal(err)
	}
	made := &ir.Rule{Route: route, MatchNames: make([]string, len(spec.Matches))}
	backends := map[string]*ir.Backend{}
	for _, ref := range spec.BackendRefs {
		if backends[ref.Name] == nil {
			backends[ref.Name] = &ir.Backend{
				Ref: object.Ref{Kind: object.KindService, Namespace: "shop", Name: ref.Name}, Port: 8080, Tag: uint32(len(backends) + 1),
			}
		}
		one := ir.BackendRef{Kind: ref.Kind, Backend: backends[ref.Name], Weight: 1}
		if ref.Weight != nil {
			one.Weight = *ref.Weight
		}
		made.Backends = append(made.Backends, one)
	}
	route.Rules = []*ir.Rule{made}
	return made
}

// newPolicy makes a policy for some matches.
func newPolicy(name string, matches ...int) ir.SessionPolicy {
	p := policyconfig.DefaultPolicy()
	cookie := policyconfig.DefaultCookie()
	p.Name, p.Scope, p.SessionName, p.Cookie = name, name, "cart", &cookie
	return ir.SessionPolicy{Policy: p, Matches: matches}
}

// newSession makes a session for all backends.
func newSession(policies ...ir.SessionPolicy) *ir.Session { return &ir.Session{Policies: policies} }

// attach puts a rule with sessions on a listener, for a hostname.
func attach(rule *ir.Rule, l *ir.GatewayListener, hostname string, sessions ...*ir.Session) *ir.AttachedRule {
	return &ir.AttachedRule{Rule: rule, Listener: l, Hostnames: []string{hostname}, Sessions: &ir.RuleSessions{All: sessions}}
}

// attachPerBackend puts a rule on a listener, with a session for each of its backends.
func attachPerBackend(rule *ir.Rule, l *ir.GatewayListener) *ir.AttachedRule {
	a := attach(rule, l, "*")
	a.Sessions.PerBackend = true
	for _, b := range rule.DistinctBackends() {
		a.Sessions.All = append(a.Sessions.All, &ir.Session{Backend: b, Policies: []ir.SessionPolicy{newPolicy("p/"+b.Name, 0)}})
	}
	return a
}

// planOf is a plan of rules, with their Gateways and routes.
func planOf(rules ...*ir.AttachedRule) *ir.Plan {
	plan := &ir.Plan{Rules: rules, Objects: map[string][]*ir.Object{}}
	for _, r := range rules {
		if !slices.Contains(plan.Gateways, r.Listener.Gateway) {
			plan.Gateways = append(plan.Gateways, r.Listener.Gateway)
		}
		if !slices.Contains(plan.Routes, r.Route) {
			plan.Routes = append(plan.Routes, r.Route)
		}
	}
	return plan
}

// emitted is what Emit gave, to be looked at.
type emitted struct {
	*Output
	documents []jsonObject
	problems  []string // PATH: MESSAGE, of errors and warnings
}

func emit(t *testing.T, plan *ir.Plan) emitted { return emitWith(t, plan, policyconfig.Keys{}) }

func emitWith(t *testing.T, plan *ir.Plan, keys policyconfig.Keys) emitted {
	t.Helper()
	rep := &report.Report{}
	out, err := Emit(plan, plugin.Global{Keys: keys}, Options{WasmURL: "oci://example.com/limpet:1"}, rep)
	if err != nil {
		t.Fatal(err)
	}
	all := emitted{Output: out}
	for text := range strings.SplitSeq(string(out.Manifest), "---\n") {
		d := jsonObject{}
		if err := yaml.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if len(d) > 0 {
			all.documents = append(all.documents, d)
		}
	}
	for _, p := range append(rep.Errors(false), rep.Warnings()...) {
		all.problems = append(all.problems, strings.TrimPrefix(p.Path+": "+p.Message, ": "))
	}
	return all
}

// names lists the documents as KIND NAME.
func (e emitted) names() []string {
	var all []string
	for _, d := range e.documents {
		all = append(all, fmt.Sprint(d["kind"], " ", childObject(d, "metadata")["name"]))
	}
	return all
}

// spec is that of the first document of a kind, as JSON.
func (e emitted) spec(t *testing.T, kind string) string {
	t.Helper()
	i := slices.IndexFunc(e.documents, func(d jsonObject) bool { return d["kind"] == kind })
	if i < 0 {
		t.Fatalf("there is no %s in %s", kind, e.Manifest)
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e.documents[i]["spec"]); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// checkParts wants parts in the specification of a kind, and no others.
func (e emitted) checkParts(t *testing.T, kind string, want []string, not ...string) {
	t.Helper()
	spec := e.spec(t, kind)
	for _, part := range want {
		if !strings.Contains(spec, part) {
			t.Errorf("no %s in the %s: %s", part, kind, spec)
		}
	}
	for _, part := range not {
		if strings.Contains(spec, part) {
			t.Errorf("%s in the %s: %s", part, kind, spec)
		}
	}
}

// checkProblems compares problems with the beginnings that are wanted, in order.
func (e emitted) checkProblems(t *testing.T, want ...string) {
	t.Helper()
	if !slices.EqualFunc(e.problems, want, strings.HasPrefix) {
		t.Errorf("got the problems %q, want %q", e.problems, want)
	}
}
