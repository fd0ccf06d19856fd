package envoygateway

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
)

// The versions of a canary, and their hosts.
var versions = map[string][]string{"v1": {"127.0.1.1", "127.0.1.2"}, "v2": {"127.0.2.1", "127.0.2.2"}, "old": {"127.0.3.1"}}

var versionNames = []string{"v1", "v2", "old"}

// versionOf is the version that a host belongs to, empty for none.
func versionOf(host string) string {
	for name, hosts := range versions {
		for _, h := range hosts {
			if h == host {
				return name
			}
		}
	}
	if host == namedHost {
		return "old"
	}
	return ""
}

// refVersions are backendRefs to the versions, with weights.
func refVersions(weights [3]int) string {
	var refs []string
	for i, name := range versionNames {
		refs = append(refs, makeRef(name, weights[i]))
	}
	return "[" + strings.Join(refs, ", ") + "]"
}

// canary is a route whose rule "split" has a session over the three versions, with weights for them; extra is what the rule has besides.
func canary(weights [3]int, extra string) string {
	return makeRoute("HTTPRoute", "canary", "canary.test", "  - name: split\n    sessionPersistence: {sessionName: cart}\n"+extra+
		"    backendRefs: "+refVersions(weights)+"\n  - name: health\n    matches: [{path: {value: /health}}]\n    backendRefs: ["+makeRef("v1", 1)+"]\n")
}

// versionBackends are Backends of the versions, of which one may be missing, and one may have a name for its host, which is namedHost.
func versionBackends(missing, named string) string {
	var all string
	for _, name := range versionNames {
		switch name {
		case missing:
		case named:
			all += "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: Backend\nmetadata: {name: " + name + ", namespace: shop}\n" +
				"spec: {endpoints: [{fqdn: {hostname: " + hostName + ", port: " + backendPort + "}}]}\n---\n"
		default:
			all += backends(map[string][]string{name: versions[name]}, "")
		}
	}
	return all
}

// hostName is resolved to namedHost by Envoy itself, without a server: all names below localhost are.
const (
	hostName  = "old.localhost"
	namedHost = "127.0.0.1"
)

// canaries is a running split with its sessions.
type canaries struct {
	plane   *controlPlane
	options []string
	started map[string]*backend
	// url is where the sessions are, and cookies are theirs in each version.
	url     string
	cookies map[string]string
}

// at is the same for the sessions of another URL.
func (c *canaries) at(url string) *canaries {
	other := *c
	other.url, other.cookies = url, nil
	return &other
}

// eachFilter starts the split with each filter, on a fresh Envoy Gateway.
func eachFilter(t *testing.T, input string, test func(t *testing.T, c *canaries)) {
	t.Helper()
	key := ring(t, newKey(t, "one"))
	for _, filter := range []string{"wasm", "native"} {
		t.Run(filter, func(t *testing.T) {
			c := &canaries{url: "canary.test/", started: startHosts(t, versions), options: []string{"--keys", key, "--keys-in-clear"}}
			if filter == "native" {
				c.options = append(c.options, "--filter", "native", "--filter-path", installModule(t, "liblimpet.so"))
			} else {
				serveModule(t)
				c.options = append(c.options, "--wasm-url", wasmURL)
			}
			c.plane = start(t, c.manifest(t, input))
			c.plane.serves(t, "canary.test/health")
			test(t, c)
		})
	}
}

func (c *canaries) manifest(t *testing.T, input string) string {
	t.Helper()
	return with(t, compile(t, input, nil, c.options...), input)
}

// begin opens a session in each version.
func (c *canaries) begin(t *testing.T) {
	t.Helper()
	c.cookies = map[string]string{}
	for range 400 {
		a := get(t, c.url)
		if version := versionOf(a.host()); version != "" && c.cookies[version] == "" {
			c.cookies[version] = a.cookie()
		}
		if len(c.cookies) == len(versions) {
			return
		}
	}
	t.Fatalf("%s: sessions in %d versions alone", c.url, len(c.cookies))
}

// checkKept wants the sessions in their versions, on every request.
func (c *canaries) checkKept(t *testing.T, when string, names ...string) {
	t.Helper()
	for _, name := range names {
		for host, n := range tally(t, 10, c.url, "Cookie", c.cookies[name]) {
			if versionOf(host) != name {
				t.Errorf("%s: %d of 10 requests of a session of %s in %s went to %s", when, n, c.url, name, host)
			}
		}
	}
}

// awaitWeights waits until new sessions go where the weights say: to all versions with one, and to no other.
func awaitWeights(t *testing.T, weights [3]int) {
	t.Helper()
	eventually(t, fmt.Sprintf("new sessions go by %v", weights), func() bool {
		on := map[string]int{}
		for host := range tally(t, 150, "canary.test/") {
			on[versionOf(host)]++
		}
		if on[""] > 0 { // an error
			return false
		}
		for i, name := range versionNames {
			if weights[i] == 0 && on[name] > 0 || 20*weights[i] >= weights[0]+weights[1]+weights[2] && on[name] == 0 {
				return false
			}
		}
		return true
	})
}

// checkShares wants 3,000 new sessions to be spread by the weights: chi-squared with two degrees of freedom is above 27.6 once in a million.
func checkShares(t *testing.T, weights [3]int) {
	t.Helper()
	const sessions = 3000
	on := map[string]int{}
	for host, n := range tally(t, sessions, "canary.test/") {
		on[versionOf(host)] += n
	}
	chi := 0.0
	for i, name := range versionNames {
		want := float64(sessions*weights[i]) / float64(weights[0]+weights[1]+weights[2])
		chi += (float64(on[name]) - want) * (float64(on[name]) - want) / want
	}
	if chi > 27.6 || on[""] > 0 {
		t.Errorf("%d new sessions by %v went to %v: chi-squared %.1f", sessions, weights, on, chi)
	}
}

// TestCanaryWeights has sessions at each version through random weights, 0 and 100 among them. The weights change in the object that
// limpet wrote, as a rollout controller changes them, without a compilation; limpet's manifest then has the old ones again.
func TestCanaryWeights(t *testing.T) {
	input := func(w [3]int) string { return base + versionBackends("", "") + canary(w, "") }
	eachFilter(t, input([3]int{60, 30, 10}), func(t *testing.T, c *canaries) {
		c.begin(t)
		checkShares(t, [3]int{60, 30, 10})
		written := c.manifest(t, input([3]int{60, 30, 10}))
		random := rand.New(rand.NewPCG(36, 36))
		for i := range changes() {
			weights := chooseWeights(random)
			c.plane.apply(t, edited(t, written, "HTTPRoute", "canary", func(d object) {
				for n, ref := range rulesOf(d)[0].(object)["backendRefs"].([]any) {
					ref.(object)["weight"] = weights[n]
				}
			}))
			c.checkKept(t, "while weights change", versionNames...)
			if i%10 == 0 {
				awaitWeights(t, weights)
				c.checkKept(t, fmt.Sprint("at ", weights), versionNames...)
			}
		}
		c.plane.apply(t, written)
		awaitWeights(t, [3]int{60, 30, 10})
		c.checkKept(t, "when limpet's manifest is applied again", versionNames...)
		c.checkCopyWithoutWeight(t, written)
	})
}

// checkCopyWithoutWeight has a controller write 0 to all references to a version: its sessions have one error, and go on in another.
func (c *canaries) checkCopyWithoutWeight(t *testing.T, manifest string) {
	t.Helper()
	c.plane.apply(t, edited(t, manifest, "HTTPRoute", "canary", func(d object) {
		for _, rule := range rulesOf(d) {
			for _, ref := range rule.(object)["backendRefs"].([]any) {
				if r := ref.(object); r["name"] == "old" {
					r["weight"] = 0
				}
			}
		}
	}))
	awaitWeights(t, [3]int{60, 30, 0})
	c.checkOneError(t)
	c.checkKept(t, "without the copy of another version", "v1", "v2")
}

// changes is how often weights change; 200 times with LIMPET_LONG.
func changes() int {
	if os.Getenv("LIMPET_LONG") != "" {
		return 200
	}
	return 20
}

// chooseWeights gives each version 0, 100 or any weight, and not 0 to all.
func chooseWeights(random *rand.Rand) (w [3]int) {
	for w == [3]int{} {
		for i := range w {
			w[i] = []int{0, 0, 100, random.IntN(101)}[random.IntN(4)]
		}
	}
	return w
}

// byZone balances by zones. Each policy has a name of its own, for the provider merges what has the same.
func byZone(name, aware string) string {
	return `apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: ` + name + `, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: canary}]
  loadBalancer: {type: LeastRequest, zoneAware: {` + aware + `}}
---
`
}

// TestCanaryShapes has what makes Envoy Gateway give each backend of a split a cluster: a backend that is missing, one with a name
// beside others with addresses, zones, protocols and TLS that differ. Sessions keep their versions; those of a backend that is not there
// get one error at the most, and then go by the weights.
func TestCanaryShapes(t *testing.T) {
	input := func(missing, named string, weights ...int) string {
		return base + versionBackends(missing, named) + canary([3]int(weights), "")
	}
	whole := input("", "", 45, 45, 10)
	eachFilter(t, whole, func(t *testing.T, c *canaries) {
		c.begin(t)
		c.plane.apply(t, c.manifest(t, input("old", "", 45, 45, 10)))
		eventually(t, "Envoy has no cluster for the missing backend", func() bool { return !strings.Contains(admin(t, "/clusters"), "127.0.3.1:8080") })
		c.checkKept(t, "while a backend is missing", "v1", "v2")
		c.plane.apply(t, c.manifest(t, input("old", "", 50, 50, 0)))
		awaitWeights(t, [3]int{50, 50, 0})
		c.checkOneError(t)
		c.plane.apply(t, c.manifest(t, whole))
		awaitWeights(t, [3]int{45, 45, 10})
		c.checkKept(t, "when it is back", "v1", "v2")
		startBackend(t, namedHost)
		c.plane.apply(t, c.manifest(t, input("", "old", 45, 45, 10)))
		eventually(t, "Envoy has the host behind the name", func() bool { return tally(t, 60, "canary.test/")[namedHost] > 0 })
		c.checkKept(t, "with a name beside addresses", "v1", "v2")
		c.begin(t)
		c.checkKept(t, "with sessions behind a name", versionNames...)
		c.checkShapes(t, whole, canary([3]int{45, 45, 10}, ""))
	})
}

// checkShapes wants sessions to stay in their versions where Envoy Gateway goes by zones, or the versions differ in protocols or TLS.
func (c *canaries) checkShapes(t *testing.T, whole, route string) {
	for _, host := range versions["v1"] {
		c.started[host].serveTLS(t)
	}
	v1 := func(spec string) string { return backends(map[string][]string{"v1": versions["v1"]}, spec) }
	others := backends(map[string][]string{"old": versions["old"]}, "") +
		backends(map[string][]string{"v2": versions["v2"]}, "appProtocols: [gateway.envoyproxy.io/h2c], ")
	secured := strings.NewReplacer("port: "+backendPort, "port: "+tlsPort, "{ip:", "{hostname: v1.test, ip:").
		Replace(v1("tls: {insecureSkipVerify: true, autoSNIFromEndpointHostname: true}, "))
	const nearest = "zone_aware_lb_config"
	for _, shape := range []struct{ what, input, has, lacks string }{
		{"the nearest zone first", whole + byZone("nearest", "preferLocal: {}"), nearest, "auto_host_sni"},
		{"weights of zones", whole + byZone("weighted", "weightedZones: [{zone: a, weight: 3}]"), "least_request", nearest},
		{"HTTP/1 and HTTP/2", base + v1("appProtocols: [gateway.envoyproxy.io/ws], ") + others + route, "http2_protocol_options", nearest},
		{"TLS for one by its own name", base + secured + others + route, "auto_host_sni", nearest},
	} {
		c.plane.apply(t, c.manifest(t, shape.input))
		eventually(t, "Envoy has "+shape.what, func() bool {
			clusters := admin(t, "/config_dump?resource=dynamic_active_clusters")
			return strings.Contains(clusters, shape.has) && !strings.Contains(clusters, shape.lacks)
		})
		c.begin(t)
		c.checkKept(t, "with "+shape.what, versionNames...)
	}
}

// checkOneError wants a session of the missing backend to end with one error, and a new one, which begins by the weights, to stay in
// another. The weights may send requests without a session to the missing backend: their errors don't count.
func (c *canaries) checkOneError(t *testing.T) {
	t.Helper()
	lost, wrong := c.cookies["old"], 0
	cookie := lost
	for range 20 {
		a := get(t, "canary.test/", "Cookie", cookie)
		if a.status != http.StatusOK && cookie == lost {
			wrong++
		}
		if a.header.Get("Set-Cookie") != "" {
			cookie = a.cookie() // without a value where the session is over
		}
	}
	on := tally(t, 10, "canary.test/", "Cookie", cookie)
	if wrong > 1 || cookie == lost || len(on) != 1 {
		t.Errorf("%d of 20 requests with the session had errors, and then the new one went to %v", wrong, on)
	}
}

// leadHeader is limpet's internal header that leads to a backend.
const leadHeader = "X-Limpet-Pin-Backend"

// leadOf is the value that leads to a version, as the copy for it has it.
func leadOf(t *testing.T, manifest, version string) string {
	t.Helper()
	for _, d := range documents(t, manifest) {
		if d["kind"] != "HTTPRoute" || nameOf(d) != "canary" {
			continue
		}
		for _, rule := range rulesOf(d) {
			refs := rule.(object)["backendRefs"].([]any)
			matches, _ := rule.(object)["matches"].([]any)
			if len(matches) == 0 || len(refs) != 1 || refs[0].(object)["name"] != version {
				continue
			}
			if headers, _ := matches[0].(object)["headers"].([]any); len(headers) == 1 {
				return headers[0].(object)["value"].(string)
			}
		}
	}
	t.Fatalf("no copy for %s in %s", version, manifest)
	return ""
}
