package behaviour

import (
	"slices"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/wasmtest"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// travelling is a build where the policies of the configuration come with their routes.
func travelling(inner start) start { return withRoutes(inner, nil) }

// ringless is travelling where there is no ring either: the keys of scopes come with the policies, sealed for a Gateway.
func ringless(inner start) start {
	return withRoutes(inner, func(t *testing.T, c *policyconfig.Config, env map[string]string) (map[string]string, func(scope string) string) {
		t.Helper()
		keys, errs := c.Keys.Load(func(name string) string { return env[name] }, token.UnsealText)
		if len(errs) > 0 {
			return env, nil // the plugin says so
		}
		ring, err := keyfile.Ring(keys)
		if err != nil {
			return env, nil
		}
		root := limpetsRoot.ForGateway(gatewayID)
		c.Keys = policyconfig.Keys{Gateway: gatewayID}
		return map[string]string{"LIMPET_ROOT": root.Text()}, func(scope string) string {
			text, err := ring.SealScope(&root, scope)
			noError(t, err)
			return text
		}
	})
}

// gatewayID is the Gateway of ringless builds, whose root is derived from limpetsRoot.
const gatewayID = "shop/edge/5f0c2d9e-4a51-4c1b-9d0e-2f6b1a7c3e48"

var limpetsRoot = token.Root{Target: "envoy", Secret: []byte("the root secret, 32 bytes long!!")}

// withRoutes is travelling. Unkey, if there is one, takes the ring out of a configuration and its environment; what it returns seals the
// keys of scopes.
func withRoutes(
	inner start, unkey func(*testing.T, *policyconfig.Config, map[string]string) (map[string]string, func(scope string) string),
) start {
	return func(t *testing.T, config string, env map[string]string, clock func() time.Time) (wasmtest.Filter, error) {
		t.Helper()
		whole, errs := policyconfig.Parse(config)
		if len(errs) > 0 {
			return inner(t, config, env, clock)
		}
		w := &travellingPlugin{t: t, pinHeader: whole.PinHeader, policies: whole.Policies}
		whole.Policies = nil
		if unkey != nil {
			env, w.seal = unkey(t, &whole, env)
		}
		global, err := policyconfig.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		p, err := inner(t, string(global), env, clock)
		if err != nil {
			return nil, err
		}
		w.Filter = p
		return w, nil
	}
}

type travellingPlugin struct {
	wasmtest.Filter
	t         *testing.T
	pinHeader string
	policies  []policyconfig.Policy
	seal      func(scope string) string // the keys of a scope; nil where the plugin has the ring
}

func (p *travellingPlugin) Open(properties map[string]string) wasmtest.Exchange {
	p.t.Helper()
	route := properties[wasmtest.RouteProperty]
	for _, policy := range p.policies {
		if slices.Contains(policy.Routes, route) {
			name, text, err := policyconfig.WriteRoute(route, p.policies, p.pinHeader)
			noError(p.t, err)
			if p.seal != nil {
				var keys []string
				for _, scope := range policyconfig.RouteScopes(route, p.policies) {
					keys = append(keys, p.seal(scope))
				}
				name, text = policyconfig.KeyRoute(name, text, keys)
			}
			return carried(p.Filter, name, properties[wasmtest.ClusterProperty], text)
		}
	}
	return p.Filter.Open(properties)
}

// carried begins a request on a route whose metadata has a text of policies, empty for none.
func carried(f wasmtest.Filter, route, cluster, policies string) wasmtest.Exchange {
	properties := map[string]string{wasmtest.RouteProperty: route, wasmtest.ClusterProperty: cluster}
	if policies != "" {
		properties[wasmtest.PoliciesProperty] = policies
	}
	return f.Open(properties)
}

// change gives the world's plugin other policies on its routes, as a new route table does.
func (w *world) change(config string) {
	w.t.Helper()
	whole, errs := policyconfig.Parse(config)
	if len(errs) > 0 {
		w.t.Fatal(errs)
	}
	w.Filter.(*travellingPlugin).policies = whole.Policies
}

// eachTravelling runs the test on every build to which policies come with routes.
func eachTravelling(t *testing.T, config string, test func(t *testing.T, w *world)) {
	t.Helper()
	each(t, config, func(t *testing.T, w *world) {
		if _, is := w.Filter.(*travellingPlugin); is {
			test(t, w)
		}
	})
}

// TestPolicyChangesWithItsRoute: the next request has the new policy, sessions hold, and counters go on.
func TestPolicyChangesWithItsRoute(t *testing.T) {
	eachTravelling(t, config(), func(t *testing.T, w *world) {
		host := w.get().host
		w.change(config(`"idleTimeout":"1h"`))
		want(t, "the host", w.get().host, host)
		w.pass(2 * time.Hour)
		w.get()
		w.counted("p expired-idle", 1)
		w.change(config())
		w.get()
		w.counted("p new", 1)
		w.counted("p pinned", 2)
		w.change(config(`"sessionName":"other"`))
		want(t, "cookies of the changed policy", len(w.get().setCookies()), 1)
		w.counted("p new", 2)
	})
}

// TestBrokenPolicyFailsItsRouteAlone: requests there get 503, never a host, and others go on.
func TestBrokenPolicyFailsItsRouteAlone(t *testing.T) {
	const name = "r#0123456789abcdef"
	eachTravelling(t, config(), func(t *testing.T, w *world) {
		p := w.Filter.(*travellingPlugin)
		for i, text := range []string{"", "{", `[{"sessionName":"s","routes":["r"]}]`, `[{"sessionName":"x-limpet-pin","type":"Header"}]`} {
			broken := name[:len(name)-1] + string(rune('0'+i))
			for range 2 {
				want(t, "refused: "+text, refuses(t, p.Filter, broken, text), true)
			}
		}
		want(t, "the host of a sound route", w.get().host, w.hosts[0])
	})
}

// TestClientsSetNoPolicies: whatever a request says, its route's policies are those of the configuration.
func TestClientsSetNoPolicies(t *testing.T) {
	eachTravelling(t, config(), func(t *testing.T, w *world) {
		evil := `[{"sessionName":"evil"}]`
		r := w.get("x-limpet-policies: "+evil, "limpet: "+evil, "xds.route_name: r#fedcba9876543210", "route_name: r#fedcba9876543210",
			"xds.route_metadata.filter_metadata.limpet.policies: "+evil, "cookie: limpet="+evil)
		want(t, "cookies that are set", len(r.setCookies()), 1)
		w.counted("p new", 1)
	})
}

// TestSealedKeysOfOthers: keys that were sealed for another rule or Gateway, or none at all, or too many, are none. Requests get 503,
// never a host, and a route with its own keys goes on.
func TestSealedKeysOfOthers(t *testing.T) {
	eachTravelling(t, config(), func(t *testing.T, w *world) {
		p := w.Filter.(*travellingPlugin)
		if p.seal == nil {
			return
		}
		name, text, err := policyconfig.WriteRoute("r", p.policies, p.pinHeader)
		noError(t, err)
		elsewhere := limpetsRoot.ForGateway("evil/edge/5f0c2d9e-4a51-4c1b-9d0e-2f6b1a7c3e48")
		others, err := ringOf(t, "a", secretA).SealScope(&elsewhere, "p")
		noError(t, err)
		good := p.seal("p")
		for what, keys := range map[string][]string{
			"another rule's": {p.seal("q")}, "another Gateway's": {others}, "none": nil, "two": {good, good}, "cut short": {good[:len(good)-1]},
		} {
			keyed, with := policyconfig.KeyRoute(name, text, keys)
			want(t, "refused: "+what, refuses(t, p.Filter, keyed, with), true)
		}
		want(t, "the host of a sound route", w.get().host, w.hosts[0])
	})
}
