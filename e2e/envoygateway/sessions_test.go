package envoygateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// backendHosts are the hosts of the Backends.
var backendHosts = map[string][]string{
	"blue": {"127.0.1.1", "127.0.1.2"}, "green": {"127.0.2.1"}, "old": {"127.0.3.1"},
	"lost": {"127.0.4.1", "127.0.4.2"}, "strict": {"127.0.5.1", "127.0.5.2"},
	"mirror": {"127.0.6.1"},
}

// startBackends starts all of them, by their addresses.
func startBackends(t *testing.T) map[string]*backend {
	t.Helper()
	return startHosts(t, backendHosts)
}

// startHosts starts the hosts of backends, by their addresses.
func startHosts(t *testing.T, hosts map[string][]string) map[string]*backend {
	t.Helper()
	started := map[string]*backend{}
	for _, addresses := range hosts {
		for _, a := range addresses {
			started[a] = startBackend(t, a)
		}
	}
	return started
}

const root = "envoy-gateway:dGVzdC1yb290LXRlc3Qtcm9vdC10ZXN0LXJvb3QtdGVzdC1yb290"

// shop is the input of TestSessions; the Backend "old" has the weight given.
func shop(old int) string {
	return base + backends(backendHosts, "") +
		makeRoute("HTTPRoute", "shop", "shop.test", "  - sessionPersistence: {sessionName: cart}\n    backendRefs: ["+makeRef("blue", 2)+", "+makeRef("green", 1)+", "+makeRef("old", old)+"]\n") +
		makeRoute("HTTPRoute", "apart", "apart.test", "  - sessionPersistence: {cookie: {name: cart}}\n    backendRefs: ["+makeRef("blue", 1)+", "+makeRef("green", 1)+"]\n") +
		makeRoute("HTTPRoute", "lost", "lost.test", "  - sessionPersistence: {sessionName: lost}\n    backendRefs: ["+makeRef("lost", 1)+"]\n") +
		makeRoute("HTTPRoute", "strict", "strict.test", "  - backendRefs: ["+makeRef("strict", 1)+"]\n") +
		policy("HTTPRoute", "strict", "sessionName: strict\n  onHostLost: Fail\n  failStatus: 410") +
		makeRoute("HTTPRoute", "plain", "plain.test", "  - backendRefs: ["+makeRef("blue", 1)+"]\n")
}

// ring writes a key file with the keys in this order and gives its name.
func ring(t *testing.T, keys ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, []byte(`{"keys":[`+strings.Join(keys, ",")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// newKey is a key of a ring.
func newKey(t *testing.T, id string) string {
	t.Helper()
	var made struct{ Keys []json.RawMessage }
	if err := json.Unmarshal([]byte(limpet(t, "", nil, "keygen", "--id", id)), &made); err != nil || len(made.Keys) != 1 {
		t.Fatal(err, made)
	}
	return string(made.Keys[0])
}

// TestSessions goes through a session's life under one Envoy Gateway, which gets several manifests one after the other.
func TestSessions(t *testing.T) {
	serveModule(t)
	started := startBackends(t)
	first, second := newKey(t, "first"), newKey(t, "second")
	environment := []string{"LIMPET_ROOT=" + root}
	manifest := func(input string, keys ...string) string {
		return with(t, compile(t, input, environment, "--wasm-url", wasmURL, "--keys", ring(t, keys...)), input)
	}
	p := start(t, manifest(shop(1), first), environment...)
	p.serves(t, "shop.test/")
	for name, check := range map[string]func(*testing.T){
		"sessions stick":                        func(t *testing.T) { checkSticks(t, "shop.test/") },
		"new sessions are spread":               func(t *testing.T) { checkSpread(t, "shop.test/") },
		"forged tokens do not stick":            func(t *testing.T) { checkForged(t, "shop.test/") },
		"clients do not steer":                  func(t *testing.T) { checkSteering(t, "shop.test/") },
		"the pin leaks neither way":             func(t *testing.T) { checkHidden(t, "shop.test/") },
		"a route without a policy is as it was": checkPlain,
		"backends have sessions of their own":   checkApart,
		"a lost host's sessions move":           func(t *testing.T) { checkMoves(t, started) },
	} {
		t.Run(name, check)
	}
	checkChanges(t, p, manifest, first, second)
}

// checkChanges applies manifests one after the other, in which hosts go, drain and lose their weight, and keys change.
func checkChanges(t *testing.T, p *controlPlane, manifest func(input string, keys ...string) string, first, second string) {
	t.Run("a strict session fails with its host", func(t *testing.T) {
		cookie := sessionOn(t, "strict.test/", "127.0.5.1")
		input := strings.Replace(shop(1), "{ip: {address: 127.0.5.1, port: 8080}}, ", "", 1)
		p.apply(t, manifest(input, first))
		checkFails(t, "strict.test/", cookie)
		checkSticks(t, "strict.test/") // others have sessions on the hosts that are left
	})
	kept := sessionOn(t, "shop.test/", "127.0.3.1")
	t.Run("a backend of weight 0 keeps its sessions", func(t *testing.T) {
		p.apply(t, manifest(shop(0), first))
		checkWeightZero(t, kept)
	})
	t.Run("draining hosts keep their sessions", func(t *testing.T) {
		cookie := sessionOn(t, "shop.test/", "127.0.1.1")
		p.apply(t, manifest(shop(0), first)+yamlOf(t, // in the rule's own cluster, and in that of its sessions
			drain("httproute/shop/shop/rule/0/backend/0", "127.0.1.1"), drain("httproute/shop/shop/rule/1/backend/0", "127.0.1.1")))
		checkDraining(t, "shop.test/", cookie, "127.0.1.1")
	})
	t.Run("key rotation loses no session", func(t *testing.T) {
		checkRotation(t, func(keys ...string) { p.apply(t, manifest(shop(0), keys...)) }, first, second)
	})
}

func checkSticks(t *testing.T, url string) {
	for range 5 {
		cookie, host := session(t, url)
		if on := tally(t, 10, url, "Cookie", cookie); on[host] != 10 {
			t.Fatalf("a session of %s went to %v", host, on)
		}
	}
}

// checkSpread wants each host to get some of many requests; the smallest share is a fifth, so one is missed by chance
// once in 10^9.
func checkSpread(t *testing.T, url string) {
	on := tally(t, 100, url)
	if len(on) != 4 {
		t.Errorf("requests without a session went to %v, want four hosts", on)
	}
}

func checkForged(t *testing.T, url string) {
	cookie, host := session(t, url)
	flipped := map[byte]string{'A': "Q"}[cookie[len(cookie)-1]]
	if flipped == "" {
		flipped = "A"
	}
	on := tally(t, manyTries, url, "Cookie", cookie[:len(cookie)-1]+flipped)
	if on[host] == manyTries {
		t.Error("a forged token stuck")
	}
	other, on2 := session(t, "apart.test/")
	_, token, _ := strings.Cut(other, "=")
	if on := tally(t, manyTries, url, "Cookie", "cart="+token); on[on2] == manyTries {
		t.Errorf("a token of another route stuck to %s", on2)
	}
}

func checkSteering(t *testing.T, url string) {
	for _, host := range []string{"127.0.2.1", "127.0.1.1"} {
		if on := tally(t, manyTries, url, pinHeader, pinTo(host)); on[host] == manyTries {
			t.Errorf("a client chose %s by the internal header", host)
		}
	}
}

func checkHidden(t *testing.T, url string) {
	cookie, _ := session(t, url)
	for _, headers := range [][]string{nil, {"Cookie", cookie}, {pinHeader, pinTo("127.0.2.1")}} {
		a := get(t, url, headers...)
		if got := a.header.Get(pinHeader); got != "" {
			t.Errorf("with %v a client got the internal header: %s", headers, got)
		}
		if got := a.echo.Header.Get(pinHeader); got != "" {
			t.Errorf("with %v a backend got the internal header: %s", headers, got)
		}
	}
}

func checkPlain(t *testing.T) {
	for range 5 {
		a := get(t, "plain.test/", pinHeader, pinTo("127.0.1.1"))
		if len(a.header.Values("Set-Cookie")) > 0 || a.header.Get(pinHeader) != "" || a.echo.Header.Get(pinHeader) != "" {
			t.Errorf("set cookies %q, pins %q and %q", a.header.Values("Set-Cookie"), a.header.Get(pinHeader), a.echo.Header.Get(pinHeader))
		}
	}
}

// checkApart collects a session of each backend, and sends both: the weights choose, and within the choice the session.
func checkApart(t *testing.T) {
	jar := map[string]string{} // cookies by the backend
	pinned := map[string]string{}
	for range 200 {
		if len(jar) == 2 {
			break
		}
		cookie, host := session(t, "apart.test/")
		side := host[:len("127.0.1")]
		jar[side], pinned[side] = cookie, host
	}
	var cookies []string
	for _, c := range jar {
		cookies = append(cookies, c)
	}
	on := tally(t, manyTries, "apart.test/", "Cookie", strings.Join(cookies, "; "))
	if len(on) != 2 || on[pinned["127.0.1"]]+on[pinned["127.0.2"]] != manyTries {
		t.Errorf("requests with the sessions %v went to %v", pinned, on)
	}
}

// checkMoves stops a host: its session gets another one in the same answer, and a new token.
func checkMoves(t *testing.T, started map[string]*backend) {
	cookie := sessionOn(t, "lost.test/", "127.0.4.1")
	started["127.0.4.1"].stop()
	a := get(t, "lost.test/", "Cookie", cookie)
	if a.status != http.StatusOK || a.host() != "127.0.4.2" || a.cookie() == "" {
		t.Fatalf("status %d from %q with cookie %q", a.status, a.host(), a.cookie())
	}
	if on := tally(t, 10, "lost.test/", "Cookie", a.cookie()); on["127.0.4.2"] != 10 {
		t.Errorf("afterwards it went to %v", on)
	}
}

// checkFails wants the status that the policy asks for, once the session's host is gone.
func checkFails(t *testing.T, url, cookie string) {
	eventually(t, "the session gets 410", func() bool { return get(t, url, "Cookie", cookie).status == http.StatusGone })
	if on := tally(t, 20, url, "Cookie", cookie); on["Gone"] != 20 {
		t.Errorf("it went to %v", on)
	}
}

// checkWeightZero wants no new session on the host, and the old one still there. At a fifth of the requests it would be
// missed in 100 once in 10^9.
func checkWeightZero(t *testing.T, cookie string) {
	eventually(t, "127.0.3.1 gets no new requests", func() bool { return tally(t, 100, "shop.test/")["127.0.3.1"] == 0 })
	if on := tally(t, 20, "shop.test/", "Cookie", cookie); on["127.0.3.1"] != 20 {
		t.Errorf("its session went to %v", on)
	}
}

// drain makes a host draining, as Envoy Gateway does when its EndpointSlice says that it serves and terminates. With
// its file provider there are no EndpointSlices.
func drain(cluster, address string) object {
	return patchPolicy("drain-"+strings.ReplaceAll(cluster, "/", "-")+"-"+address, object{
		"type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment", "name": cluster,
		"operation": object{
			"op": "add", "path": "health_status", "value": "DRAINING",
			"jsonPath": fmt.Sprintf("$.endpoints[*].lb_endpoints[?(@.endpoint.address.socket_address.address=='%s')]", address),
		},
	})
}

func checkDraining(t *testing.T, url, cookie, host string) {
	eventually(t, host+" gets no new requests", func() bool { return tally(t, 100, url)[host] == 0 })
	if on := tally(t, 20, url, "Cookie", cookie); on[host] != 20 {
		t.Errorf("its session went to %v", on)
	}
}

// checkRotation puts a new key before the old one, waits until it signs, and takes the old one away; the session is on
// its host throughout.
func checkRotation(t *testing.T, apply func(keys ...string), first, second string) {
	cookie, host := session(t, "shop.test/")
	apply(second, first)
	renewed := ""
	eventually(t, "the new key signs", func() bool {
		a := get(t, "shop.test/", "Cookie", cookie)
		if a.status != http.StatusOK || a.host() != host {
			t.Fatalf("status %d from %s, want %s", a.status, a.host(), host)
		}
		renewed = a.cookie()
		return renewed != ""
	})
	apply(second)
	eventually(t, "the old key is void", func() bool {
		return get(t, "shop.test/", "Cookie", cookie).cookie() != "" && len(tally(t, manyTries, "shop.test/", "Cookie", cookie)) > 1
	})
	if on := tally(t, 20, "shop.test/", "Cookie", renewed); on[host] != 20 {
		t.Errorf("the session under the new key went to %v", on)
	}
}
