package envoygateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// nameOf gives a document's name.
func nameOf(d object) string { return d["metadata"].(object)["name"].(string) }

// parted gives the documents that are wanted, and the others.
func parted(t *testing.T, manifest string, wanted func(object) bool) (chosen, others string) {
	t.Helper()
	for _, d := range documents(t, manifest) {
		if wanted(d) {
			chosen += yamlOf(t, d)
		} else {
			others += yamlOf(t, d)
		}
	}
	return chosen, others
}

// edited is a manifest with one document changed; that there is one is part of the test.
func edited(t *testing.T, manifest, kind, named string, change func(object)) string {
	t.Helper()
	found := false
	var all string
	for _, d := range documents(t, manifest) {
		if d["kind"] == kind && nameOf(d) == named {
			found = true
			change(d)
		}
		all += yamlOf(t, d)
	}
	if !found {
		t.Fatalf("no %s %s", kind, named)
	}
	return all
}

// piece is something that limpet writes for a route: what it is taken out of, and the check that fails for want of it.
type piece struct {
	route     string
	kind, doc string
	cut       func(*testing.T, object)
	check     string
}

// pieces are each taken from a route of their own; on the one with the same ending that begins with "whole", from which
// nothing is taken, the check holds. Names end in -strict for sessions that fail with their host, and
// in -full for splits without room for copies.
var pieces = []piece{
	{"unpinned", "HTTPRoute", "unpinned", cutField("sessionPersistence"), "sticks"},
	{"forwarding", "HTTPRoute", "forwarding", cutFilter("RequestHeaderModifier"), "hides the pin from backends"},
	{"planted", "HTTPRoute", "planted", cutFilter("ResponseHeaderModifier"), "signs no pin of a backend"},
	{"unretried", "HTTPRoute", "unretried", cutField("retry"), "moves off a host that refuses"},
	{"unfiltered", "EnvoyExtensionPolicy", "limpet", cutTarget("unfiltered"), "sticks"},
	{"weighty-full", "EnvoyPatchPolicy", "limpet-web", cutPatch("weighty-full", "load_balancing_weight"), "takes the weight away"},
	{"overflowing-full", "EnvoyPatchPolicy", "limpet-web", cutPatch("overflowing-full", "/policy"), "keeps the shares"},
	{"undrained", "EnvoyPatchPolicy", "limpet-web", cutPatch("undrained", "override_host_status"), "stays on a draining host"},
	{"copied-mirrored", "EnvoyPatchPolicy", "limpet-web", cutPatch("copied-mirrored", "request_headers_mutations"), "keeps tokens from mirrors"},
	{"lenient-strict", "EnvoyPatchPolicy", "limpet-web", cutPatch("lenient-strict", "typed_per_filter_config"), "fails with its host"},
}

func rulesOf(d object) []any { return d["spec"].(object)["rules"].([]any) }

func cutField(field string) func(*testing.T, object) {
	return func(t *testing.T, d object) {
		rule := rulesOf(d)[0].(object)
		if rule[field] == nil {
			t.Fatalf("no %s to take out", field)
		}
		delete(rule, field)
	}
}

// without takes the entries out of a list for which drop holds, one at least.
func without(t *testing.T, list any, drop func(object) bool) []any {
	t.Helper()
	before := list.([]any)
	after := slices.DeleteFunc(slices.Clone(before), func(e any) bool { return drop(e.(object)) })
	if len(after) == len(before) {
		t.Fatal("nothing to take out")
	}
	return after
}

func cutFilter(kind string) func(*testing.T, object) {
	return func(t *testing.T, d object) {
		rule := rulesOf(d)[0].(object)
		rule["filters"] = without(t, rule["filters"], func(f object) bool { return f["type"] == kind })
	}
}

func cutTarget(route string) func(*testing.T, object) {
	return func(t *testing.T, d object) {
		spec := d["spec"].(object)
		spec["targetRefs"] = without(t, spec["targetRefs"], func(r object) bool { return r["name"] == route })
	}
}

// cutPatch takes the patches out that are about a route and a field.
func cutPatch(route, field string) func(*testing.T, object) {
	return func(t *testing.T, d object) {
		spec := d["spec"].(object)
		spec["jsonPatches"] = without(t, spec["jsonPatches"], func(p object) bool {
			operation := p["operation"].(object)
			path, _ := operation["path"].(string)
			where, _ := operation["jsonPath"].(string)
			return strings.Contains(path, field) && strings.Contains(p["name"].(string)+where, "/shop/"+route+"/")
		})
	}
}

// deadHost is an address of a Backend at which no server listens.
const deadHost = "127.0.1.9"

// parts is the input of TestEveryPieceIsNeeded: routes that differ in their names only, and some that are strict.
func parts() string {
	input := base + backends(map[string][]string{
		"blue": append([]string{deadHost}, backendHosts["blue"]...), "old": backendHosts["old"], "strict": backendHosts["strict"],
		"mirror": backendHosts["mirror"],
	}, "")
	for _, p := range append([]piece{{route: "whole"}, {route: "whole-strict"}, {route: "whole-mirrored"}, {route: "whole-full"}}, pieces...) {
		refs, filters := makeRef("blue", 1), ""
		switch ending(p.route) {
		case "-full":
			refs += ", " + makeRef("old", 0)
			for i := range 16 {
				filters += fmt.Sprintf(", {name: x-%d, value: a}", i)
			}
			filters = "    matches: [{headers: [" + filters[2:] + "]}]\n"
		case "-mirrored":
			refs = makeRef("old", 1)
			filters = "    filters: [{type: RequestMirror, requestMirror: {backendRef: {group: gateway.envoyproxy.io, kind: Backend, name: mirror}}}]\n"
		case "-strict":
			refs = makeRef("strict", 1)
			input += policy("HTTPRoute", p.route, "sessionName: cart\n  onHostLost: Fail\n  failStatus: 410")
		}
		input += makeRoute("HTTPRoute", p.route, p.route+".test", "  - sessionPersistence: {sessionName: cart}\n"+filters+"    backendRefs: ["+refs+"]\n")
	}
	return input + makeRoute("HTTPRoute", "plain", "plain.test", "  - backendRefs: ["+makeRef("old", 1)+"]\n")
}

// ending is what the names of alike routes end in.
func ending(route string) string {
	if i := strings.IndexByte(route, '-'); i >= 0 {
		return route[i:]
	}
	return ""
}

// TestEveryPieceIsNeeded takes something from each of many routes, and has the check fail that it is there for.
func TestEveryPieceIsNeeded(t *testing.T) {
	serveModule(t)
	mirror := startBackends(t)["127.0.6.1"]
	manifest := with(t, limpet(t, parts(), nil, "compile", "-f", "-", "-t", "envoy-gateway", // not --strict: it refuses splits without room
		"--wasm-url", wasmURL, "--keys", ring(t, newKey(t, "one")), "--keys-in-clear"), parts())
	for _, p := range pieces {
		manifest = edited(t, manifest, p.kind, p.doc, func(d object) { p.cut(t, d) })
	}
	plane := start(t, manifest)
	plane.serves(t, "whole.test/")
	plane.serves(t, "whole-strict.test/")
	checks := checksOn(t, plane, manifest)
	checks["keeps tokens from mirrors"] = func(t *testing.T, r string) bool { return hidesTokens(t, mirror, r) }
	for _, p := range pieces {
		t.Run(p.check+", but for "+p.route, func(t *testing.T) {
			eventually(t, p.check, func() bool { return checks[p.check](t, "whole"+ending(p.route)) })
			if checks[p.check](t, p.route) {
				t.Error("it holds without the piece too")
			}
		})
	}
}

// checksOn are the checks by their names: does a route do it? Those that change the manifest do so for all routes at
// once, and come last among the pieces.
func checksOn(t *testing.T, plane *controlPlane, manifest string) map[string]func(*testing.T, string) bool {
	opened := map[string]string{} // sessions from before the changes
	for _, r := range []string{"whole", "undrained"} {
		opened[r] = sessionOn(t, r+".test/", "127.0.1.1")
	}
	for _, r := range []string{"whole-strict", "lenient-strict"} {
		opened[r] = sessionOn(t, r+".test/", "127.0.5.1")
	}
	drained := func(t *testing.T) {
		var patches []object
		for _, r := range []string{"whole", "undrained"} {
			patches = append(patches, drain("httproute/shop/"+r+"/rule/0", "127.0.1.1"))
		}
		plane.apply(t, manifest+yamlOf(t, patches...))
	}
	return map[string]func(*testing.T, string) bool{
		"sticks":                        func(t *testing.T, r string) bool { return sticks(t, r+".test/") },
		"hides the pin from backends":   hidesPin,
		"signs no pin of a backend":     signsNone,
		"moves off a host that refuses": func(t *testing.T, r string) bool { return tally(t, 100, r+".test/")["Service Unavailable"] == 0 },
		"takes the weight away": func(t *testing.T, r string) bool {
			return strings.Contains(readEndpoints(t, r, "backend/1"), `"load_balancing_weight":0,`)
		},
		"keeps the shares": func(t *testing.T, r string) bool {
			return strings.Contains(readEndpoints(t, r, ""), `"overprovisioning_factor":10000`)
		},
		"stays on a draining host": func(t *testing.T, r string) bool {
			drained(t)
			eventually(t, "the drained host is left", func() bool { return tally(t, 100, "whole.test/")["127.0.1.1"] == 0 })
			return tally(t, 20, r+".test/", "Cookie", opened[r])["127.0.1.1"] == 20
		},
		"fails with its host": func(t *testing.T, r string) bool {
			plane.apply(t, strings.Replace(manifest, "127.0.5.1", "127.0.2.1", 1))
			eventually(t, "the host is gone", func() bool { return get(t, r+".test/", "Cookie", opened[r]).host() != "127.0.5.1" })
			return get(t, r+".test/", "Cookie", opened[r]).status == http.StatusGone
		},
	}
}

// sticks reports whether three sessions stay on their hosts for 20 requests each; of two hosts that is no chance.
func sticks(t *testing.T, url string) bool {
	for range 3 {
		a := get(t, url)
		if a.cookie() == "" || tally(t, 20, url, "Cookie", a.cookie())[a.host()] != 20 {
			return false
		}
	}
	return true
}

func hidesPin(t *testing.T, route string) bool {
	cookie, _ := session(t, route+".test/")
	return get(t, route+".test/", "Cookie", cookie).echo.Header.Get(pinHeader) == ""
}

// hidesTokens reports whether a mirror gets the client's cookies without the token, which the backend gets.
func hidesTokens(t *testing.T, mirror *backend, route string) bool {
	t.Helper()
	cookie, _ := session(t, route+".test/")
	a := get(t, route+".test/", "Cookie", "a=1; "+cookie+"; b=2", "User-Agent", route)
	if got := a.echo.Header.Get("Cookie"); got != "a=1; "+cookie+"; b=2" {
		t.Errorf("the backend of %s sees %q", route, got)
	}
	var copied any
	eventually(t, "the mirror's copy", func() (is bool) {
		copied, is = mirror.seen.Load(route)
		return is
	})
	return copied == "a=1; b=2"
}

// signsNone reports whether a session stays under its token, whatever its backend says of pins.
func signsNone(t *testing.T, route string) bool {
	cookie, _ := session(t, route+".test/")
	return get(t, route+".test/", "Cookie", cookie).cookie() == ""
}

// fenced is an input with a route that has sessions, and one that has none.
func fenced() string {
	return one() + backends(map[string][]string{"old": backendHosts["old"]}, "") +
		makeRoute("HTTPRoute", "plain", "plain.test", "  - backendRefs: ["+makeRef("old", 1)+"]\n")
}

// checkFence wants backends' copies of the internal header not to reach clients, and a filter that comes back by itself after
// a fault; or none of that. Clients never choose their hosts, for the filter removes the header too.
func checkFence(t *testing.T, holds bool) {
	t.Helper()
	if tally(t, manyTries, "shop.test/", pinHeader, pinTo("127.0.1.2"))["127.0.1.2"] == manyTries {
		t.Error("a client chooses its host")
	}
	if leaks := get(t, "plain.test/").header.Get(pinHeader) != ""; leaks == holds {
		t.Errorf("a backend's copy of the internal header reaches a client: %v", leaks)
	}
	if back := strings.Contains(admin(t, "/config_dump?resource=dynamic_listeners"), `"failure_policy": "FAIL_RELOAD"`); back != holds {
		t.Errorf("the filter comes back by itself: %v", back)
	}
}

// TestFence shows that without the ClientTrafficPolicy a backend's internal header reaches clients, and that without its patch
// Envoy would not bring a broken filter back by itself. TestImage shows that with them all is well.
func TestFence(t *testing.T) {
	serveModule(t)
	startBackends(t)
	manifest := with(t, compile(t, fenced(), nil, "--wasm-url", wasmURL, "--keys", ring(t, newKey(t, "one")), "--keys-in-clear"), fenced())
	_, manifest = parted(t, manifest, func(d object) bool { return d["kind"] == "ClientTrafficPolicy" })
	manifest = edited(t, manifest, "EnvoyPatchPolicy", "limpet-web", cutReload(t))
	start(t, manifest).serves(t, "shop.test/")
	checkFence(t, false)
}

func cutReload(t *testing.T) func(object) {
	return func(d object) {
		spec := d["spec"].(object)
		spec["jsonPatches"] = without(t, spec["jsonPatches"], func(p object) bool { return p["operation"].(object)["path"] == "/failure_policy" })
	}
}

// TestOrder shows that without the order nothing sticks.
func TestOrder(t *testing.T) {
	serveModule(t)
	startBackends(t)
	manifest := with(t, compile(t, one(), nil, "--wasm-url", wasmURL, "--keys", ring(t, newKey(t, "one")), "--keys-in-clear"), one())
	manifest = edited(t, manifest, "EnvoyProxy", "host", func(d object) {
		if d["spec"].(object)["filterOrder"] == nil {
			t.Fatal("no filterOrder to take out")
		}
		delete(d["spec"].(object), "filterOrder")
	})
	plane := start(t, manifest)
	plane.serves(t, "shop.test/")
	if sticks(t, "shop.test/") {
		t.Error("sessions stick without the order too")
	}
}
