package envoygateway

import (
	"net/http"
	"testing"
)

// denied lets nobody to the rule with the split.
const denied = `apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {name: nobody, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: canary, sectionName: split}]
  authorization: {defaultAction: Deny}
---
`

// TestCanaryIsClosed has clients name a backend of weight 0 in the header that leads sessions: with the filter there and away no request
// gets there; and a SecurityPolicy for the rule holds for its sessions.
func TestCanaryIsClosed(t *testing.T) {
	input := base + versionBackends("", "") + canary([3]int{50, 50, 0}, "")
	eachFilter(t, input, func(t *testing.T, c *canaries) {
		manifest := c.manifest(t, input)
		value := leadOf(t, manifest, "old")
		cookie := sessionOn(t, "canary.test/", "127.0.1.1")
		if on := tally(t, 20, "canary.test/", leadHeader, value, "Cookie", cookie); on["127.0.1.1"] != 20 {
			t.Errorf("with the header a session went to %v", on)
		}
		if seen := get(t, "canary.test/", "Cookie", cookie).echo.Header.Get(leadHeader); seen != "" {
			t.Errorf("a backend sees the header: %s", seen)
		}
		c.checkClosed(t, "with the filter", manifest, value, cookie)
		_, away := parted(t, manifest, func(d object) bool { return d["kind"] == "EnvoyExtensionPolicy" })
		c.plane.apply(t, away)
		eventually(t, "the filter is away", servedWithoutSession(t))
		c.checkClosed(t, "without the filter", away, value, cookie)
		_, open := parted(t, away, func(d object) bool { return d["kind"] == "ClientTrafficPolicy" })
		c.plane.apply(t, open)
		eventually(t, "without the fence the header leads", func() bool { return get(t, "canary.test/", leadHeader, value).host() == "127.0.3.1" })
	})
}

// TestCanaryIsClosedUnloaded is that of an Envoy that can't load limpet.wasm, and serves requests without it. It takes no native filter
// that it can't load.
func TestCanaryIsClosedUnloaded(t *testing.T) {
	serveModule(t)
	startHosts(t, versions)
	input := base + versionBackends("", "") + canary([3]int{50, 50, 0}, "")
	manifest := compile(t, input, nil, "--keys", ring(t, newKey(t, "one")), "--keys-in-clear", "--wasm-url", wasmURL)
	manifest = edited(t, with(t, manifest, input), "EnvoyExtensionPolicy", "limpet", func(d object) {
		d["spec"].(object)["wasm"].([]any)[0].(object)["code"] = object{"type": "HTTP", "http": object{"url": brokenURL}}
	})
	manifest = edited(t, manifest, "EnvoyPatchPolicy", "limpet-web", func(d object) {
		for _, p := range d["spec"].(object)["jsonPatches"].([]any) {
			if operation := p.(object)["operation"].(object); operation["path"] == "/failure_policy" {
				operation["value"] = "FAIL_OPEN"
			}
		}
	})
	value := leadOf(t, manifest, "old")
	t.Run("a client chooses its backend", func(t *testing.T) {
		start(t, manifest).serves(t, "canary.test/health")
		eventually(t, "requests are served", servedWithoutSession(t))
		checkNotLed(t, "with a filter that is not loaded", value)
	})
	t.Run("the rule is denied", func(t *testing.T) { // from the first, for Envoy takes no change of a listener whose filter it can't load
		start(t, manifest+denied).serves(t, "canary.test/health")
		checkDenied(t, "with a filter that is not loaded", leadHeader, value)
	})
}

// checkClosed wants no client to choose its backend, and nobody to get to a rule that is denied.
func (c *canaries) checkClosed(t *testing.T, when, manifest, value, cookie string) {
	t.Helper()
	checkNotLed(t, when, value)
	c.plane.apply(t, manifest+denied)
	eventually(t, "the rule is denied "+when, func() bool { return get(t, "canary.test/").status == http.StatusForbidden })
	checkDenied(t, when, "Cookie", cookie)
	checkDenied(t, when, leadHeader, value)
}

func checkNotLed(t *testing.T, when, value string) {
	t.Helper()
	if on := tally(t, manyTries, "canary.test/", leadHeader, value); on["127.0.3.1"] > 0 {
		t.Errorf("%s a client chose its backend: %v", when, on)
	}
}

func checkDenied(t *testing.T, when, header, value string) {
	t.Helper()
	if on := tally(t, 40, "canary.test/", header, value); on["Forbidden"] != 40 {
		t.Errorf("%s requests with %s that are denied went to %v", when, header, on)
	}
}

// servedWithoutSession tells whether requests are answered and no session begins.
func servedWithoutSession(t *testing.T) func() bool {
	return func() bool {
		a := get(t, "canary.test/")
		return a.status == http.StatusOK && a.cookie() == ""
	}
}
