package compiler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
)

const endedCommon = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: other}
spec: {ports: [{port: 80}]}
`

// endedRule is a rule for a path with a cookie of its own; name is empty for none.
func endedRule(name, path string, more ...string) string {
	rule := `{matches: [{path: {type: PathPrefix, value: ` + path + `}}], backendRefs: [{name: shop, port: 80}], sessionPersistence: {sessionName: s`
	if len(more) > 0 {
		rule += ", " + strings.Join(more, ", ")
	}
	rule += "}"
	if name != "" {
		rule += ", name: " + name
	}
	return rule + "}"
}

func endedRoute(rules ...string) string {
	return "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart}, spec: {parentRefs: [{name: web}], rules: [" +
		strings.Join(rules, ", ") + "]}}\n"
}

func endedPolicy(spec string) string {
	return "---\n{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: p}, spec: {" +
		"targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}], " + spec + "}}\n"
}

// endedRulePolicy is endedPolicy for the rule pay alone.
func endedRulePolicy(spec string) string {
	return strings.Replace(endedPolicy(spec), "name: cart}", "name: cart, sectionName: pay}", 1)
}

// endedHosts gives a route hostnames.
func endedHosts(route, hosts string) string {
	return strings.Replace(route, "spec: {parentRefs", "spec: {hostnames: ["+hosts+"], parentRefs", 1)
}

// TestMovedCookieWithoutEnd edits what moves no cookie, because it is written.
//
// requirements: S23
func TestMovedCookieWithoutEnd(t *testing.T) {
	fixed := endedPolicy("cookie: {path: /, domain: shop.test}")
	same := endedPolicy("cookie: {path: /, domain: SHOP.test}") // domains have no case
	before := endedHosts(endedRoute(endedRule("pay", "/pay")), "a.shop.test") + fixed
	after := endedHosts(endedRoute(endedRule("pay", "/paid")), "b.shop.test") + same
	if got := findEnded(t, before, after); len(got) > 0 {
		t.Errorf("told: %s", got)
	}
}

// TestSinceNamesEndedSessions edits a route with a rule that has a name and two that have none.
//
// requirements: S22
func TestSinceNamesEndedSessions(t *testing.T) {
	pay, a, b := endedRule("pay", "/pay"), endedRule("", "/a"), endedRule("", "/b")
	before := endedRoute(pay, a, b)
	for name, c := range map[string]struct {
		after string
		want  []string
	}{
		"nothing":                {before, nil},
		"a rule put first":       {endedRoute(endedRule("", "/new"), pay, a, b), nil},
		"rules in another order": {endedRoute(b, a, pay), nil},
		"matches of the named rule": {endedRoute(endedRule("pay", "/paid"), a, b), []string{
			`spec.rules[0]: the sessions of a rule end: its cookie had the path "/pay" and has "/paid"`,
		}},
		"a path for the named rule": {before + endedRulePolicy("cookie: {path: /}"), []string{`had the path "/pay" and has "/": clients begin again where the new path is not below the old one`}},
		"a match more":              {endedRoute(strings.Replace(pay, "matches: [", "matches: [{path: {value: /paid}}, ", 1), a, b), nil},
		"another host": {endedHosts(before, "b.test"), []string{
			"its host was a.test and is b.test", "a cookie.domain that both are below keeps sessions", "its host",
		}},
		"a host more":             {endedHosts(before, "a.test, b.test"), nil},
		"a wildcard for the host": {endedHosts(before, "'*.test'"), nil},
		"a rule deleted":          {endedRoute(pay, b), []string{"spec.rules: the sessions of a rule end: no rule without a name has the matches that spec.rules[1] had"}},
		"matches of another rule": {endedRoute(pay, endedRule("", "/aa"), b), []string{"spec.rules: the sessions of a rule end: no rule without a name has the matches that spec.rules[1] had"}},
		"the name changed":        {endedRoute(endedRule("paid", "/pay"), a, b), []string{`no rule is named "pay" any more`}},
		"a name given":            {endedRoute(pay, endedRule("a", "/a"), b), []string{"the matches that spec.rules[1] had"}},
		"the session off":         {endedRoute(pay, strings.Replace(a, ", sessionPersistence: {sessionName: s}", "", 1), b), []string{"spec.rules[1]: the sessions of a rule end: it has no session any more"}},
		"the session's name":      {endedRoute(pay, strings.Replace(a, "sessionName: s", "sessionName: ss", 1), b), []string{"spec.rules[1]: the sessions of a rule end: its session was named s and is named ss"}},
		"another type":            {endedRoute(pay, endedRule("", "/a", "type: Header"), b), []string{"its type was Cookie and is Header"}},
		"a timeout":               {endedRoute(pay, endedRule("", "/a", "absoluteTimeout: 1h"), b), []string{"its absoluteTimeout was none and is 1h, and those that began longer ago"}},
		"a new epoch":             {before + endedPolicy("revocation: {epoch: 3}"), []string{"its epoch was 0 and is 3", "its epoch was 0 and is 3", "its epoch was 0 and is 3"}},
		"a date": {before + endedPolicy(`revocation: {notBefore: "2026-11-22T00:00:00Z"}`), []string{
			"those that began before 2026-11-22T00:00:00Z are revoked", "2026-11-22T00:00:00Z are revoked", "2026-11-22T00:00:00Z are revoked",
		}},
		"a domain":       {before + endedPolicy("cookie: {domain: shop.example}"), []string{`had the domain "" and has "shop.example"`, "shop.example", "shop.example"}},
		"the route gone": {"", []string{"the route is gone"}},
		"sessions of the route": {before + endedPolicy("scope: Route"), []string{
			"its sessions belonged to HTTPRoute/default/cart/rule/pay and", "belong to HTTPRoute/default/cart (spec.scope", "HTTPRoute/default/cart/matches/",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			from := before
			if strings.Contains(c.after, "hostnames") {
				from = endedHosts(before, "a.test")
			}
			checkEnded(t, from, c.after, c.want)
		})
	}
}

// TestSinceOfPolicies edits a policy: shorter timeouts end sessions that longer ones let live, and no envelope is a token.
//
// requirements: S22
func TestSinceOfPolicies(t *testing.T) {
	route := endedRoute(endedRule("pay", "/pay"))
	for name, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"a longer one":             {"absoluteTimeout: 1h, idleTimeout: 10m", "absoluteTimeout: 2h, idleTimeout: 20m", nil},
		"none any more":            {"absoluteTimeout: 1h, idleTimeout: 10m", "sessionName: s", nil},
		"a shorter one":            {"absoluteTimeout: 2h", "absoluteTimeout: 1h", []string{"its absoluteTimeout was 2h and is 1h"}},
		"a shorter idle one":       {"idleTimeout: 20m", "idleTimeout: 10m", []string{"its idleTimeout was 20m and is 10m, and those without a request for longer"}},
		"one in place of none":     {"sessionName: s", "idleTimeout: 10m", []string{"its idleTimeout was none and is 10m"}},
		"the same, in other words": {"absoluteTimeout: 60m", "absoluteTimeout: 1h", nil},
		"an envelope":              {"sessionName: s", "envelope: true", []string{"its envelope was false and is true"}},
		"no envelope":              {"envelope: true", "sessionName: s", []string{"its envelope was true and is false"}},
	} {
		t.Run(name, func(t *testing.T) {
			checkEnded(t, route+endedRulePolicy(c.before), route+endedRulePolicy(c.after), c.want)
		})
	}
}

// TestSinceOfListeners edits policies of two listeners of one route, each with its own: what ends is what has changed at a listener.
//
// requirements: S22
func TestSinceOfListeners(t *testing.T) {
	of := func(listener, spec string) string {
		return "---\n{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: " + listener + "}, spec: {" +
			"targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: two, sectionName: " + listener + "}], " + spec + "}}\n"
	}
	gateway := func(last string) string {
		return "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: two}, spec: {gatewayClassName: limpet, " +
			"listeners: [{name: a, protocol: HTTP, port: 81}, {name: " + last + ", protocol: HTTP, port: 82}]}}\n"
	}
	route := strings.Replace(endedRoute(strings.Replace(endedRule("pay", "/pay"), ", sessionPersistence: {sessionName: s}", "", 1)), "name: web", "name: two", 1)
	a, b := of("a", "sessionName: a"), of("b", "sessionName: b, absoluteTimeout: 1h")
	before := route + gateway("b") + a + b
	for name, c := range map[string]struct {
		after string
		want  []string
	}{
		"nothing":         {before, nil},
		"policies behind": {route + gateway("b") + b + a, nil},
		"a name":          {route + gateway("b") + a + of("b", "sessionName: c, absoluteTimeout: 1h"), []string{"its session was named b and is named c"}},
		"a listener's":    {route + gateway("c") + a + of("c", "sessionName: b, absoluteTimeout: 1h"), nil},
	} {
		t.Run(name, func(t *testing.T) { checkEnded(t, before, c.after, c.want) })
	}
}

// TestSinceOfSharedSessions edits a route whose rules share their sessions.
//
// requirements: S22
func TestSinceOfSharedSessions(t *testing.T) {
	shared := endedPolicy("scope: Route, cookie: {path: /}")
	pay, a := endedRule("pay", "/pay"), endedRule("", "/a")
	before := endedRoute(pay, a) + shared
	for name, c := range map[string]struct {
		after string
		want  []string
	}{
		"a rule more":                    {endedRoute(pay, a, endedRule("", "/new")) + shared, nil},
		"a rule less":                    {endedRoute(pay) + shared, nil},
		"a name given":                   {endedRoute(pay, endedRule("a", "/a")) + shared, nil},
		"other matches":                  {endedRoute(pay, endedRule("", "/aa")) + shared, nil},
		"a rule behind that can't share": {endedRoute(pay, a, strings.Replace(a, "/a", "/new", 1)) + shared, nil},
		"one that leaves": {endedRoute(pay, endedRule("", "/a", "absoluteTimeout: 1h")) + shared, []string{
			"its sessions belonged to HTTPRoute/default/cart and belong to HTTPRoute/default/cart/matches/",
		}},
		"each by itself": {endedRoute(pay, a) + endedPolicy("cookie: {path: /}"), []string{"and belong to HTTPRoute/default/cart/rule/pay", "and belong to HTTPRoute/default/cart/matches/"}},
		"a new epoch":    {endedRoute(pay, a) + endedPolicy("scope: Route, cookie: {path: /}, revocation: {epoch: 3}"), []string{"its epoch was 0 and is 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			checkEnded(t, before, c.after, c.want)
		})
	}
}

// checkEnded compares what a check says of ended sessions: as much as is wanted, each with the text that is.
func checkEnded(t *testing.T, before, after string, want []string) {
	t.Helper()
	got := findEnded(t, before, after)
	if len(got) != len(want) {
		t.Fatalf("got\n\t%s\nwant %d", strings.Join(got, "\n\t"), len(want))
	}
	for i, text := range want {
		if !strings.Contains(got[i], text) {
			t.Errorf("got %s\nwant %s", got[i], text)
		}
	}
}

// TestSinceOfAServicesCookie moves a cookie from where its Service's policy has it, without a Path, to that of the route's matches.
//
// requirements: S23
func TestSinceOfAServicesCookie(t *testing.T) {
	route := strings.Replace(endedRoute(endedRule("pay", "/pay")), ", sessionPersistence: {sessionName: s}", "", 1)
	ofRoute := endedPolicy("sessionName: s")
	ofService := strings.Replace(ofRoute, "{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}", "{kind: Service, name: shop}", 1)
	for want, c := range map[string][2]string{
		`its cookie had the path "" and has "/pay"`: {ofService, ofRoute}, `its cookie had the path "/pay" and has ""`: {ofRoute, ofService},
	} {
		if got := findEnded(t, route+c[0], route+c[1]); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("got %q, want %s", got, want)
		}
	}
}

// findEnded gives what a check says of ended sessions.
func findEnded(t *testing.T, before, after string) (ended []string) {
	t.Helper()
	source := func(route string) []compiler.Source {
		return []compiler.Source{{Name: "in.yaml", Data: []byte(endedCommon + route)}}
	}
	checked, err := compiler.Check(source(after), compiler.Options{Since: source(before)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range checked.Rows {
		if strings.Contains(r.Message, "the sessions of a rule end") {
			if r.Verdict != "Warning" || !strings.HasPrefix(r.Object, "HTTPRoute default/cart") {
				t.Errorf("%s is %s about %s", r.Message, r.Verdict, r.Object)
			}
			ended = append(ended, r.Path+": "+r.Message)
		}
	}
	slices.Sort(ended)
	checkFollowedEnd(t, source(before), source(after), ended)
	return ended
}

func newEndedFollower(t *testing.T) *compiler.Follower {
	t.Helper()
	f, err := compiler.NewFollower(compiler.Options{
		Envoy: &compiler.EnvoyOptions{ModulePath: "/limpet.wasm", Admin: compiler.NoAdmin, Served: &compiler.Served{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// checkFollowedEnd has a follower take an edit, and wants it to tell of the sessions that a check says end: of a route that is there still.
func checkFollowedEnd(t *testing.T, before, after []compiler.Source, want []string) {
	t.Helper()
	f := newEndedFollower(t)
	var got []string
	for _, sources := range [][]compiler.Source{before, before, after, after} {
		u, err := f.Replace(sources, compiler.Changes{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range u.Ended {
			got = append(got, e.Why...)
		}
	}
	want = slices.Clone(want)
	for i, text := range want {
		want[i] = strings.Replace(text, "the sessions of a rule end: ", "", 1)
	}
	want = slices.DeleteFunc(want, func(text string) bool { return strings.HasSuffix(text, "the route is gone, or no listener has it") })
	if slices.Sort(got); !slices.Equal(got, slices.Compact(want)) {
		t.Errorf("followed, it tells of\n\t%s\nnot\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestRetiredKeyEndsSessions: a key that is in the ring no more has signed sessions that may go on for longer than it has not signed.
func TestRetiredKeyEndsSessions(t *testing.T) {
	long, short, none := endedRule("long", "/long", "absoluteTimeout: 8h"), endedRule("short", "/short", "absoluteTimeout: 1h"), endedRule("none", "/none")
	plain := strings.Replace(endedRule("plain", "/plain"), ", sessionPersistence: {sessionName: s}", "", 1)
	sources := []compiler.Source{{Name: "in.yaml", Data: []byte(endedCommon + endedRoute(long, short, none, plain))}}
	f := newEndedFollower(t)
	for unused, want := range map[time.Duration]int{-1: 0, 0: 3, 2 * time.Hour: 2, 9 * time.Hour: 1} {
		var keys []compiler.RetiredKey
		if unused >= 0 {
			keys = []compiler.RetiredKey{{ID: "k", Unused: unused}}
		}
		u, err := f.Replace(sources, compiler.Changes{Retired: keys})
		if err != nil {
			t.Fatal(err)
		}
		rules := 0
		for _, e := range u.Ended {
			rules += len(e.Rules)
			if text := `the key "k", with which they may be signed, is in the ring no more`; !slices.Equal(e.Why, []string{text}) {
				t.Errorf("it says %q", e.Why)
			}
		}
		if rules != want {
			t.Errorf("a key that has not signed for %v ends the sessions of %d rules, want %d", unused, rules, want)
		}
	}
}
