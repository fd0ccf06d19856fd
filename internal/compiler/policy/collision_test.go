package policy

import (
	"fmt"
	"testing"
)

// TestCollisions shows which sessions are refused for another's cookie. Route r goes before route s.
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
		"one that collides holds none, either":  {rHost: x, r: cart + ", " + cart, sHost: x, s: cart, want: []string{"r rule 1", "s rule 0"}},
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
					if _, collides := s.collisions[session]; collides {
						got = append(got, fmt.Sprintf("%s rule %d", session.route.Name, session.rule))
					}
				}
			}
			expectLines(t, got, c.want...)
		})
	}
}

// TestBackendsCollide: two XBackends that write one name in a rule of 1.7 can't both have it.
func TestBackendsCollide(t *testing.T) {
	xbackend := func(name string) string {
		return `{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XBackend, metadata: {name: ` + name + `}, spec: {` +
			`type: EndpointSelector, port: {number: 80}, endpointSelector: {matchLabels: {app: x}}, protocol: HTTP, ` +
			`sessionPersistence: {cookie: {name: cart}}}}`
	}
	ref := func(name string) string {
		return "{group: gateway.networking.x-k8s.io, kind: XBackend, name: " + name + "}"
	}
	rules := "[{backendRefs: [" + ref("x1") + ", " + ref("x2") + "]}]"
	s := takeSteps(t, Options{}, xbackend("x1"), xbackend("x2"), routeOn("one", "r", "", rules))
	if len(s.configured) != 1 || len(s.configured[0].sessions) != 2 || len(s.collisions) != 1 {
		t.Errorf("%d rules, %d collisions", len(s.configured), len(s.collisions))
	}
	if !s.decided[0].Refused {
		t.Error("the rule is not refused")
	}
}
