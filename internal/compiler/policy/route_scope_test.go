package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// TestRouteScope shows for each rule of a route whose policy says scope: Route the scope, the cookie and its path, and why a rule
// keeps sessions of its own.
//
// requirements: 2B.O5, S22, S23
func TestRouteScope(t *testing.T) {
	const (
		onRouteP = "scope: Route"
		c        = `{apiVersion: v1, kind: Service, metadata: {name: c}, spec: {ports: [{port: 80}]}}`
	)
	named := func(rule, name string) string { return "{name: " + name + ", " + strings.TrimPrefix(rule, "{") }
	perBackend := Options{Release: sessionapi.Release17}
	for name, test := range map[string]struct {
		options Options
		policy  string
		more    []string
		rules   []string
		want    []string
	}{
		"rules to one Service, whose paths have their beginning in common": {
			rules: []string{plainRule("/app/pages", "a"), plainRule("/app/socket", "a")},
			want:  []string{"ROUTE limpet-87d8e45f130d /app", "ROUTE limpet-87d8e45f130d /app"},
		},
		"a session goes before the weights, so the document's two rules share": {
			rules: []string{plainRule("/a", "a"), plainRule("/b", "a", "b")},
			want:  []string{"ROUTE limpet-87d8e45f130d /", "ROUTE limpet-87d8e45f130d /"},
		},
		"a rule alone has the route's scope, so that another may come": {
			rules: []string{plainRule("/a", "a")}, want: []string{"ROUTE limpet-87d8e45f130d /a"},
		},
		"Rule is what holds anyway": {
			policy: "scope: Rule", rules: []string{named(plainRule("/a", "a"), "one"), named(plainRule("/b", "a"), "two")},
			want: []string{"ROUTE/rule/one limpet-ae993d3024f9 /a", "ROUTE/rule/two limpet-1c0100f04867 /b"},
		},
		"a written path holds": {
			policy: onRouteP + ", cookie: {path: /app}", rules: []string{plainRule("/app/x", "a"), plainRule("/app/y", "a")},
			want: []string{"ROUTE limpet-87d8e45f130d /app", "ROUTE limpet-87d8e45f130d /app"},
		},
		"a name for all": {
			policy: onRouteP + ", sessionName: cart", rules: []string{plainRule("/a", "a"), plainRule("/b", "a")},
			want: []string{"ROUTE cart /", "ROUTE cart /"},
		},
		"no backend in common": {
			rules: []string{plainRule("/a", "a"), named(plainRule("/b", "b"), "own")},
			want: []string{
				"ROUTE limpet-87d8e45f130d /a", "ROUTE/rule/own limpet-97e3b22fe369 /b: it has no backend in common with rule 0",
			},
		},
		"each with a backend that the other lacks": {
			more: []string{c}, rules: []string{plainRule("/a", "a", "b"), named(plainRule("/b", "a", "c"), "own"), plainRule("/c", "a")},
			want: []string{
				"ROUTE limpet-87d8e45f130d /",
				"ROUTE/rule/own limpet-97e3b22fe369 /b: it and rule 0 have each a backend that the other lacks: sessions would go to and fro between these",
				"ROUTE limpet-87d8e45f130d /",
			},
		},
		"a backend that is not there, and may come": {
			rules: []string{plainRule("/a", "a", "gone"), named(plainRule("/b", "a", "b"), "own"), plainRule("/c", "a")},
			want: []string{
				"ROUTE limpet-87d8e45f130d /",
				"ROUTE/rule/own limpet-97e3b22fe369 /b: it and rule 0 have each a backend that the other lacks: sessions would go to and fro between these",
				"ROUTE limpet-87d8e45f130d /",
			},
		},
		"no backend that is there": {
			rules: []string{plainRule("/a", "gone"), named(plainRule("/b", "b"), "own"), plainRule("/c", "gone", "a")},
			want: []string{
				"ROUTE limpet-87d8e45f130d /", "ROUTE/rule/own limpet-97e3b22fe369 /b: it has no backend in common with rule 0",
				"ROUTE limpet-87d8e45f130d /",
			},
		},
		"in 1.7 a rule without a backend that is there": {
			options: perBackend, rules: []string{plainRule("/a", "gone"), plainRule("/b", "gone", "a"), plainRule("/c", "gone", "b")},
			want: []string{
				"ROUTE limpet-87d8e45f130d /", "ROUTE/BACKEND/a/80 limpet-49e5c184e249 /", "ROUTE/BACKEND/b/80 limpet-21475e7f4305 /",
			},
		},
		"onHostLost: Fail, and a backend more in the other rule": {
			policy: onRouteP + ", onHostLost: Fail", rules: []string{plainRule("/a", "a"), named(plainRule("/b", "a", "b"), "own")},
			want: []string{
				"ROUTE limpet-87d8e45f130d /a",
				"ROUTE/rule/own limpet-97e3b22fe369 /b: rule 0 lacks a backend of it, and by onHostLost: Fail the sessions there would not move",
			},
		},
		"another name inline": {
			rules: []string{plainRule("/a", "a"), named(ruleWith("/b", "{sessionName: cart}"), "own"), plainRule("/c", "a")},
			want: []string{
				"ROUTE limpet-87d8e45f130d /", "ROUTE/rule/own cart /b: its sessionName is not that of rule 0", "ROUTE limpet-87d8e45f130d /",
			},
		},
		"in 1.7 each backend has a session, of the whole route": {
			options: perBackend, rules: []string{plainRule("/a", "a"), plainRule("/b", "a", "b")},
			want: []string{
				"ROUTE/BACKEND/a/80 limpet-49e5c184e249 /", "ROUTE/BACKEND/a/80 limpet-49e5c184e249 /", "ROUTE/BACKEND/b/80 limpet-21475e7f4305 /",
			},
		},
		"in 1.7 a written name has the backend's digest, also where a rule has one backend": {
			options: perBackend, policy: onRouteP + ", sessionName: cart", rules: []string{plainRule("/a", "a"), plainRule("/b", "a", "b")},
			want: []string{
				"ROUTE/BACKEND/a/80 cart-49e5c184e249 /", "ROUTE/BACKEND/a/80 cart-49e5c184e249 /", "ROUTE/BACKEND/b/80 cart-21475e7f4305 /",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			policy := onRouteP
			if test.policy != "" {
				policy = test.policy
			}
			documents := append(test.more, routeOn("one", "r", "", "["+strings.Join(test.rules, ", ")+"]"), policyOn(onRoute, policy))
			expectLines(t, describeScopes(takeSteps(t, test.options, documents...)), test.want...)
		})
	}
}

func describeScopes(s *steps) (lines []string) {
	shorten := strings.NewReplacer("HTTPRoute/default/r", "ROUTE", "backend/Service/default", "BACKEND")
	for _, r := range s.configured {
		for _, session := range r.sessions {
			line := fmt.Sprintf("%s %s %s", shorten.Replace(session.scope), session.assigned.text, session.policies[0].Cookie.Path)
			if r.apart != "" {
				line += ": " + r.apart
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// TestRouteScopeOfFields: whatever rules have to agree in keeps one apart that says otherwise, and nothing else does.
func TestRouteScopeOfFields(t *testing.T) {
	for settings, field := range map[string]string{
		"type: Header": "type", "sessionName: other": "sessionName", "absoluteTimeout: 1h": "absoluteTimeout", "idleTimeout: 1h": "idleTimeout",
		"identity: Address": "identity", "envelope: true, sessionName: app": "sessionName", "cookie: {sameSite: Lax}": "cookie.sameSite",
		"cookie: {path: /}": "cookie.path", "cookie: {domain: example.com}": "cookie.domain", "cookie: {attributes: [Priority=High]}": "cookie.attributes",
		"revocation: {epoch: 1}": "revocation.epoch", "revocation: {sessions: [0123456789abcdef]}": "revocation.sessions",
		"onHostLost: Fail": "", "drainTimeout: 1m": "", "issueOn: TLS": "", "forward: false": "", "endSessionHeader: x-end": "",
	} {
		rule := strings.Replace(onRoute, "name: r", "name: r, sectionName: other", 1)
		s := takeSteps(t, Options{}, policyOn(onRoute, "scope: Route"), secondPolicy(policyOn(rule, settings)), routeOn("one", "r", "",
			"["+plainRule("/a", "a")+", {name: other, "+strings.TrimPrefix(plainRule("/b", "a"), "{")+"]"))
		want := ""
		if field != "" {
			want = "its " + field + " is not that of rule 0"
		}
		if got := s.configured[1].apart; got != want {
			t.Errorf("%s: %q, want %q", settings, got, want)
		}
	}
}

// TestRouteScopeOnBothListeners: a rule that can't share on one listener shares on none.
func TestRouteScopeOnBothListeners(t *testing.T) {
	const service = `{group: "", kind: Service, name: b}`
	s := takeSteps(t, Options{}, policyOn(onRoute, "scope: Route"),
		secondPolicy(policyOn(service, "idleTimeout: 1h")), routeOn("", "r", "", "["+plainRule("/a", "a")+", "+plainRule("/b", "a", "b")+"]"))
	for _, r := range s.configured {
		if shares := r.claims[0].scope == "HTTPRoute/default/r"; shares != (r.rule == 0) {
			t.Errorf("rule %d, listener %s: %s", r.rule, r.listener, r.claims[0].scope)
		}
	}
}

// TestRouteScopeHeld: while limpet watches, a rule that comes before the others ends no session of theirs.
//
// requirements: S22
func TestRouteScopeHeld(t *testing.T) {
	rules := []string{plainRule("/a", "a"), plainRule("/b", "a")}
	take := func(held HeldNames, rules ...string) *steps {
		return takeSteps(t, Options{HeldNames: held}, policyOn(onRoute, "scope: Route"), routeOn("one", "r", "", "["+strings.Join(rules, ", ")+"]"))
	}
	before := take(nil, rules...)
	held := newDecisions(before.attached, nil, before.named, before.decided, before.shared).HeldNames()
	after := take(held, slices.Insert(slices.Clone(rules), 0, plainRule("/new", "b"))...)
	for i, want := range []string{"HTTPRoute/default/r/matches/", "HTTPRoute/default/r", "HTTPRoute/default/r"} {
		if got := after.named[i].claims[0].scope; !strings.HasPrefix(got, want) || i > 0 && got != want {
			t.Errorf("rule %d has the scope %s", i, got)
		}
	}
}
