package loadbalancing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// policyYAML is a LoadBalancerPolicy in the namespace shop. Its metadata begins with its name.
func policyYAML(metadata, targets, spec string) string {
	return "apiVersion: limpet.dev/v1alpha1\nkind: LoadBalancerPolicy\nmetadata: {namespace: shop, name: " + metadata + "}\nspec: {targetRefs: [" + targets + "], " + spec + "}"
}

const (
	world = `
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{name: http, port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: shop}, spec: {rules: [{name: pay}, {}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: p, namespace: shop}, spec: {virtualhost: {fqdn: a.org}, routes: [
  {services: [{name: cart, port: 80}]}, {services: [{name: cart, port: 80}], loadBalancerPolicy: {strategy: Random}}]}}`

	onService = `{group: "", kind: Service, name: cart}`
	onPort    = `{group: "", kind: Service, name: cart, sectionName: http}`
	onRoute   = `{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}`
	onRule    = `{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r, sectionName: pay}`
)

// TestAttachments holds what becomes of a policy at each of its targets.
//
// requirements: S3, S53
func TestAttachments(t *testing.T) {
	const random = "strategy: Random"
	for name, c := range map[string]struct {
		policies []string
		want     string // POLICY TARGET REASON, by policy and target
		warnings []string
	}{
		"none":                       {nil, "", nil},
		"each kind":                  {[]string{policyYAML("a", onService+","+onRoute+","+onRule, random)}, "a Service shop/cart ok; a HTTPRoute shop/r ok; a HTTPRoute shop/r, sectionName pay ok", nil},
		"a target that is not there": {[]string{policyYAML("a", strings.Replace(onService, "cart", "gone", 1), random)}, "a Service shop/gone TargetNotFound", []string{`LoadBalancerPolicy shop/a: spec.targetRefs[0].name: Not found: "gone": there is no Service shop/gone in the input: the policy has no effect there [TargetNotFound]`}},
		"a rule that is not there":   {[]string{policyYAML("a", strings.Replace(onRule, "pay", "none", 1), random)}, "a HTTPRoute shop/r, sectionName none TargetNotFound", []string{`spec.targetRefs[0].sectionName: Not found: "none": HTTPRoute shop/r has no rule named "none": the policy has no effect there [TargetNotFound]`}},
		"a port":                     {[]string{policyYAML("a", onPort, random)}, "a Service shop/cart, sectionName http ok", nil},
		"a port that is not there":   {[]string{policyYAML("a", strings.Replace(onPort, "http", "none", 1), random)}, "a Service shop/cart, sectionName none TargetNotFound", []string{`spec.targetRefs[0].sectionName: Not found: "none": Service shop/cart has no port named "none": the policy has no effect there [TargetNotFound]`}},
		"another namespace":          {[]string{strings.Replace(policyYAML("a", onService, random), "namespace: shop", "namespace: other", 1)}, "a Service other/cart TargetNotFound", []string{"there is no Service other/cart in the input"}},
		"two on one target, by name": {[]string{policyYAML("b", onService, random), policyYAML("a", onService, random)}, "a Service shop/cart ok; b Service shop/cart Conflicted", []string{"LoadBalancerPolicy shop/b: spec.targetRefs[0]: LoadBalancerPolicy shop/a, which goes first, has this target: the policy has no effect on it [Conflicted]"}},
		"two on one target, by age":  {[]string{policyYAML(`b, creationTimestamp: "2026-01-01T00:00:00Z"`, onService, random), policyYAML("a", onService+","+onRoute, random)}, "b Service shop/cart ok; a Service shop/cart Conflicted; a HTTPRoute shop/r ok", []string{"LoadBalancerPolicy shop/a: spec.targetRefs[0]: LoadBalancerPolicy shop/b, which goes first"}},
		"three on one target":        {[]string{policyYAML("a", onRule, random), policyYAML("b", onRule, random), policyYAML("c", onRule, random)}, "a HTTPRoute shop/r, sectionName pay ok; b HTTPRoute shop/r, sectionName pay Conflicted; c HTTPRoute shop/r, sectionName pay Conflicted", []string{"LoadBalancerPolicy shop/a, which goes first", "LoadBalancerPolicy shop/a, which goes first"}},
	} {
		t.Run(name, func(t *testing.T) {
			rep := &report.Report{}
			p := New(compilertest.Admit(t, append(c.policies, world)...), rep)
			var got []string
			for _, a := range p.Attachments {
				reason := a.Reason
				if reason == "" {
					reason = "ok"
				}
				if (a.Message == "") != (a.Reason == "") {
					t.Errorf("%s: reason %q and message %q", a.Path, a.Reason, a.Message)
				}
				got = append(got, fmt.Sprintf("%s %s %s", a.Policy.Object.Name, a.Target, reason))
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got %s\nwant %s", text, c.want)
			}
			compilertest.CheckProblems(t, rep.Warnings(), c.warnings...)
		})
	}
}

// TestCandidates holds which policies there are for a rule's use of a Service, and which of them holds: the first that has
// neither lost its target nor run out of room.
//
// requirements: S53, S63
func TestCandidates(t *testing.T) {
	of := func(name, target string) string { return policyYAML(name, target, "strategy: Random") }
	full := object.Ref{Kind: object.KindLoadBalancer, Namespace: "shop", Name: "full"}
	for name, c := range map[string]struct {
		policies []string
		rule     int
		proxy    bool
		want     string // NAME LOCATION, with - for those without effect
		holds    string
	}{
		"none":                                {nil, 0, false, "", ""},
		"from the rule to the Service":        {[]string{of("a", onService), of("b", onRoute), of("c", onRule)}, 0, false, "c on the rule; b on the route; a on the Service", "c"},
		"a port before its Service":           {[]string{of("a", onService), of("b", onPort)}, 0, false, "b on the Service's port; a on the Service", "b"},
		"a rule without a name":               {[]string{of("a", onService), of("b", onRoute), of("c", onRule)}, 1, false, "b on the route; a on the Service", "b"},
		"a policy that has lost":              {[]string{of("a", onRule), of("b", onRule)}, 0, false, "a on the rule; -b on the rule", "a"},
		"a policy without room":               {[]string{of("full", onRule), of("b", onService)}, 0, false, "-full on the rule; b on the Service", "b"},
		"without room, and the next has lost": {[]string{of("full", onRule), of("g", onRule)}, 0, false, "-full on the rule; -g on the rule", ""},
		"inline in an HTTPProxy":              {[]string{of("a", onService)}, 1, true, "p inline in the route; a on the Service", "p"},
		"another route of it":                 {[]string{of("a", onService)}, 0, true, "a on the Service", "a"},
		"inline, and no other policy":         {nil, 1, true, "p inline in the route", "p"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := compilertest.Admit(t, append(c.policies, world)...)
			route := objects.Routes[0]
			if c.proxy {
				route = objects.HostRoutes[0]
			}
			service := objects.Services[0].Ref()
			all := New(objects, &report.Report{}).Candidates(route, c.rule, object.TargetRef{Ref: service, Section: "http"}, func(r object.Ref) bool { return r == full })
			var got []string
			for _, one := range all {
				mark := ""
				if one.Overridden || one.AncestorLimit {
					mark = "-"
				}
				got = append(got, mark+one.Object.Name+" "+one.Location)
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got %s\nwant %s", text, c.want)
			}
			holds := ""
			outcomes, _ := Rule{Candidates: [][]Candidate{all}}.Resolve(&report.Report{})
			if p := outcomes[0].Policy; p != nil {
				holds = p.Object.Name
			}
			if holds != c.holds {
				t.Errorf("%q holds, want %q", holds, c.holds)
			}
		})
	}
}

// TestOutcomesInWords holds what people read of an outcome: the strategy, where it is written, what is hashed and why a
// policy does not hold as it stands.
func TestOutcomesInWords(t *testing.T) {
	const hash = "strategy: RequestHash, requestHashPolicies: "
	for name, c := range map[string]struct {
		spec     string
		rule     Rule
		strategy string
		path     string
		hashes   string
		note     string
	}{
		"a strategy":             {"strategy: WeightedLeastRequest", Rule{}, "WeightedLeastRequest", "spec.strategy", "", ""},
		"Contour's cookie":       {"strategy: Cookie", Rule{}, "Cookie", "spec.strategy", "cookie X-Contour-Session-Affinity, made up for the browser session with the path / (spec.strategy)", ""},
		"attributes":             {hash + "[{headerHashOptions: {headerName: X-A}, terminal: true}, {queryParameterHashOptions: {parameterName: q}}, {hashSourceIP: true}]", Rule{}, "RequestHash", "spec.strategy", "header x-a, terminal (spec.requestHashPolicies[0]); query parameter q (spec.requestHashPolicies[1]); source IP (spec.requestHashPolicies[2])", ""},
		"a cookie for an hour":   {hash + "[{cookieHashOptions: {cookieName: c, ttl: 1h}}]", Rule{}, "RequestHash", "spec.strategy", "cookie c, made up for 1h0m0s with the path / (spec.requestHashPolicies[0])", ""},
		"a cookie that is there": {hash + "[{cookieHashOptions: {cookieName: c}}]", Rule{}, "RequestHash", "spec.strategy", "cookie c (spec.requestHashPolicies[0])", ""},
		"the session's cookie":   {hash + "[{cookieHashOptions: {cookieName: c}}, {hashSourceIP: true}]", Rule{SessionCookies: []string{"c"}}, "RequestHash", "spec.strategy", "source IP (spec.requestHashPolicies[1])", "the cookie c has a session in it, and is not hashed"},
		"nothing but it":         {hash + "[{cookieHashOptions: {cookieName: c}}]", Rule{SessionCookies: []string{"c"}}, "RoundRobin", "spec.strategy", "", "the cookie c has a session in it, and is not hashed: no entry is left"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := compilertest.Admit(t, policyYAML("a", onService, c.spec), world)
			candidates := New(objects, &report.Report{}).Candidates(objects.Routes[0], 1, object.TargetRef{Ref: objects.Services[0].Ref()}, func(object.Ref) bool { return false })
			c.rule.Candidates = [][]Candidate{candidates}
			outcomes, _ := c.rule.Resolve(&report.Report{})
			o := outcomes[0]
			var hashes []string
			for _, h := range o.Hashes {
				hashes = append(hashes, h.String()+" ("+h.Path+")")
			}
			if o.StrategyName() != c.strategy || o.Policy.StrategyPath() != c.path || strings.Join(hashes, "; ") != c.hashes || o.Note != c.note {
				t.Errorf("got %s at %s, hashing %q, note %q", o.StrategyName(), o.Policy.StrategyPath(), hashes, o.Note)
			}
		})
	}
	if got := (&Outcome{}).StrategyName(); got != "RoundRobin" {
		t.Errorf("without a policy it is %s", got)
	}
}
