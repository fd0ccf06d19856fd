package envoygateway

import (
	"strings"
	"testing"
)

// scaledToZero makes a version a Service without endpoints, in the rule and in its copy: so Envoy Gateway sees one whose pods are gone.
func scaledToZero(t *testing.T, manifest, version string) string {
	t.Helper()
	return edited(t, manifest, "HTTPRoute", "canary", func(d object) {
		for _, rule := range rulesOf(d) {
			for _, ref := range rule.(object)["backendRefs"].([]any) {
				if r := ref.(object); r["name"] == version {
					r["group"], r["kind"], r["port"] = "", "Service", 8080
				}
			}
		}
	}) + "apiVersion: v1\nkind: Service\nmetadata: {name: " + version + ", namespace: shop}\nspec: {ports: [{name: http, port: 8080}]}\n---\n"
}

// TestCanaryToZero scales a canary to 0 and back. Sessions of the other versions stay on every request, and those of the canary that wait
// find it again; one that does not wait has one error, and goes on by the weights.
func TestCanaryToZero(t *testing.T) {
	input := base + versionBackends("", "") + canary([3]int{45, 45, 10}, "")
	eachFilter(t, input, func(t *testing.T, c *canaries) {
		c.begin(t)
		waits := c.cookies["old"]
		whole := c.manifest(t, input)
		c.plane.apply(t, scaledToZero(t, whole, "old"))
		eventually(t, "Envoy has no cluster for it", func() bool { return !strings.Contains(admin(t, "/clusters"), "127.0.3.1:8080") })
		c.checkKept(t, "while a version is scaled to 0", "v1", "v2")
		c.checkOneError(t)
		c.plane.apply(t, whole)
		awaitWeights(t, [3]int{45, 45, 10})
		c.cookies["old"] = waits
		c.checkKept(t, "when it is back", versionNames...)
	})
}

// TestCanaryMerged lets Envoy Gateway share clusters among rules, which it does not for a rule with sessions and several backends: they
// keep their versions.
func TestCanaryMerged(t *testing.T) {
	input := func(w [3]int) string { return base + versionBackends("", "") + canary(w, "") }
	eachFilter(t, input([3]int{60, 30, 10}), func(t *testing.T, c *canaries) {
		c.begin(t)
		c.plane.apply(t, merging(t, c.manifest(t, input([3]int{60, 30, 10}))))
		eventually(t, "clusters are shared", func() bool { return strings.Contains(admin(t, "/clusters"), "\nbackend/shop/v1/0") })
		c.checkKept(t, "with clusters that are shared", versionNames...)
		c.begin(t)
		c.plane.apply(t, merging(t, c.manifest(t, input([3]int{0, 100, 0}))))
		awaitWeights(t, [3]int{0, 100, 0})
		c.checkKept(t, "at other weights", versionNames...)
	})
}

// merging has Envoy Gateway merge backends.
func merging(t *testing.T, manifest string) (all string) {
	t.Helper()
	for _, d := range documents(t, manifest) {
		if d["kind"] == "EnvoyProxy" {
			d["spec"].(object)["mergeBackends"] = object{}
		}
		all += yamlOf(t, d)
	}
	return all
}

// TestCanaryRevoked ends the sessions of one version, by what tokens call it; those of the others stay.
func TestCanaryRevoked(t *testing.T) {
	input := base + versionBackends("", "") + canary([3]int{40, 40, 20}, "")
	eachFilter(t, input, func(t *testing.T, c *canaries) {
		c.begin(t)
		revoked := c.cookies["v2"]
		manifest := c.manifest(t, input)
		tag := leadOf(t, manifest, "v2")[:8]
		c.plane.apply(t, edited(t, manifest, "EnvoyExtensionPolicy", "limpet", func(d object) {
			filters, _ := d["spec"].(object)["wasm"].([]any)
			if filters == nil {
				filters = d["spec"].(object)["dynamicModule"].([]any)
			}
			policy := filters[0].(object)["config"].(object)["policies"].([]any)[0].(object)
			policy["revocation"] = object{"backends": []any{tag + " before 2100-01-01T00:00:00Z"}}
		}))
		eventually(t, "the session of the revoked version is over", func() bool {
			a := get(t, "canary.test/", "Cookie", revoked)
			return a.host() != "" && a.cookie() != ""
		})
		c.checkKept(t, "while another version's sessions are revoked", "v1", "old")
	})
}
