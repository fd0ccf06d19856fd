package envoygateway

import (
	"net/http"
	"strings"
	"testing"
)

// splitsOfSorts are splits over the same versions with sessions of each sort, a version in another namespace among them, and another team's
// route on the host of the first. That may be without v2, and a version may be missing.
func splitsOfSorts(without, missing string) string {
	weights := [3]int{80, 10, 10}
	split := "  - backendRefs: " + refVersions(weights) + "\n"
	first := canary(weights, "")
	if without != "" {
		first = strings.Replace(first, makeRef(without, 10)+", ", "", 1)
	}
	return strings.Replace(base, "protocol: HTTP}", "protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}", 1) +
		versionBackends(missing, "") + first + otherTeam + vault +
		makeRoute("HTTPRoute", "strict", "strict.test", split) + policy("HTTPRoute", "strict", "onHostLost: Fail\n  failStatus: 410") +
		makeRoute("HTTPRoute", "within", "within.test", split) + policy("HTTPRoute", "within", "onHostLost: RebalanceWithin") +
		makeRoute("HTTPRoute", "wide", "wide.test", split+"  - matches: [{path: {value: /v1}}]\n    backendRefs: ["+makeRef("v1", 1)+"]\n") +
		policy("HTTPRoute", "wide", "scope: Route") +
		makeRoute("HTTPRoute", "far", "far.test", strings.Replace(split, "name: v2", "name: v2, namespace: vault", 1)) +
		policy("HTTPRoute", "far", "sessionName: far")
}

// otherTeam takes some of the requests to canary.test: by their path, and by as many headers as a request of a session has.
const otherTeam = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: team, namespace: team}
spec:
  parentRefs: [{name: web, namespace: shop}]
  hostnames: [canary.test]
  rules:
  - matches: [{path: {value: /team}}, {headers: [{name: x-team, value: "yes"}]}]
    backendRefs: [{group: gateway.envoyproxy.io, kind: Backend, name: team}]
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: Backend
metadata: {name: team, namespace: team}
spec: {endpoints: [{ip: {address: ` + teamHost + `, port: ` + backendPort + `}}]}
---
`

const teamHost = "127.0.7.1"

// vault is a namespace with a version of its own, which routes of the shop may lead to.
const vault = `apiVersion: gateway.envoyproxy.io/v1alpha1
kind: Backend
metadata: {name: v2, namespace: vault}
spec: {endpoints: [{ip: {address: 127.0.2.1, port: ` + backendPort + `}}, {ip: {address: 127.0.2.2, port: ` + backendPort + `}}]}
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: shop, namespace: vault}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: shop}]
  to: [{group: gateway.envoyproxy.io, kind: Backend}]
---
`

// TestCanarySorts has splits whose sessions are of each sort side by side, one of which has a version in another namespace, and one
// another team's route on its host. A backend leaves a rule and comes back, another is missing for a while with a host, and last a host is
// lost.
func TestCanarySorts(t *testing.T) {
	eachFilter(t, splitsOfSorts("", ""), func(t *testing.T, c *canaries) {
		startBackend(t, teamHost)
		c.begin(t)
		t.Run("a backend in another namespace", func(t *testing.T) {
			far := c.at("far.test/")
			far.begin(t)
			far.checkKept(t, "with a version in another namespace", versionNames...)
		})
		t.Run("a session for a whole route", func(t *testing.T) { c.at("wide.test/").checkWide(t) })
		t.Run("another team's route", c.checkTeam)
		t.Run("a backend out of the rule and back", c.checkTakenOut)
		strict := c.at("strict.test/")
		t.Run("a backend and a host that are missing", func(t *testing.T) { strict.checkMissing(t, c) })
		t.Run("a lost host", func(t *testing.T) { c.checkLostHost(t, strict) })
	})
}

// checkWide wants a session to be one for the route's rules: a rule that leads to v1 alone keeps the hosts of those that began over the
// split, and the other way round.
func (c *canaries) checkWide(t *testing.T) {
	c.begin(t)
	alone, on := session(t, c.url+"v1")
	for cookie, host := range map[string]string{c.cookies["v1"]: get(t, c.url, "Cookie", c.cookies["v1"]).host(), alone: on} {
		for _, url := range []string{c.url, c.url + "v1"} {
			if met := tally(t, 20, url, "Cookie", cookie); met[host] != 20 {
				t.Errorf("%s: a session on %s went to %v", url, host, met)
			}
		}
	}
	c.checkKept(t, "with other rules' requests", versionNames...)
}

// checkTeam wants another team's requests to go there, with a session of the split and without.
func (c *canaries) checkTeam(t *testing.T) {
	for url, header := range map[string]string{c.url + "team": "no", c.url: "yes"} {
		for _, cookie := range []string{c.cookies["v2"], "none=none"} {
			if met := tally(t, 20, url, "X-Team", header, "Cookie", cookie); met[teamHost] != 20 {
				t.Errorf("%s with x-team: %s and cookie %q went to %v", url, header, cookie, met)
			}
		}
	}
	c.checkKept(t, "beside another team's route", versionNames...)
}

// checkTakenOut takes v2 out of the rule: its sessions go by the weights without an error, and one that waits is there again when v2 is
// back. The others stay.
func (c *canaries) checkTakenOut(t *testing.T) {
	c.plane.apply(t, c.manifest(t, splitsOfSorts("v2", "")))
	awaitWeights(t, [3]int{80, 0, 10})
	cookie := c.cookies["v2"]
	for range 20 {
		a := get(t, c.url, "Cookie", cookie)
		if a.status != http.StatusOK || versionOf(a.host()) == "v2" {
			t.Errorf("a session of a backend that is out of the rule: status %d from %s", a.status, a.host())
		}
		if a.cookie() != "" {
			cookie = a.cookie()
		}
	}
	if met := tally(t, 20, c.url, "Cookie", cookie); len(met) != 1 || met["127.0.2.1"]+met["127.0.2.2"] > 0 {
		t.Errorf("then it went to %v", met)
	}
	c.checkKept(t, "while a backend is out of the rule", "v1", "old")
	c.plane.apply(t, c.manifest(t, splitsOfSorts("", "")))
	eventually(t, "the session that waited is in v2", func() bool {
		met := tally(t, 10, c.url, "Cookie", c.cookies["v2"])
		return met["127.0.2.1"]+met["127.0.2.2"] == 10
	})
	c.checkKept(t, "when it is back in the rule", versionNames...)
}

// checkMissing takes a backend away, and a host of another: strict sessions there get errors until they are back, and the others stay.
// Those that may move go to the other host of their version.
func (c *canaries) checkMissing(t *testing.T, moving *canaries) {
	const gone, other = "127.0.2.1", "127.0.2.2"
	c.begin(t)
	at, moves := sessionOn(t, c.url, gone), sessionOn(t, moving.url, gone)
	part := strings.Replace(splitsOfSorts("", "old"), "{ip: {address: "+gone+", port: 8080}}, ", "", 1)
	c.plane.apply(t, c.manifest(t, part))
	checkFails(t, c.url, at)
	for host, n := range tally(t, 20, c.url, "Cookie", c.cookies["old"]) {
		if versionOf(host) != "" {
			t.Errorf("%d of 20 requests of a strict session of a missing backend went to %s", n, host)
		}
	}
	if met := tally(t, 20, moving.url, "Cookie", moves); met[other] != 20 {
		t.Errorf("a session of a host that is gone went to %v", met)
	}
	c.checkKept(t, "while a backend is missing", "v1")
	c.plane.apply(t, c.manifest(t, splitsOfSorts("", "")))
	eventually(t, "the sessions are there again", func() bool {
		return get(t, c.url, "Cookie", c.cookies["old"]).host() == "127.0.3.1" && get(t, c.url, "Cookie", at).host() == gone
	})
	c.checkKept(t, "when they are back", versionNames...)
}

// checkLostHost stops a host of v2. Its sessions go to the other host of v2, by onHostLost Rebalance and RebalanceWithin; strict ones
// fail, and are there again with their host.
func (c *canaries) checkLostHost(t *testing.T, strict *canaries) {
	const lost, other = "127.0.2.1", "127.0.2.2"
	cookies := map[string]string{}
	for _, url := range []string{c.url, "within.test/", strict.url} {
		cookies[url] = sessionOn(t, url, lost)
	}
	c.started[lost].stop()
	for url, want := range map[string]string{c.url: other, "within.test/": other, strict.url: http.StatusText(http.StatusGone)} {
		if met := tally(t, 20, url, "Cookie", cookies[url]); met[want] != 20 {
			t.Errorf("%s: requests of a session on the host that is lost got %v, want %s", url, met, want)
		}
	}
	strict.checkKept(t, "with a host of another version lost", "v1", "old")
	startBackend(t, lost)
	eventually(t, "the strict session is there again", func() bool { return get(t, strict.url, "Cookie", cookies[strict.url]).host() == lost })
	if met := tally(t, 20, strict.url, "Cookie", cookies[strict.url]); met[lost] != 20 {
		t.Errorf("with its host back a strict session went to %v", met)
	}
}
