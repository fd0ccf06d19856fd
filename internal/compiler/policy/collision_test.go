package policy

import (
	"fmt"
	"testing"
)

// TestCollisions shows which sessions are refused for another's cookie. Route r is older by name than route s.
func TestCollisions(t *testing.T) {
	cart := `{sessionName: cart}`
	domain := func(route string) string {
		return `{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: ` + route + `}, spec: {` +
			`targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: ` + route + `}], cookie: {domain: example.com}}}`
	}
	header := `{type: Header, sessionName: cart}`
	badPath := `{matches: [{path: {type: PathPrefix, value: "/"}}], backendRefs: [{name: a, port: 80}], sessionPersistence: {sessionName: "b@d"}}`
	for name, c := range map[string]struct {
		options  Options
		first    string // what is in front of the routes
		r, s     string // hostnames
		of, from string // rules
		want     []string
	}{
		"one host and path, one name":              {r: "x.example.com", s: "x.example.com", of: ruleWith("/", cart), from: ruleWith("/", cart), want: []string{"s rule 0"}},
		"names differ by case, which clients tell": {r: "x.example.com", s: "x.example.com", of: ruleWith("/", cart), from: ruleWith("/", `{sessionName: Cart}`)},
		"other names":                            {r: "x.example.com", s: "x.example.com", of: ruleWith("/", cart), from: ruleWith("/", `{sessionName: shop}`)},
		"other paths":                            {r: "x.example.com", s: "x.example.com", of: ruleWith("/", cart), from: ruleWith("/shop", cart)},
		"other hosts":                            {r: "x.example.com", s: "y.example.com", of: ruleWith("/", cart), from: ruleWith("/", cart)},
		"a wildcard covers the other's host":     {r: "\"*.example.com\"", s: "y.example.com", of: ruleWith("/", cart), from: ruleWith("/", cart), want: []string{"s rule 0"}},
		"the younger one's covers the older's":   {r: "x.example.com", s: "\"*.example.com\"", of: ruleWith("/", cart), from: ruleWith("/", cart), want: []string{"s rule 0"}},
		"other hosts below one Domain":           {first: domain("r") + "\n---\n" + domain("s"), r: "x.example.com", s: "y.example.com", of: ruleWith("/", cart), from: ruleWith("/", cart), want: []string{"s rule 0"}},
		"headers have no path and never collide": {r: "x.example.com", s: "x.example.com", of: ruleWith("/", header), from: ruleWith("/", header)},
		"rules of one route":                     {r: "x.example.com", s: "y.example.com", of: ruleWith("/", cart) + ", " + ruleWith("/", cart), from: ruleWith("/", cart), want: []string{"r rule 1"}},
		"a rule that is refused takes no name":   {r: "x.example.com", s: "x.example.com", of: badPath, from: ruleWith("/", `{sessionName: "b@d"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			documents := []string{routeOn("one", "r", c.r, "["+c.of+"]"), routeOn("one", "s", c.s, "["+c.from+"]")}
			if c.first != "" {
				documents = append(documents, c.first)
			}
			s := takeSteps(t, c.options, documents...)
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
			`type: EndpointSelector, port: {number: 80}, endpointSelector: {matchLabels: {app: x}}, protocol: HTTP, sessionPersistence: {cookie: {name: cart}}}}`
	}
	refs := `{group: gateway.networking.x-k8s.io, kind: XBackend, name: x1}, {group: gateway.networking.x-k8s.io, kind: XBackend, name: x2}`
	s := takeSteps(t, Options{}, xbackend("x1"), xbackend("x2"), routeOn("one", "r", "", "[{backendRefs: ["+refs+"]}]"))
	if len(s.configured) != 1 || len(s.configured[0].sessions) != 2 || len(s.collisions) != 1 {
		t.Errorf("%d rules, %d collisions", len(s.configured), len(s.collisions))
	}
	if !s.decided[0].Refused {
		t.Error("the rule is not refused")
	}
}
