package envoygateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// installModule puts the shipped liblimpet.so where this machine's proxies find it, under a name.
func installModule(t *testing.T, name string) string {
	t.Helper()
	module, err := os.ReadFile(nativeFile)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, module, 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// mirrored is a route whose copies go to a mirror.
func mirrored() string {
	return makeRoute("HTTPRoute", "mirrored", "mirrored.test", "  - sessionPersistence: {sessionName: cart}\n"+
		"    filters: [{type: RequestMirror, requestMirror: {backendRef: {group: gateway.envoyproxy.io, kind: Backend, name: mirror}}}]\n"+
		"    backendRefs: ["+makeRef("old", 1)+"]\n")
}

// TestNative goes through a session's life with the native filter: what TestSessions does, with neither a pin header nor a fence.
func TestNative(t *testing.T) {
	started := startBackends(t)
	module := installModule(t, "liblimpet.so")
	first, second := newKey(t, "first"), newKey(t, "second")
	environment := []string{"LIMPET_ROOT=" + root}
	manifest := func(input string, keys ...string) string {
		input += mirrored()
		return with(t, compile(t, input, environment, "--filter", "native", "--filter-path", module, "--keys", ring(t, keys...)), input)
	}
	p := start(t, manifest(shop(1), first), environment...)
	p.serves(t, "shop.test/")
	if dump := admin(t, "/config_dump?resource=dynamic_listeners"); !strings.Contains(dump, module) || strings.Contains(dump, "stateful_session") {
		t.Errorf("Envoy has not the module alone:\n%s", dump)
	}
	for name, check := range map[string]func(*testing.T){
		"sessions stick":                      func(t *testing.T) { checkSticks(t, "shop.test/") },
		"new sessions are spread":             func(t *testing.T) { checkSpread(t, "shop.test/") },
		"forged tokens do not stick":          func(t *testing.T) { checkForged(t, "shop.test/") },
		"clients do not steer":                func(t *testing.T) { checkSteering(t, "shop.test/") },
		"backends sign no pin":                func(t *testing.T) { checkUnsigned(t, "shop") },
		"backends have sessions of their own": checkApart,
		"a lost host's sessions move":         func(t *testing.T) { checkMoves(t, started) },
		"mirrors get no token": func(t *testing.T) {
			if !hidesTokens(t, started["127.0.6.1"], "mirrored") {
				t.Error("the mirror has the token")
			}
		},
	} {
		t.Run(name, check)
	}
	checkChanges(t, p, manifest, first, second)
	t.Run("a new file under a new name takes over", func(t *testing.T) {
		module = installModule(t, "liblimpet-new.so")
		cookie, host := session(t, "shop.test/")
		p.apply(t, manifest(shop(0), second))
		eventually(t, "Envoy has the new file", func() bool {
			return strings.Contains(admin(t, "/config_dump?resource=dynamic_listeners"), module)
		})
		if on := tally(t, 20, "shop.test/", "Cookie", cookie); on[host] != 20 {
			t.Errorf("the session went to %v", on)
		}
	})
	t.Run("a missing file changes nothing", func(t *testing.T) {
		cookie, host := session(t, "shop.test/")
		module = "/missing/liblimpet.so"
		p.apply(t, manifest(shop(0), second))
		eventually(t, "Envoy refuses it", func() bool { return strings.Contains(p.lines(1000), "/missing/liblimpet.so") })
		if on := tally(t, 20, "shop.test/", "Cookie", cookie); on[host] != 20 {
			t.Errorf("the session went to %v", on)
		}
	})
}

// checkUnsigned wants a backend's word about pins to have no effect.
func checkUnsigned(t *testing.T, route string) {
	if !signsNone(t, route) {
		t.Error("a backend's pin is signed")
	}
}

// TestNativeCalls has sessions of a GRPCRoute: the module needs no patch for them.
func TestNativeCalls(t *testing.T) {
	startBackend(t, "127.0.1.1")
	startBackend(t, "127.0.1.2")
	input := base + backends(map[string][]string{"calls": backendHosts["blue"]}, "appProtocols: [gateway.envoyproxy.io/h2c], ") +
		makeRoute("GRPCRoute", "calls", "calls.test", "  - sessionPersistence: {type: Header, sessionName: x-session}\n    backendRefs: ["+makeRef("calls", 1)+"]\n")
	manifest := with(t, compile(t, input, nil, "--filter", "native", "--filter-path", installModule(t, "liblimpet.so"),
		"--keys", ring(t, newKey(t, "one")), "--keys-in-clear"), input)
	start(t, manifest)
	eventually(t, "calls are served", func() bool {
		host, _, _ := call(t, "")
		return host != ""
	})
	for range 3 {
		host, token, _ := call(t, "")
		if token == "" {
			t.Fatal("no token")
		}
		for range 20 {
			if on, _, _ := call(t, token); on != host {
				t.Fatalf("a session of %s went to %s", host, on)
			}
		}
	}
}

// TestNativeNeedsItsModule shows that routes with sessions are refused where the EnvoyProxy does not allow the module, and others
// are served.
func TestNativeNeedsItsModule(t *testing.T) {
	startBackends(t)
	manifest := with(t, compile(t, shop(1), nil, "--filter", "native", "--filter-path", installModule(t, "liblimpet.so"),
		"--keys", ring(t, newKey(t, "one")), "--keys-in-clear"), shop(1))
	manifest = edited(t, manifest, "EnvoyProxy", "host", func(d object) { delete(d["spec"].(object), "dynamicModules") })
	start(t, manifest).serves(t, "plain.test/")
	if a := get(t, "shop.test/"); a.status != 500 {
		t.Errorf("status %d from %q without the module", a.status, a.host())
	}
}
