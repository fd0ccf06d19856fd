package istio

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

func planOf(rules ...*ir.AttachedRule) *ir.Plan { return &ir.Plan{Rules: rules, Compare: object.ByAge} }

// Each set of proxies has its resources: those of a Gateway of Gateway API in its namespace, those of Istio's own by their
// pods' labels in the root namespace, once for Gateways that select the same pods.
func TestProxiesHaveResourcesOfTheirOwn(t *testing.T) {
	web, edge, edge2 := newListener(object.KindGateway, "web"), newListener(object.KindIstioGateway, "edge"), newListener(object.KindIstioGateway, "edge2")
	edge.Gateway.Selector = map[string]string{"istio": "ingress", "app": "edge"}
	edge2.Gateway.Selector = map[string]string{"app": "edge", "istio": "ingress"}
	session := func() *ir.Session { return newSession(newPolicy("shop/a/rule/0", "/", 0)) }
	http := newRule(object.KindHTTPRoute, "a", []*ir.Backend{newService("a")}, "")
	virtual := newRule(object.KindVirtualService, "b", []*ir.Backend{newService("b")}, "one")
	first, second := attach(virtual, edge, session()), attach(virtual, edge2)
	second.Sessions = first.Sessions
	out := emit(t, planOf(attach(http, web, session()), first, second), Options{})
	out.checkWarnings(t)
	want := []string{
		"WasmPlugin shop/limpet-web", "EnvoyFilter shop/limpet-web",
		"WasmPlugin istio-system/limpet-shop-edge", "EnvoyFilter istio-system/limpet-shop-edge",
	}
	if got := out.names(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if spec := out.spec(t, "EnvoyFilter"); !strings.Contains(spec, `"targetRefs":[{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"web"}]`) {
		t.Errorf("no reference to the Gateway: %s", spec)
	}
}

func TestProxiesThatCannotBeChosen(t *testing.T) {
	waypoint, bare := newListener(object.KindGateway, "way"), newListener(object.KindIstioGateway, "bare")
	waypoint.Gateway.Class = "istio-waypoint"
	rule := newRule(object.KindHTTPRoute, "a", []*ir.Backend{newService("a")}, "")
	session := newSession(newPolicy("shop/a/rule/0", "/", 0))
	out := emit(t, planOf(attach(rule, waypoint, session), attach(rule, bare, session)), Options{})
	out.checkWarnings(t, "spec.gatewayClassName: not supported by istio: a waypoint", "spec.selector: not supported by istio: without labels")
	if len(out.documents) != 0 {
		t.Errorf("got %q, want nothing", out.names())
	}
}

// Sessions find routes by their names, so that a rule whose routes have none of their own goes without.
func TestRulesWithoutNamesOfTheirOwn(t *testing.T) {
	web := newListener(object.KindGateway, "web")
	other := &ir.GatewayListener{Gateway: web.Gateway, Name: "admin"}
	session := func() *ir.Session { return newSession(newPolicy("shop/a/rule/0", "/", 0)) }
	backends := []*ir.Backend{newService("a")}
	nameless := newRule(object.KindVirtualService, "a", backends)
	differs := newRule(object.KindHTTPRoute, "c", backends, "")
	delegating := newRule(object.KindVirtualService, "d", nil, "one")
	delegating.Delegates = true
	for want, plan := range map[string]*ir.Plan{
		"spec.rules[0]: not supported by istio: Istio gives its routes no name":                               planOf(attach(nameless, web, session())),
		"spec.rules[0]: not supported by istio: it has different sessions on the listeners http and admin":    planOf(attach(differs, web, session()), attach(differs, other)),
		"spec.rules[0].delegate: not supported by istio: Istio makes up the names of the routes of what it d": planOf(attach(delegating, web, session())),
	} {
		out := emit(t, plan, Options{})
		out.checkWarnings(t, want)
		if len(out.documents) != 0 {
			t.Errorf("%s: got %q, want nothing", want, out.names())
		}
	}
}

// Two teams may give rules one name, and so Istio their routes. Where the backends tell them apart both have their sessions;
// else the older rule keeps its own, and the younger is told.
func TestRulesOfOneName(t *testing.T) {
	web := newListener(object.KindGateway, "web")
	rule := func(route, service string, sessions ...*ir.Session) *ir.AttachedRule {
		r := newRule(object.KindHTTPRoute, route, []*ir.Backend{newService(service)}, "")
		r.Name = "cart"
		return attach(r, web, sessions...)
	}
	session := func(route string, edit func(*policyconfig.Policy)) *ir.Session {
		p := newPolicy("shop/"+route+"/rule/cart", "/", 0)
		edit(&p.Policy)
		return newSession(p)
	}
	moves := func(*policyconfig.Policy) {}
	fails := func(p *policyconfig.Policy) { p.OnHostLost, p.FailStatus = policyconfig.Fail, 503 }
	const lead = `spec.rules[0]: not supported by istio: Istio gives its route the name "cart", which it gives to rule 0 of HTTPRoute shop/`
	for name, c := range map[string]struct {
		rules    []*ir.AttachedRule
		policies []string
		warnings []string
	}{
		"other Services": {
			[]*ir.AttachedRule{rule("a", "one", session("a", moves)), rule("b", "two", session("b", moves))},
			[]string{"shop/a/rule/cart [outbound|8080||one.shop.svc.cluster.local]", "shop/b/rule/cart [outbound|8080||two.shop.svc.cluster.local]"},
			nil,
		},
		"one Service": {
			[]*ir.AttachedRule{rule("b", "one", session("b", moves)), rule("a", "one", session("a", moves))},
			[]string{"shop/a/rule/cart [outbound|8080||one.shop.svc.cluster.local]"},
			[]string{lead + "a too, on the same proxies, and sessions find routes by their names and backends; that rule is older"},
		},
		"one Service, the younger without sessions": {
			[]*ir.AttachedRule{rule("a", "one", session("a", moves)), rule("b", "one")},
			[]string{"shop/a/rule/cart [outbound|8080||one.shop.svc.cluster.local]"},
			[]string{lead + "a too"},
		},
		"one Service, the older without sessions": {
			[]*ir.AttachedRule{rule("a", "one"), rule("b", "one", session("b", moves))}, nil, []string{lead + "a too"},
		},
		"strict": {
			[]*ir.AttachedRule{rule("a", "one", session("a", fails)), rule("b", "two", session("b", moves))},
			[]string{"shop/b/rule/cart [outbound|8080||two.shop.svc.cluster.local]"},
			[]string{lead + "b too, on the same proxies, and sessions find routes by their names: with onHostLost: Fail it needs"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := emit(t, planOf(c.rules...), Options{})
			out.checkWarnings(t, c.warnings...)
			var got []string
			for _, p := range out.Plugin.Policies {
				got = append(got, fmt.Sprintf("%s %v", p.Name, p.Clusters))
			}
			if !slices.Equal(got, c.policies) {
				t.Errorf("got %q, want %q", got, c.policies)
			}
		})
	}
}

// The routes with sessions turn the session filter on, and only those that fail with their host are strict.
func TestEnvoyFilterTurnsSessionsOn(t *testing.T) {
	web := newListener(object.KindGateway, "web")
	rule := newRule(object.KindHTTPRoute, "a", []*ir.Backend{newService("a")}, "", "")
	policy := newPolicy("shop/a/rule/0", "/", 0, 1)
	moves := emit(t, planOf(attach(rule, web, newSession(policy))), Options{}).spec(t, "EnvoyFilter")
	if n := strings.Count(moves, `"route":{"name":"shop.a.0"}`); n != 1 {
		t.Errorf("%d patches for the route that both matches share: %s", n, moves)
	}
	for _, want := range []string{`"service":"a.shop.svc.cluster.local"`, `"INSERT_FIRST"`, `"INSERT_BEFORE"`, `"DRAINING"`} {
		if !strings.Contains(moves, want) {
			t.Errorf("no %s in %s", want, moves)
		}
	}
	if strings.Contains(moves, "strict") {
		t.Errorf("a session that may move is strict: %s", moves)
	}
	policy.OnHostLost, policy.FailStatus, rule.Retries = "Fail", 404, true
	out := emit(t, planOf(attach(rule, web, newSession(policy))), Options{})
	if stays := out.spec(t, "EnvoyFilter"); !strings.Contains(stays, `"strict":true`) || !strings.Contains(stays, `"status_on_strict_destination_not_found":404`) {
		t.Errorf("a session that fails with its host is not strict: %s", stays)
	}
	out.checkWarnings(t, "spec.rules[0].retry: not supported by istio: a retry would move the sessions")
}

func TestServicesOfSessionsHaveLabels(t *testing.T) {
	web := newListener(object.KindGateway, "web")
	there, away := newObject(object.KindService, "there", `"spec": {"ports": [{"port": 8080}]}`), newService("away")
	entry := newObject("ServiceEntry", "entry", `"spec": {}`)
	host := &ir.Backend{Ref: object.Ref{Kind: "Hostname", Name: "api.example.com"}, Port: 443, Tag: 1}
	rule := newRule(object.KindHTTPRoute, "a", []*ir.Backend{newService("there"), away, host}, "")
	plan := planOf(attach(rule, web, newSession(newPolicy("shop/a/rule/0", "/", 0))))
	plan.Objects = map[string][]*ir.Object{object.KindService: {&there}}
	plan.Hosts = map[string]*ir.Object{"api.example.com": &entry}
	emit(t, plan, Options{}).checkWarnings(t, "metadata.labels: without the label istio.io/persistent-session, whatever its value, Istio takes hosts")

	native := emit(t, plan, Options{NativePin: true})
	native.checkWarnings(t, "away.shop.svc.cluster.local is not in the input", "metadata.labels: Istio pins only with the label")
	if names := native.names(); names[len(names)-1] != "Service shop/there" || !strings.Contains(native.spec(t, "Service"), `"protocol":"TCP"`) {
		t.Errorf("got %q, want the Service with its label at the end: %s", names, native.YAML)
	}
	if !strings.Contains(string(native.YAML), "istio.io/persistent-session-header: x-limpet-pin") {
		t.Errorf("the label is not there: %s", native.YAML)
	}
}

func TestUnsupportedObjectsAreReported(t *testing.T) {
	objects := map[string][]*ir.Object{}
	for kind, fields := range map[string]string{
		object.KindXBackend: `"spec": {}`, object.KindLoadBalancer: `"spec": {}`,
		object.KindTrafficPolicy: `"spec": {"retryConstraint": {"budget": {"percent": 20}}}`,
	} {
		o := newObject(kind, "x", fields)
		objects[kind] = append(objects[kind], &o)
	}
	sessions := newObject(object.KindTrafficPolicy, "sessions", `"spec": {"sessionPersistence": {}, "retryConstraint": null}`)
	objects[object.KindTrafficPolicy] = append(objects[object.KindTrafficPolicy], &sessions)
	proxy := newObject("HTTPProxy", "x", `"spec": {}`)
	emit(t, &ir.Plan{Objects: objects, HostRoutes: []*ir.Object{&proxy}}, Options{}).checkWarnings(t,
		"not supported by istio: Istio does not know HTTPProxy", "spec: not supported by istio: what spreads", "not supported by istio: Istio knows no XBackend",
		"spec.retryConstraint: not supported by istio: what caps retries")
}

// Names of resources are made of two names, and may be the same for two Gateways: the older one's are written, and not written over.
func TestResourcesOfOneName(t *testing.T) {
	older, younger := newListener(object.KindIstioGateway, "edge-one"), newListener(object.KindIstioGateway, "one")
	platform := newListener(object.KindGateway, "shop-edge-one")
	older.Gateway.Selector, younger.Gateway.Selector = map[string]string{"app": "edge"}, map[string]string{"app": "other"}
	for i, l := range []*ir.GatewayListener{older, younger, platform} {
		g := l.Gateway
		g.Namespace = []string{"shop", "shop-edge", "istio-system"}[i]
		g.Origin = object.Origin{Ref: g.Ref, Created: time.Unix(int64(i+1), 0)}
		g.Subject = subject(g.Ref)
	}
	var rules []*ir.AttachedRule
	for i, l := range []*ir.GatewayListener{platform, younger, older} {
		name := fmt.Sprintf("r%d", i)
		session := newSession(newPolicy("shop/"+name+"/rule/0", "/", 0))
		rules = append(rules, attach(newRule(object.KindVirtualService, name, []*ir.Backend{newService(name)}, name), l, session))
	}
	plan := planOf(rules...)
	out := emit(t, plan, Options{})
	const why = "spec.rules[0]: not supported by istio: limpet's objects for Istio Gateway shop/edge-one, which goes first, are called istio-system/" +
		"limpet-shop-edge-one too"
	out.checkWarnings(t, why, why)
	want := []string{"WasmPlugin istio-system/limpet-shop-edge-one", "EnvoyFilter istio-system/limpet-shop-edge-one"}
	if got := out.names(); !slices.Equal(got, want) || !strings.Contains(out.spec(t, "WasmPlugin"), `"app":"edge"`) || len(plan.Withheld) != 2 {
		t.Errorf("got %q for %s, and %v withheld", got, out.spec(t, "WasmPlugin"), plan.Withheld)
	}
}
