package behaviour

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/wasmtest"
)

// One million verifications, each of them a miss of the cache, and as many again of forged tokens.
func TestMemoryStaysFlat(t *testing.T) {
	vm := shippedVM(t)
	tokens := mintMany(t, vm, 8192)
	pinned := verifyAll(t, vm, tokens, 20_000)
	want(t, "pinned while warming up", pinned, 20_000)
	warm := vm.MemoryBytes()
	want(t, "pinned", verifyAll(t, vm, tokens, 1_000_000), 1_000_000)
	for i := range tokens {
		tokens[i] = tokens[i][:60] + strings.Repeat("A", len(tokens[i])-60)
	}
	want(t, "forged tokens that pinned", verifyAll(t, vm, tokens, 100_000), 0)
	want(t, "forged tokens counted", vm.Counters()["limpet_sessions.policy.p.outcome.bad-signature"], 100_000)
	want(t, "linear memory", vm.MemoryBytes(), warm)
	want(t, "gauge", vm.Gauges()["limpet_memory_bytes"], int64(warm))
	t.Logf("linear memory: %d kB", warm>>10)
}

// shippedVM runs the shipped module with one policy and a clock that stands still.
func shippedVM(t *testing.T) *wasmtest.VM {
	t.Helper()
	vm, err := wasmtest.Require(t).Start(context.Background(), wasmtest.Options{
		Config: []byte(config()), Env: map[string]string{"LIMPET_KEYS": ringA},
		Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(vm.Close)
	return vm
}

// mintMany has the module issue tokens: more than its cache holds.
func mintMany(t *testing.T, vm *wasmtest.VM, n int) []string {
	t.Helper()
	tokens := make([]string, n)
	for i := range tokens {
		s := vm.NewStream(map[string]string{"xds.route_name": "r", "response.code_details": "via_upstream"})
		_, _, err := s.RequestHeaders([][2]string{{":method", "GET"}}, true)
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.ResponseHeaders([][2]string{{":status", "200"}, {pinHeader, "MTAuMC4wLjE6ODA4MA=="}}, false)
		if err != nil {
			t.Fatal(err)
		}
		line, _ := first(out, "set-cookie")
		tokens[i], _, _ = strings.Cut(strings.TrimPrefix(line, "sid="), ";")
		s.Close()
	}
	return tokens
}

// verifyAll sends requests with the tokens in turn and counts those that were pinned.
func verifyAll(t *testing.T, vm *wasmtest.VM, tokens []string, requests int) int {
	t.Helper()
	pinned := 0
	for i := range requests {
		s := vm.NewStream(map[string]string{"xds.route_name": "r"})
		out, _, err := s.RequestHeaders([][2]string{{":method", "GET"}, {"cookie", "sid=" + tokens[i%len(tokens)]}}, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := first(out, pinHeader); ok {
			pinned++
		}
		s.Close()
	}
	return pinned
}

// hostileCookies are where fuzzing begins.
var hostileCookies = []string{
	"", "sid", "sid=", "=", ";", "sid=;sid=", `sid="`, `sid=""`, "sid=" + forged, "a=1; sid=" + forged + ";;",
	strings.Repeat("sid="+forged+";", 50), strings.Repeat(";", 4000), "sid=\x00\xff", "sid=AQE" + strings.Repeat("é", 46) + "x",
}

// fuzzConfig has a policy of each kind.
var fuzzConfig = configs(
	policy("cookie", "cookie", `"idleTimeout":"1m"`, `"cache":{"control":"Private","skipCacheable":true}`),
	policy("strip", "strip", `"forward":false`, `"onHostLost":"Fail"`),
	policy("header", "header", `"type":"Header"`, `"sessionName":"x-sid"`, `"forward":false`))

// FuzzShippedModule throws header input at the shipped module: nothing may trap it, the pin header may not leave it on
// a response, and whatever it pins must come from a token it made.
func FuzzShippedModule(f *testing.F) {
	for _, cookie := range hostileCookies {
		f.Add(cookie, cookie, "GET", "200", "max-age=1", "MTAuMC4wLjE6ODA4MA==", "via_upstream")
		f.Add("a=b", cookie, "OPTIONS", "503", "", cookie, "no_healthy_upstream")
	}
	vm := fuzzVM(f)
	f.Fuzz(func(t *testing.T, one, two, method, status, control, pin, details string) {
		for _, route := range []string{"cookie", "strip", "header"} {
			s := vm.NewStream(map[string]string{"xds.route_name": route, "response.code_details": details})
			request := [][2]string{{":method", method}, {"cookie", one}, {"x-sid", two}, {"cookie", two}, {"x-sid", one}, {"origin", one}}
			out, _, err := s.RequestHeaders(request, true)
			if err != nil {
				t.Fatal(err)
			}
			if v, ok := first(out, pinHeader); ok {
				t.Errorf("pinned %q without a token", v)
			}
			response := [][2]string{{":status", status}, {"cache-control", control}, {"set-cookie", one}, {"x-sid", two}, {"x-end", one}, {pinHeader, pin}}
			out, err = s.ResponseHeaders(response, len(one)%2 == 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := first(out, pinHeader); ok {
				t.Error("the pin header is on the response")
			}
			s.Close()
		}
	})
}

func fuzzVM(f *testing.F) *wasmtest.VM {
	f.Helper()
	vm, err := wasmtest.Require(f).Start(context.Background(), wasmtest.Options{Config: []byte(fuzzConfig), Env: map[string]string{"LIMPET_KEYS": ringA}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { vm.Close() })
	return vm
}
