package istio

import (
	"net/http"
	"strings"
	"testing"
)

// TestCanaryIsStrict: under onHostLost Fail a session gets errors while its host refuses connections, and while its version has no host;
// then it is there again. The others stay.
func TestCanaryIsStrict(t *testing.T) {
	eachCanary(t, split{weights: [3]int{40, 40, 20}, policy: strict}, func(t *testing.T, c *canary) {
		c.begin(t)
		c.checkKept(t, "before", allVersions...)
		c.holder(t, c.sessions["v2"].request(t, "/cart/add").backend).server.Close()
		for range rounds {
			if a := c.sessions["v2"].request(t, "/cart/add"); a.status != http.StatusGone {
				t.Fatalf("status %d from %q while the host refuses", a.status, a.backend)
			}
		}
		c.scale(t, 2, 0, 0)
		eventually(t, "Envoy has no host of the version", func() bool { return c.served(t, c.backends[4]) == 0 })
		for range rounds {
			if a := c.sessions["old"].request(t, "/cart/add"); a.status == http.StatusOK {
				t.Fatalf("status %d from %q while the version has no host", a.status, a.backend)
			}
		}
		c.checkKept(t, "while a version has no host", "v1")
		c.scale(t, 2, 1, 0)
		eventually(t, "Envoy has the host again", func() bool { return c.served(t, c.backends[4]) > 0 })
		c.checkKept(t, "when it is back", "v1", "old")
	})
}

// TestCanaryStaysWithin: under RebalanceWithin a session whose host refuses connections goes to the other host of its version.
func TestCanaryStaysWithin(t *testing.T) {
	eachCanary(t, split{weights: [3]int{80, 10, 10}, policy: "onHostLost: RebalanceWithin"}, func(t *testing.T, c *canary) {
		c.begin(t)
		c.checkLostHost(t)
		c.checkKept(t, "with a host lost", allVersions...)
	})
}

// TestCanaryIsRevoked: revocation.backends ends the sessions of one version alone.
func TestCanaryIsRevoked(t *testing.T) {
	eachCanary(t, split{weights: [3]int{40, 40, 20}}, func(t *testing.T, c *canary) {
		c.begin(t)
		d := c.deployment
		d.input = revoking(t, d.input, "app/v2:80")
		c.push(t, d)
		void := c.sessions["v2"].jar["cart"]
		eventually(t, "the session of the revoked version is over", func() bool {
			c.sessions["v2"].jar["cart"] = void
			a := c.sessions["v2"].request(t, "/cart/add")
			return a.status == http.StatusOK && a.cookie != ""
		})
		c.checkKept(t, "while another version's sessions are revoked", "v1", "old")
	})
}

// TestCanaryOfARoute: with scope Route a session over a split is one for the route's other rules too: who has a host of v1 keeps it on a
// rule that has v1 alone, and the other way round.
func TestCanaryOfARoute(t *testing.T) {
	for _, filter := range []string{"wasm", "native"} {
		t.Run(filter, func(t *testing.T) {
			c := split{route: "HTTPRoute", filter: filter, weights: [3]int{40, 40, 20}, policy: "scope: Route",
				input: func(text string) string { return strings.Replace(text, ", sectionName: cart}", "}", 1) }}.start(t)
			c.begin(t)
			at := c.sessions["v1"].request(t, "/cart/add").backend
			began := c.newClient()
			on := began.request(t, "/plain").backend
			for range rounds {
				for _, path := range []string{"/plain", "/cart/add", "/basket"} {
					if a := c.sessions["v1"].request(t, path); a.backend != at || a.cookie != "" {
						t.Fatalf("%s of a session on %s went to %q, cookie %q", path, at, a.backend, a.cookie)
					}
					if a := began.request(t, path); a.backend != on || a.cookie != "" {
						t.Fatalf("%s of a session that began on %s went to %q, cookie %q", path, on, a.backend, a.cookie)
					}
				}
			}
			c.checkKept(t, "with other rules' requests", allVersions...)
		})
	}
}
