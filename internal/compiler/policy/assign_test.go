package policy

import (
	"fmt"
	"strings"
	"testing"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// TestCollisions shows which sessions' cookies are qualified for another's. Route r goes before route s.
func TestCollisions(t *testing.T) {
	const x, other, wildcard = "x.example.com", "other.example.com", `"*.example.com"`
	cart := ruleWith("/", "{sessionName: cart}")
	header, refused := ruleWith("/", "{type: Header, sessionName: cart}"), ruleWith("/", `{sessionName: "c@rt"}`)
	for name, c := range map[string]struct {
		rHost, r, sHost, s string
		domain             bool
		want               []string
	}{
		"one name, host and path":               {rHost: x, r: cart, sHost: x, s: cart, want: []string{"s rule 0"}},
		"names that differ by case are two":     {rHost: x, r: cart, sHost: x, s: ruleWith("/", "{sessionName: Cart}")},
		"other names":                           {rHost: x, r: cart, sHost: x, s: ruleWith("/", "{sessionName: shop}")},
		"other paths":                           {rHost: x, r: cart, sHost: x, s: ruleWith("/shop", "{sessionName: cart}")},
		"other hosts":                           {rHost: x, r: cart, sHost: other, s: cart},
		"a wildcard covers the other's host":    {rHost: wildcard, r: cart, sHost: x, s: cart, want: []string{"s rule 0"}},
		"the younger one's covers the older's":  {rHost: x, r: cart, sHost: wildcard, s: cart, want: []string{"s rule 0"}},
		"other hosts below one Domain":          {rHost: x, r: cart, sHost: other, s: cart, domain: true, want: []string{"s rule 0"}},
		"headers don't collide":                 {rHost: x, r: header, sHost: x, s: header},
		"rules of one route":                    {rHost: x, r: cart + ", " + cart, sHost: other, s: cart, want: []string{"r rule 1"}},
		"a rule that is refused holds no name":  {rHost: x, r: refused, sHost: x, s: refused},
		"each but the first":                    {rHost: x, r: cart + ", " + cart, sHost: x, s: cart, want: []string{"r rule 1", "s rule 0"}},
		"rules without sessions have no cookie": {rHost: x, r: plainRule("/", "a"), sHost: x, s: cart},
	} {
		t.Run(name, func(t *testing.T) {
			documents := []string{routeOn("one", "r", c.rHost, "["+c.r+"]"), routeOn("one", "s", c.sHost, "["+c.s+"]")}
			if c.domain {
				documents = append(documents, policyOn(onGateway, "cookie: {domain: example.com}"))
			}
			s := takeSteps(t, Options{}, documents...)
			var got []string
			for _, r := range s.configured {
				for _, session := range r.sessions {
					if session.assigned.text == session.assigned.shared {
						continue
					}
					got = append(got, fmt.Sprintf("%s rule %d", session.route.Name, session.rule))
					if want := "cart-" + shortHash(session.scope); session.policies[0].SessionName != want {
						t.Errorf("the name is %s, want %s", session.policies[0].SessionName, want)
					}
				}
			}
			expectLines(t, got, c.want...)
		})
	}
}

// xbackend is one with a session, and xbackendRef leads to one.
func xbackend(name string) string {
	return `{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XBackend, metadata: {name: ` + name + `}, spec: {` +
		`type: EndpointSelector, port: {number: 80}, endpointSelector: {matchLabels: {app: x}}, protocol: HTTP, ` +
		`sessionPersistence: {cookie: {name: cart}}}}`
}

func xbackendRef(name string) string {
	return "{group: gateway.networking.x-k8s.io, kind: XBackend, name: " + name + "}"
}

// TestBackendsCollide: two XBackends that write one name in a rule of 1.7 can't both have it.
func TestBackendsCollide(t *testing.T) {
	rules := "[{backendRefs: [" + xbackendRef("x1") + ", " + xbackendRef("x2") + "]}]"
	s := takeSteps(t, Options{}, xbackend("x1"), xbackend("x2"), routeOn("one", "r", "", rules))
	if len(s.named) != 1 || len(s.named[0].names) != 2 || s.named[0].names[0].text != "cart" || s.named[0].names[1].text == "cart" {
		t.Errorf("%d rules", len(s.named))
	}
	if s.decided[0].Refused || len(s.decided[0].Sessions) != 2 {
		t.Error("the rule does not have both sessions")
	}
}

// TestRenamedBackendsAreReported: where both names of a rule are another's, both are told.
func TestRenamedBackendsAreReported(t *testing.T) {
	rules := "[{backendRefs: [" + xbackendRef("x1") + ", " + xbackendRef("x2") + "]}]"
	s := takeSteps(t, Options{}, xbackend("x1"), xbackend("x2"), routeOn("one", "a", "", "["+ruleWith("/", "{sessionName: cart, type: Cookie}")+"]"),
		policyOn(strings.Replace(onRoute, "name: r", "name: a", 1), "cookie: {path: /}"), routeOn("one", "r", "", rules))
	var got []string
	for _, r := range listRenames(s.named) {
		got = append(got, fmt.Sprintf("%s %s is %s", r.Route, r.From, r.To))
	}
	expectLines(t, got, "HTTPRoute default/r cart is "+suffix("cart", "XBackend/default/x1"), "HTTPRoute default/r cart is "+suffix("cart", "XBackend/default/x2"))
}

// TestLongNames: a name with a suffix is valid where it is valid without, also as that of two cookies.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("n", policyconfig.MaxSessionName-len(policyconfig.CrossSiteSuffix))
	s := takeSteps(t, Options{}, policyOn(onRoute, "sessionName: "+long+", cookie: {path: /, secure: true, crossSite: true}"),
		routeOn("one", "r", "", "["+plainRule("/shop", "a")+", "+plainRule("/cart", "a")+"]"))
	for i, r := range s.configured {
		config := policyconfig.DefaultConfig()
		config.Policies = r.sessions[0].policies
		if err := policyconfig.Validate(config); err != nil || s.decided[i].Refused || s.named[i].names[0].text == long {
			t.Errorf("rule %d has %s: %v", i, s.named[i].names[0].text, err)
		}
	}
}

// TestSquattedNames: a name that is qualified can be another's, too, and then it is qualified once more.
//
// requirements: S28
func TestSquattedNames(t *testing.T) {
	scope := takeSteps(t, Options{}, routeOn("one", "z", "", "["+ruleWith("/", "{sessionName: cart}")+"]")).named[0].claims[0].scope
	squat := ruleWith("/", "{sessionName: cart}") + ", " + ruleWith("/", "{sessionName: cart-"+shortHash(scope)+"}")
	s := takeSteps(t, Options{}, routeOn("one", "r", "", "["+squat+"]"), routeOn("one", "z", "", "["+ruleWith("/", "{sessionName: cart}")+"]"))
	got := s.named[2].names[0].text
	if want := "cart-" + shortHash(scope+" 1"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestHeldNames: a session keeps the name that it had, the plain one or the qualified one, whoever is older.
//
// requirements: S28, S75
func TestHeldNames(t *testing.T) {
	cart := "[" + ruleWith("/", "{sessionName: cart}") + "]"
	both := []string{routeOn("one", "a", "", cart), routeOn("one", "z", "", cart)}
	scope := takeSteps(t, Options{}, both[1]).named[0].claims[0].scope
	held := HeldNames{scope: {Written: "cart", Emitted: "cart"}}
	nameOf := func(s *steps, rule int) string { return s.named[rule].names[0].text }
	if s := takeSteps(t, Options{HeldNames: held}, both...); nameOf(s, 0) == "cart" || nameOf(s, 1) != "cart" {
		t.Errorf("the holder's name is %s, the other's %s", nameOf(s, 1), nameOf(s, 0))
	}
	if s := takeSteps(t, Options{}, both...); nameOf(s, 0) != "cart" || nameOf(s, 1) == "cart" {
		t.Errorf("without holders the first has %s, the second %s", nameOf(s, 0), nameOf(s, 1))
	}
	held = HeldNames{scope: {Written: "cart", Emitted: "cart-qualified"}}
	if s := takeSteps(t, Options{HeldNames: held}, both[1:]...); nameOf(s, 0) != "cart-qualified" {
		t.Errorf("once it is alone it has %s", nameOf(s, 0))
	}
	held = HeldNames{scope: {Written: "other", Emitted: "other-qualified"}}
	if s := takeSteps(t, Options{HeldNames: held}, both[1:]...); nameOf(s, 0) != "cart" {
		t.Errorf("under a name that is new it has %s", nameOf(s, 0))
	}
}

// TestHeldSharedNames: a rule that comes to another of its route, under a policy's name for both, gets another name; the
// cookie of the rule that was there stays what it is, also when it is alone again.
//
// requirements: S26, S28
func TestHeldSharedNames(t *testing.T) {
	rule := func(name string) string {
		return "{name: " + name + ", " + strings.TrimPrefix(plainRule("/", "a"), "{")
	}
	namesOf := func(held HeldNames, rules ...string) map[string]string {
		s := takeSteps(t, Options{HeldNames: held}, policyOn(strings.Replace(onRoute, "name: r", "name: a", 1), "sessionName: app"), routeOn("one", "a", "", "["+strings.Join(rules, ", ")+"]"))
		names := map[string]string{}
		for _, r := range s.named {
			for i, c := range r.claims {
				names[c.scope[strings.LastIndex(c.scope, "/")+1:]] = r.names[i].text
			}
		}
		return names
	}
	const scope = "HTTPRoute/default/a/rule/old"
	plain, suffixed := HeldNames{scope: {Written: "app", Emitted: "app"}}, HeldNames{scope: {Written: "app", Emitted: suffix("app", scope)}}
	if names := namesOf(nil, rule("old")); names["old"] != "app" {
		t.Errorf("alone, without a memory: %s", names)
	}
	if names := namesOf(nil, rule("new"), rule("old")); names["old"] == "app" || names["new"] == "app" {
		t.Errorf("without a memory: %s", names)
	}
	if names := namesOf(plain, rule("new"), rule("old")); names["old"] != "app" || names["new"] == "app" {
		t.Errorf("a rule comes before the holder: %s", names)
	}
	if names := namesOf(suffixed, rule("old")); names["old"] != suffix("app", scope) {
		t.Errorf("alone again: %s", names)
	}
	renamed := HeldNames{scope: {Written: "other", Emitted: "other"}}
	if names := namesOf(renamed, rule("new"), rule("old")); names["old"] == "app" {
		t.Errorf("under a name that is new: %s", names)
	}
}
