package policyconfig

import (
	"slices"
	"strings"
	"testing"
)

const routeName = "httproute/default/cart/rule/0"

// TestRouteTexts holds what of a policy travels with its route, and what stays away as it is the default.
func TestRouteTexts(t *testing.T) {
	for want, change := range map[string]func(*Policy){
		`[{"sessionName":"cart"}]`:                                            func(*Policy) {},
		`[{"name":"x","sessionName":"cart"}]`:                                 func(p *Policy) { p.Name = "x" },
		`[{"scope":"s","sessionName":"cart"}]`:                                func(p *Policy) { p.Scope = "s" },
		`[{"clusters":["a<b"],"sessionName":"cart"}]`:                         func(p *Policy) { p.Clusters = []string{"a<b"} },
		`[{"type":"Header","sessionName":"x-cart"}]`:                          func(p *Policy) { p.Type, p.SessionName = "Header", "x-cart" },
		`[{"sessionName":"cart","absoluteTimeout":"8h","idleTimeout":"20m"}]`: func(p *Policy) { p.AbsoluteTimeout, p.IdleTimeout = 28800, 1200 },
		`[{"sessionName":"cart","cookie":{"path":""}}]`: func(p *Policy) {
			c := DefaultCookie()
			c.Path, p.Cookie = "", &c
		},
		`[{"sessionName":"cart","cookie":{"secure":false,"httpOnly":false}}]`: func(p *Policy) {
			c := DefaultCookie()
			c.Secure, c.HTTPOnly, p.Cookie = false, false, &c
		},
		`[{"sessionName":"cart","forward":false}]`: func(p *Policy) { p.Forward = false },
	} {
		p := DefaultPolicy()
		p.Name, p.Routes, p.SessionName = "default/cart/rule/0", []string{"other", routeName}, "cart"
		change(&p)
		other := p
		other.Name, other.Routes = "elsewhere", []string{"other"}
		name, text, err := WriteRoute(routeName, []Policy{p, other}, DefaultPinHeader)
		if err != nil || text != want {
			t.Errorf("got %s, %v; want %s", text, err, want)
			continue
		}
		if route, identity, found := CutIdentity(name); !found || route != routeName || len(identity) != 16 {
			t.Errorf("the route's name is %s", name)
		}
	}
}

// TestRouteTextsAreWhole writes every policy of the valid configurations, among which every field has an effect.
func TestRouteTextsAreWhole(t *testing.T) {
	for _, path := range files(t, "testdata/valid/*.json", 25) {
		config, errs := Parse(read(t, path))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for _, p := range config.Policies {
			if _, _, err := WriteRoute(p.Routes[0], []Policy{p}, config.PinHeader); err != nil {
				t.Errorf("%s, %s: %v", path, p.Name, err) // it compares what it reads back
			}
		}
	}
}

// TestRouteIdentities differ with any change of a policy.
func TestRouteIdentities(t *testing.T) {
	p := DefaultPolicy()
	p.Name, p.Routes, p.SessionName = "p", []string{routeName}, "cart"
	name := func() string {
		n, _, err := WriteRoute(routeName, []Policy{p}, DefaultPinHeader)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := name()
	if again := name(); again != first {
		t.Errorf("the same policy is %s and %s", first, again)
	}
	p.IdleTimeout = 60
	if changed := name(); changed == first {
		t.Errorf("a changed policy is %s still", changed)
	}
	p.Routes = []string{first}
	if _, _, err := WriteRoute(first, []Policy{p}, DefaultPinHeader); err == nil {
		t.Error("a name with an identity is given another")
	}
}

// TestCutIdentity holds which names of routes say that policies travel with them.
func TestCutIdentity(t *testing.T) {
	const digits = "#0123456789abcdef"
	for name, want := range map[string]string{
		"r" + digits:                  "r",
		digits:                        "",
		"r" + digits + digits:         "r" + digits,
		"r":                           "no",
		"":                            "no",
		"r#0123456789ABCDEF":          "no",
		"r#123456789abcdef":           "no",
		"r 0123456789abcdef":          "no",
		"r#0123456789abcde\x00":       "no",
		"r" + strings.Repeat("a", 17): "no",
	} {
		route, _, found := CutIdentity(name)
		if !found {
			if route != name {
				t.Errorf("%q is cut to %q", name, route)
			}
			route = "no"
		}
		if route != want {
			t.Errorf("%q: got %q, want %q", name, route, want)
		}
	}
}

// TestBrokenRouteTexts are refused, with every fault and where it is.
func TestBrokenRouteTexts(t *testing.T) {
	for text, want := range map[string]string{
		``:     "not valid JSON",
		`{}`:   "Invalid value: object: must be an array",
		`[]`:   "Required value: must have at least 1 item",
		`[{}]`: "[0].sessionName: Required value",
		`[{"sessionName":"a"},{"sessionName":"b"}]`:                                  `[1].name: Duplicate value: "default/cart/rule/0"`,
		`[{"sessionName":"a"},{"name":"b","sessionName":"b"}]`:                       `[1].routes[0]: Duplicate value: "` + routeName + `": held by [0]`,
		`[{"sessionName":"a","routes":["x"]}]`:                                       "[0].routes: unknown field",
		`[{"sessionName":"a","idleTimeout":"2h","absoluteTimeout":"1h"}]`:            "[0].idleTimeout: Invalid value",
		`[{"sessionName":"X-Limpet-Pin","type":"Header"}]`:                           "must not be the pin header",
		`[{"sessionName":"__Host-a","cookie":{"path":"/x"}}]`:                        "[0].cookie.path: Invalid value",
		`[{"sessionName":"a","scope":"` + strings.Repeat("s", MaxRouteBytes) + `"}]`: "Too long",
	} {
		policies, errs := ParseRoute(text, routeName, DefaultPinHeader)
		if policies != nil || !strings.Contains(errs.Error(), want) {
			t.Errorf("%.80s: got %v, want %s", text, errs, want)
		}
	}
	for _, route := range []string{"", "a\nb", strings.Repeat("r", 1025)} {
		if _, errs := ParseRoute(`[{"name":"p","sessionName":"a"}]`, route, "x-limpet-pin"); len(errs) == 0 {
			t.Errorf("route %.20q is taken", route)
		}
	}
	if _, errs := ParseRoute(`[{"sessionName":"a"}]`, "a b", "x-limpet-pin"); !strings.Contains(errs.Error(), "[0].name: Required value") {
		t.Errorf("a policy without a name is taken: %v", errs)
	}
}

// TestKeysTravelInFront: the sealed keys of each scope once, in the order of the list, change the route's identity and not its policies.
func TestKeysTravelInFront(t *testing.T) {
	policy := func(name, scope string, routes ...string) Policy {
		p := DefaultPolicy()
		p.Name, p.Scope, p.Routes, p.SessionName, p.Clusters = name, scope, routes, "sid", []string{name}
		return p
	}
	policies := []Policy{policy("a", "one", "r"), policy("x", "elsewhere", "other"), policy("b", "", "r", "other"), policy("c", "one", "r")}
	if got := RouteScopes("r", policies); !slices.Equal(got, []string{"one", "b"}) {
		t.Errorf("scopes %q", got)
	}
	name, text, err := WriteRoute("r", policies, DefaultPinHeader)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{name: true}
	for _, sealed := range [][]string{{"1.AAA", "1.BBB"}, {"1.AAA", "1.BBC"}} {
		keyed, with := KeyRoute(name, text, sealed)
		keys, list := CutKeys(with)
		first, rest := NextKey(keys)
		second, none := NextKey(rest)
		if list != text || first != sealed[0] || second != sealed[1] || none != "" {
			t.Errorf("%q", with)
		}
		if route, _, found := CutIdentity(keyed); route != "r" || !found || seen[keyed] {
			t.Errorf("the route is called %q", keyed)
		}
		seen[keyed] = true
	}
	if keys, list := CutKeys(text); keys != "" || list != text {
		t.Errorf("without keys: %q, %q", keys, list)
	}
	if keys, list := CutKeys("no list"); keys != "" || list != "no list" {
		t.Errorf("without a list: %q, %q", keys, list)
	}
}
