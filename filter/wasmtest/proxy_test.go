package wasmtest

import (
	"slices"
	"strings"
	"testing"
)

// proxied starts the shipped module behind a played Envoy with two hosts.
func proxied(t *testing.T, config string) *Proxy {
	t.Helper()
	p, err := Require(t).NewProxy(config, map[string]string{"LIMPET_KEYS": ring}, map[string][]string{"r": {hostText, "10.0.0.2:8080"}})
	noError(t, err)
	t.Cleanup(p.VM.Close)
	return p
}

func get(t *testing.T, p *Proxy, route string, headers ...string) Response {
	t.Helper()
	r, err := p.Get(route, headers...)
	noError(t, err)
	return r
}

// TestProxy goes through what the proxy plays: the turn, the pin, hosts that go, strictness, routes without a policy and without hosts.
func TestProxy(t *testing.T) {
	p := proxied(t, config)
	cookie := "cookie: " + get(t, p, "r").Cookie()
	home, gone := []string{hostText}, []string{"10.0.0.2:8080"}
	for i, step := range []struct {
		hosts                      []string
		strict                     bool
		host, pin, outcome, status string
	}{
		{append(home, gone...), false, hostText, hostText, "pinned", "200"},
		{home, true, hostText, hostText, "pinned", "200"},
		{gone, false, "10.0.0.2:8080", hostText, "moved", "200"},
		{gone, true, "", hostText, "failed", "503"},
		{nil, false, "", hostText, "failed", "503"},
	} {
		p.Hosts["r"], p.Strict = step.hosts, step.strict
		r := get(t, p, "r", cookie, pinName+": steered")
		if r.Host != step.host || r.Pinned != step.pin || r.Outcome != step.outcome || r.Status != step.status {
			t.Errorf("step %d: %+v", i, r)
		}
		if r.Header(pinName) != "" || slices.ContainsFunc(r.Received, func(h [2]string) bool { return h[0] == pinName }) {
			t.Errorf("step %d: the pin is seen: %+v", i, r)
		}
	}
	p.Hosts["other"] = home
	if r := get(t, p, "other"); r.Host != hostText || r.Outcome != "none" || r.Cookie() != "" {
		t.Errorf("a route without a policy: %+v", r)
	}
	if lines := p.Logged(); len(lines) != 1 || !strings.Contains(lines[0], `route "other" has no policy`) {
		t.Errorf("logged %q", lines)
	}
}

// TestProxyOddities goes through what befalls a session beside: a host that refuses, an answer of Envoy's own, a backend that is left, no fence.
func TestProxyOddities(t *testing.T) {
	p := proxied(t, strings.Replace(config, `"sessionName"`, `"onHostLost":"RebalanceWithin","sessionName"`, 1))
	const neighbour, other = "10.0.0.3:8080", "10.0.0.2:8080"
	p.Hosts["r"] = []string{hostText, other, neighbour}
	p.Backends = map[string]string{hostText: "00000001", neighbour: "00000001", other: "00000002"}
	cookie := "cookie: " + get(t, p, "r").Cookie()

	p.Refuses = hostText
	if r := get(t, p, "r", cookie); r.Pinned != hostText || r.Host != neighbour || r.Outcome != "moved" || r.State["limpet"] != "mov" {
		t.Errorf("a host refuses: %+v", r)
	}
	p.Refuses, p.Details, p.Answer = "", "response_timeout", func(string, [][2]string) [][2]string { return [][2]string{{":status", "504"}} }
	if r := get(t, p, "r", cookie); r.Host != "" || r.Status != "504" || r.Details != "response_timeout" {
		t.Errorf("Envoy answers itself: %+v", r)
	}
	p.Details, p.Answer, p.Strict, p.StrictStatus, p.Hosts["r"] = "", nil, true, "421", []string{other}
	if r := get(t, p, "r", cookie); r.Status != "421" || r.Details != "no_healthy_upstream" {
		t.Errorf("strict: %+v", r)
	}
	p.Hosts["s"] = []string{other}
	if r := get(t, p, "s"); r.Header(pinName) != "" {
		t.Errorf("the fence lets a pin out: %+v", r)
	}
	p.Unfenced = true
	if r := get(t, p, "s"); r.Header(pinName) == "" {
		t.Errorf("a route without a policy and without a fence hides its pin: %+v", r)
	}
}

// TestProxyAnswers: the hosts' answers are the test's, and pinHeader is that of the configuration.
func TestProxyAnswers(t *testing.T) {
	p := proxied(t, strings.Replace(config, `"policies"`, `"pinHeader":"x-pin","policies"`, 1))
	p.Cluster = map[string]string{"r": "c"}
	p.Answer = func(host string, request [][2]string) [][2]string {
		return [][2]string{{":status", "201"}, {"x-host", host}, {"x-path", value(request, ":path")}}
	}
	if r := get(t, p, "r"); r.Status != "201" || r.Header("x-host") != r.Host || r.Header("x-path") != "/" || r.Outcome != "new" {
		t.Errorf("%+v", r)
	}
	if _, err := Require(t).NewProxy("{}", nil, nil); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("a bad configuration: %v", err)
	}
}
