package compiler

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// ruleOn is an HTTPRoute in addition to statusBase, by its namespace/name, with the rest of its one rule for a path.
func ruleOn(name, path, rest string) string {
	return "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: " + name + ", namespace: shop}\n" +
		"spec: {parentRefs: [{name: web, sectionName: http}], rules: [{matches: [{path: {value: " + path + "}}], backendRefs: [{name: cart, port: 80}], " + rest + "}]}\n"
}

// anySession is an inline session of the shape up to 1.6 with nothing written.
const anySession = "sessionPersistence: {}"

// itemCases are requirements that a compilation shows in a line or two: documents in addition to statusBase, options, and
// what must stand in the outputs, or not.
var itemCases = map[string]struct {
	documents string
	check     func(t *testing.T, out string, policies []policyconfig.Policy)
}{
	"2A.2 2A.6 a session composes with the balancing of what has none, and is presented whatever the backend does": {
		ruleOn("a", "/a", anySession) + loadBalancerText("shop/hash", onService, "strategy: RequestHash, requestHashPolicies: [{hashSourceIP: true}]"),
		wantTexts("lb_policy: MAGLEV", "source_ip: true", "name: limpet\n"),
	},
	"2A.7 a rule without a policy passes everything on: neither filter is on": {
		"", func(t *testing.T, out string, policies []policyconfig.Policy) {
			if len(policies) != 0 || strings.Contains(out, "typed_per_filter_config") {
				t.Errorf("%d policies:\n%s", len(policies), out)
			}
		},
	},
	"2A.11 the endpoint is chosen by the proxy, whatever the backend speaks": {
		strings.Replace(ruleOn("a", "/a", anySession), "name: cart, port: 80", "name: h2, port: 80", 1) + http2Service,
		wantTexts("http2_protocol_options: {}", "envoy.filters.http.stateful_session"),
	},
	"2A.16 2A.23 S46 attributes that no document writes are secure ones": {
		ruleOn("a", "/a", anySession), func(t *testing.T, _ string, policies []policyconfig.Policy) {
			if c := policies[0].Cookie; !c.Secure || !c.HTTPOnly || c.SameSite != policyconfig.SameSiteStrict || c.Domain != "" {
				t.Errorf("%+v", c)
			}
		},
	},
	"2A.17 2B.O9 S25 names that no document writes are unique": {
		ruleOn("a", "/a", anySession) + ruleOn("b", "/b", anySession) + ruleOn("c", "/c", "sessionPersistence: {type: Header}"),
		func(t *testing.T, _ string, policies []policyconfig.Policy) {
			var names []string
			for _, p := range policies {
				names = append(names, p.SessionName)
			}
			slices.Sort(names)
			generated := regexp.MustCompile(`^(limpet|x-limpet-session)-[0-9a-f]{12}$`)
			if len(slices.Compact(names)) != 3 || slices.ContainsFunc(names, func(n string) bool { return !generated.MatchString(n) }) {
				t.Errorf("%v", names)
			}
		},
	},
	"2A.24 2A.25 the token is forwarded": {
		ruleOn("a", "/a", anySession), func(t *testing.T, _ string, policies []policyconfig.Policy) {
			if !policies[0].Forward {
				t.Error("not forwarded")
			}
		},
	},
	"2A.28 2B.O10 a request whose host is lost is tried on another, of those not tried yet": {
		ruleOn("a", "/a", anySession), wantTexts("envoy.retry_host_predicates.previous_hosts", "retry_on: connect-failure,refused-stream,reset-before-request"),
	},
}

const http2Service = `---
apiVersion: v1
kind: Service
metadata: {name: h2, namespace: shop}
spec: {ports: [{port: 80, appProtocol: kubernetes.io/h2c}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: h2, namespace: shop, labels: {kubernetes.io/service-name: h2}}
addressType: IPv4
ports: [{port: 9000}]
endpoints: [{addresses: [10.0.0.7]}]
`

// wantTexts are texts that the outputs must have.
func wantTexts(texts ...string) func(*testing.T, string, []policyconfig.Policy) {
	return func(t *testing.T, out string, _ []policyconfig.Policy) {
		t.Helper()
		for _, text := range texts {
			if !strings.Contains(out, text) {
				t.Errorf("no %q in\n%s", text, out)
			}
		}
	}
}

func TestItemCases(t *testing.T) {
	for name, c := range itemCases {
		t.Run(name, func(t *testing.T) {
			result := compileExample(t, statusBase+c.documents)
			c.check(t, string(result.Main()), result.Plugin.Policies)
		})
	}
}

// TestItemsThatChangeNothing compiles documents twice, with a difference that must not matter to some of the output.
func TestItemsThatChangeNothing(t *testing.T) {
	route := ruleOn("a", "/a", anySession)
	for name, c := range map[string]struct {
		before, after string
		part          *regexp.Regexp // what must be the same; it must be there
	}{
		"2A.13 S30 no session changes which rule a request matches": {
			ruleOn("a", "/a", ""), route, regexp.MustCompile(`(?m)^ *(- )?match:\n( {18,}\S.*\n)+`),
		},
		"2A.1 2A.29 a session's name and scope outlast changes of the Service's endpoints": {
			route, route + moreEndpoints, regexp.MustCompile(`"(scope|sessionName)":"[^"]*"`),
		},
		"2A.4 what voids the sessions of an address that belongs to another pod by now is in no name": {
			route, route + sessionPolicyText("shop/p", `{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a}`, "revocation: {epoch: 2}"), regexp.MustCompile(`"(scope|sessionName)":"[^"]*"`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.part.FindAllString(string(compileExample(t, statusBase+c.before).Main()), -1)
			after := c.part.FindAllString(string(compileExample(t, statusBase+c.after).Main()), -1)
			if len(before) == 0 || !slices.Equal(before, after) {
				t.Errorf("%q became %q", before, after)
			}
		})
	}
}

const moreEndpoints = `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-2, namespace: shop, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.0.0.2]}]
`
