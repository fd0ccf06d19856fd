package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// describePolicies gives a line for each policy of a rule's sessions: its name, the cookie's path, and the matches and routes
// that it is for.
func describePolicies(r *configuredRule) (lines []string) {
	for _, s := range r.sessions {
		for i, p := range s.policies {
			path := "-"
			if p.Cookie != nil {
				path = p.Cookie.Path
			}
			lines = append(lines, fmt.Sprintf("%s %s %v %s", p.Name, path, s.matches[i], strings.Join(p.Routes, " ")))
		}
	}
	return lines
}

// TestPolicies shows the policies that the sessions of one rule become.
func TestPolicies(t *testing.T) {
	const serviceA, services = "{name: a, port: 80}", "{name: a, port: 80}, {name: b, port: 80}"
	for name, c := range map[string]struct {
		rule, settings string
		release        sessionapi.APIRelease
		want           []string
	}{
		"one match": {
			rule: ruleMatching(serviceA, "/shop"), settings: "sessionName: cart",
			want: []string{"default/r/rule/0 /shop [0] httproute/default/r/rule/0"},
		},
		"no match is one of everything": {
			rule: ruleMatching(serviceA), settings: "sessionName: cart",
			want: []string{"default/r/rule/0 / [0] httproute/default/r/rule/0"},
		},
		"matches of one path share a policy and a route's name": {
			rule: ruleMatching(serviceA, "/shop", "/shop/"), settings: "sessionName: cart",
			want: []string{"default/r/rule/0 /shop [0 1] httproute/default/r/rule/0"},
		},
		"a path for each match": {
			rule: ruleMatching(serviceA, "/shop", "/cart", "/shop"), settings: "sessionName: cart",
			want: []string{
				"default/r/rule/0/match/0 /shop [0 2] httproute/default/r/rule/0/match/0 httproute/default/r/rule/0/match/2",
				"default/r/rule/0/match/1 /cart [1] httproute/default/r/rule/0/match/1",
			},
		},
		"a written path is that of every match": {
			rule: ruleMatching(serviceA, "/shop", "/cart"), settings: "cookie: {path: /}",
			want: []string{"default/r/rule/0 / [0 1] httproute/default/r/rule/0"},
		},
		"a name with __Host- has the path /": {
			rule: ruleMatching(serviceA, "/shop", "/cart"), settings: "sessionName: __Host-cart, cookie: {secure: true}",
			want: []string{"default/r/rule/0 / [0 1] httproute/default/r/rule/0"},
		},
		"headers have no path": {
			rule: ruleMatching(serviceA, "/shop", "/cart"), settings: "type: Header",
			want: []string{"default/r/rule/0 - [0 1] httproute/default/r/rule/0"},
		},
		"each backend has a policy of its own": {
			rule: ruleMatching(services, "/shop"), settings: "sessionName: cart", release: sessionapi.Release17,
			want: []string{
				"default/r/rule/0/backend/Service/default/a/80 / [0] httproute/default/r/rule/0",
				"default/r/rule/0/backend/Service/default/b/80 / [0] httproute/default/r/rule/0",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			route := routeOn("one", "r", "", "["+c.rule+"]")
			s := takeSteps(t, Options{Release: c.release}, policyOn(onRoute, c.settings), route)
			expectLines(t, describePolicies(s.configured[0]), c.want...)
			for _, session := range s.decided[0].Sessions {
				if len(session.Matches) != len(session.Policies) {
					t.Errorf("%d policies and matches for %d", len(session.Policies), len(session.Matches))
				}
			}
		})
	}
}

// ruleMatching is a rule for several paths.
func ruleMatching(refs string, paths ...string) string {
	var all []string
	for _, p := range paths {
		all = append(all, fmt.Sprintf(`{path: {type: PathPrefix, value: "%s"}}`, p))
	}
	return fmt.Sprintf(`{matches: [%s], backendRefs: [%s]}`, strings.Join(all, ", "), refs)
}

// TestRefusals shows the field that a refusal names, for what the filter's configuration would refuse and for what stands in
// the way of any session.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		options         Options
		policy, service string
		rule            string
		want            []string
	}{
		"a name that no cookie can have": {
			rule: ruleWith("/", `{sessionName: "c@rt"}`), want: []string{"spec.rules[0].sessionPersistence.sessionName"},
		},
		"a path that no cookie can have, of a match": {
			rule: ruleWith("/"+strings.Repeat("p", policyconfig.MaxCookiePath), "{}"), want: []string{"spec.rules[0].matches[0].path.value"},
		},
		"timeouts that don't fit each other": {
			rule: ruleWith("/", "{absoluteTimeout: 1h, idleTimeout: 2h}"), want: []string{"spec.rules[0].sessionPersistence.idleTimeout"},
		},
		"a Service with sessions of its own": {
			service: `{apiVersion: v1, kind: Service, metadata: {name: own}, spec: {sessionAffinity: ClientIP, ports: [{port: 80}]}}`,
			policy:  policyOn(onRoute, ""), rule: plainRule("/", "own"), want: []string{"spec.rules[0]"},
		},
		"a policy on a part of a split, where that is refused": {
			options: Options{RejectPartial: true}, policy: policyOn(`{group: "", kind: Service, name: a}`, ""),
			rule: plainRule("/", "a", "b"), want: []string{"spec.rules[0].backendRefs"},
		},
		"a policy on all of it": {
			options: Options{RejectPartial: true}, policy: policyOn(onServices, ""), rule: plainRule("/", "a", "b"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			documents := []string{routeOn("one", "r", "", "["+c.rule+"]")}
			for _, more := range []string{c.policy, c.service} {
				if more != "" {
					documents = append(documents, more)
				}
			}
			decided := takeSteps(t, c.options, documents...).decided[0]
			var got []string
			for _, r := range decided.Sessions[0].Refusals {
				got = append(got, r.Path)
			}
			expectLines(t, got, c.want...)
			if decided.Refused != (len(c.want) > 0) {
				t.Errorf("refused: %t", decided.Refused)
			}
		})
	}
}
