package e2e

import (
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// TestBadPluginConfigIsRefused: Envoy does not start, and its log has every error with its path and no key.
func TestBadPluginConfigIsRefused(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.CookieRule("other", "pods"))
	deployment.Keys = harness.NewRing("first", "second")
	deployment.Policies = func(config *policyconfig.Config) {
		config.Keys = policyconfig.Keys{Ring: deployment.Keys.Config()}
	}
	deployment.Tree = func(tree harness.Tree) {
		text, err := policyconfig.Marshal(tree.Plugin(t))
		if err != nil {
			t.Fatal(err)
		}
		bad := strings.Replace(string(text), `"sameSite": "Strict"`, `"sameSite": "strict"`, 1)
		bad = strings.Replace(bad, `"onHostLost": "Rebalance"`, `"onHostLost": "Rebalance", "surprise": 1`, 1)
		tree.SetPluginText(t, bad)
	}
	log := harness.Compile(t, deployment).StartRefused(t)
	for _, want := range []string{
		`policies[0].cookie.sameSite: Unsupported value: "strict": supported values: "Strict", "Lax", "None"`,
		`policies[0].surprise`, `unknown field`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("Envoy's log lacks %s", want)
		}
	}
}

func TestMissingKeysAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ env, want string }{
		"no variable": {"OTHER=1", "LIMPET_KEYS"},
		"not JSON":    {"LIMPET_KEYS=secret-that-must-not-be-logged", "key ring"},
		"short key":   {`LIMPET_KEYS={"keys":[{"id":"a","secret":"c2VjcmV0LXRoYXQtbXVzdC1ub3QtYmUtbG9nZ2Vk"}]}`, "32"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
			deployment.Env = []string{c.env}
			log := harness.Compile(t, deployment).StartRefused(t)
			if !strings.Contains(log, c.want) {
				t.Errorf("Envoy's log does not mention %s", c.want)
			}
			for _, secret := range []string{"secret-that-must-not-be-logged", "c2VjcmV0LXRoYXQtbXVzdC1ub3QtYmUtbG9nZ2Vk"} {
				if strings.Contains(log, secret) {
					t.Errorf("Envoy's log has the key")
				}
			}
		})
	}
}

// TestHotReload: a new configuration is live without a restart, and one with an error leaves the old one serving.
func TestHotReload(t *testing.T) {
	t.Parallel()
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	discovery := &harness.Discovery{}
	deployment.Tree = func(tree harness.Tree) { discovery.Install(t, tree) }
	envoy := harness.Run(t, deployment)
	text := mint(t, envoy, "cart", pods[1].Address, harness.Dates{})
	stay(t, envoy.Stranger(), "/cart", 5, cookieLine("cart", text))
	taken, refused := discovery.Reloads(t, envoy)

	discovery.SetText(t, `{"version": "limpet.dev/v1", "policies": [{"name": ""}]}`)
	eventually(t, "Envoy refuses the broken configuration", func() bool {
		_, now := discovery.Reloads(t, envoy)
		return now > refused
	})
	if got := stay(t, envoy.Stranger(), "/cart", 10, cookieLine("cart", text)); got != "b" {
		t.Errorf("after a refused configuration the session is on %s", got)
	}
	config := envoy.Config
	config.Policies[0].Revocation.Epoch = 1
	discovery.Set(t, config)
	eventually(t, "Envoy takes the new configuration over", func() bool {
		now, _ := discovery.Reloads(t, envoy)
		return now > taken
	})
	// The verified token must not live on in a cache: its epoch is revoked now.
	eventually(t, "the old session is revoked", func() bool {
		return visit(t, envoy.Stranger(), "/cart", cookieLine("cart", text)).Cookie(t, "cart") != nil
	})
	for range 5 {
		wantToken(t, visit(t, envoy.Stranger(), "/cart", cookieLine("cart", text)), "cart")
	}
}
