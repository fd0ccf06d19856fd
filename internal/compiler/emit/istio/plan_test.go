package istio

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
	"github.com/limpet-proxy/limpet/token"
)

// subject stands for an object in the report.
type subject object.Ref

func (s subject) Ref() object.Ref           { return object.Ref(s) }
func (s subject) String() string            { return object.Ref(s).String() }
func (subject) Locate(string) (string, int) { return "in.yaml", 0 }

// newObject makes an object of what is written of it besides its names.
func newObject(kind, name, fields string) ir.Object {
	ref := object.Ref{Kind: kind, Namespace: "shop", Name: name}
	text := fmt.Sprintf(`{"kind": %q, "metadata": {"namespace": "shop", "name": %q}, %s}`, kind, name, fields)
	return ir.Object{Ref: ref, Origin: object.Origin{Ref: ref}, Subject: subject(ref), JSON: []byte(text)}
}

// newListener makes a Gateway with one listener.
func newListener(kind, name string) *ir.GatewayListener {
	g := &ir.Gateway{Object: newObject(kind, name, `"spec": {}`), Class: "istio"}
	if kind == object.KindIstioGateway {
		g.Class, g.Selector = "", map[string]string{}
	}
	g.Listeners = []*ir.GatewayListener{{Gateway: g, Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}}
	return g.Listeners[0]
}

// newRule makes the only rule of a route, with these backends and the names of its matches.
func newRule(kind, name string, backends []*ir.Backend, matchNames ...string) *ir.Rule {
	route := &ir.RouteObject{Object: newObject(kind, name, newSpec(kind, backends, matchNames))}
	rule := &ir.Rule{Route: route, MatchNames: matchNames}
	for _, b := range backends {
		rule.Backends = append(rule.Backends, ir.BackendRef{Backend: b, Weight: 1})
	}
	route.Rules = []*ir.Rule{rule}
	return rule
}

// newSpec is what such a rule's document says, on the Gateways web and edge.
func newSpec(kind string, backends []*ir.Backend, matchNames []string) string {
	rule := map[string]any{}
	add := func(key string, entry map[string]any) {
		all, _ := rule[key].([]any)
		rule[key] = append(all, entry)
	}
	for _, b := range backends {
		if kind == object.KindVirtualService {
			add("route", map[string]any{"destination": map[string]any{"host": registryHost(b)}, "weight": 1})
		} else {
			add("backendRefs", map[string]any{"name": b.Name, "port": b.Port, "weight": 1})
		}
	}
	for _, name := range matchNames {
		if kind == object.KindVirtualService {
			add("match", map[string]any{"name": name})
		} else {
			add("matches", map[string]any{"path": map[string]any{"value": "/"}})
		}
	}
	spec := map[string]any{"parentRefs": []any{map[string]any{"name": "web"}, map[string]any{"name": "other"}}, "rules": []any{rule}}
	if kind == object.KindVirtualService {
		spec = map[string]any{"gateways": []any{"edge", "mesh"}, "http": []any{rule}}
	}
	text, _ := json.Marshal(spec) // texts and numbers alone
	return `"spec": ` + string(text)
}

func newService(name string) *ir.Backend {
	ref := object.Ref{Kind: object.KindService, Namespace: "shop", Name: name}
	return &ir.Backend{Ref: ref, Port: 8080, Tag: token.BackendTag(name)}
}

// newPolicy makes a policy with a cookie of a path, for some matches.
func newPolicy(name, path string, matches ...int) ir.SessionPolicy {
	p := policyconfig.DefaultPolicy()
	cookie := policyconfig.DefaultCookie()
	cookie.Path = path
	p.Name, p.Scope, p.SessionName, p.Cookie = name, name, "cart", &cookie
	return ir.SessionPolicy{Policy: p, Matches: matches}
}

// newSession makes a session for all backends; its name is that of its policies up to the last slash.
func newSession(policies ...ir.SessionPolicy) *ir.Session {
	name := policies[0].Name
	return &ir.Session{Name: name[:strings.LastIndexByte(name, '/')], Policies: policies}
}

// attach puts a rule with sessions on a listener.
func attach(rule *ir.Rule, l *ir.GatewayListener, sessions ...*ir.Session) *ir.AttachedRule {
	return &ir.AttachedRule{Rule: rule, Listener: l, Hostnames: []string{"*"}, Sessions: &ir.RuleSessions{All: sessions}}
}

// emitted is what Emit gave, to be looked at.
type emitted struct {
	*Output
	documents []map[string]any
	warnings  []string // PATH: MESSAGE
}

// emit writes a plan with a module of some URL.
func emit(t *testing.T, plan *ir.Plan, o Options) emitted {
	t.Helper()
	o.WasmURL = "oci://example.com/limpet:1"
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	rep := &report.Report{}
	out, err := Emit(plan, plugin.Global{}, o, rep)
	if err != nil {
		t.Fatal(err)
	}
	all := emitted{Output: out}
	for text := range strings.SplitSeq(string(out.YAML), "---\n") {
		d := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if len(d) > 0 {
			all.documents = append(all.documents, d)
		}
	}
	for _, w := range rep.Problems() {
		all.warnings = append(all.warnings, strings.TrimPrefix(w.Path+": "+w.Message, ": "))
	}
	return all
}

// names lists the documents as KIND NAMESPACE/NAME.
func (e emitted) names() []string {
	var all []string
	for _, d := range e.documents {
		meta := d["metadata"].(map[string]any)
		all = append(all, fmt.Sprintf("%s %s/%s", d["kind"], meta["namespace"], meta["name"]))
	}
	return all
}

// spec is that of the first document of a kind, as JSON.
func (e emitted) spec(t *testing.T, kind string) string {
	t.Helper()
	i := slices.IndexFunc(e.documents, func(d map[string]any) bool { return d["kind"] == kind })
	if i < 0 {
		t.Fatalf("there is no %s in %s", kind, e.YAML)
	}
	text, err := json.Marshal(e.documents[i]["spec"])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkWarnings compares warnings with the beginnings that are wanted, in order.
func (e emitted) checkWarnings(t *testing.T, want ...string) {
	t.Helper()
	if !slices.EqualFunc(e.warnings, want, strings.HasPrefix) {
		t.Errorf("got the warnings %q, want %q", e.warnings, want)
	}
}
