package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// skews are how far ahead the clocks of the proxies are: at most clockSkew apart, which is a minute.
var skews = []time.Duration{0, 20 * time.Second, 40 * time.Second, time.Minute}

// skewedProxies are Envoys with the same keys and backends that share nothing else, not even the time. Sessions have an
// idle timeout, so that each of them writes tokens again by its own clock.
func skewedProxies(t *testing.T) []*harness.Envoy {
	t.Helper()
	pods, keys := harness.Backends(t, "a", "b", "c"), harness.NewRing("first")
	var proxies []*harness.Envoy
	for _, skew := range skews {
		envoy := harness.Run(t, harness.Deployment{
			Documents: harness.OneRoute(pods, harness.CookieRule("cart", "pods")),
			Keys:      keys,
			Env:       append(harness.SkewedClock(t, skew), "LIMPET_KEYS="+keys.JSON(t)),
			Policies: editing(t, map[string]func(*policyconfig.Policy){
				"cart": func(p *policyconfig.Policy) { p.AbsoluteTimeout, p.IdleTimeout = seconds(3600), seconds(120) },
			}),
		})
		wantSkew(t, envoy, skew)
		proxies = append(proxies, envoy)
	}
	return proxies
}

// among is a client with these cookies each of whose requests goes to the proxy of n that pick chooses.
func among(proxies []*harness.Envoy, pick func(n int) int, cookies ...*http.Cookie) func() (harness.Response, error) {
	jar, clients := &harness.Jar{}, []*harness.Client(nil)
	jar.Set("/", cookies)
	for _, proxy := range proxies {
		client := proxy.Client()
		client.Jar = jar
		clients = append(clients, client)
	}
	return func() (harness.Response, error) {
		return clients[pick(len(clients))].Try(http.MethodGet, "/cart", quietly)
	}
}

// wantSkew looks at the date of one of Envoy's own answers.
func wantSkew(t *testing.T, envoy *harness.Envoy, skew time.Duration) {
	t.Helper()
	date, err := http.ParseTime(envoy.Stranger().Get(t, "/no-route").Header.Get("Date"))
	if err != nil {
		t.Fatal(err)
	}
	if ahead := time.Until(date); ahead < skew-5*time.Second || ahead > skew+5*time.Second {
		t.Fatalf("Envoy's clock is ahead by %v, want %v", ahead, skew)
	}
}

// TestManyProxies: clients whose every request goes to another of four proxies stay on one host.
func TestManyProxies(t *testing.T) {
	t.Parallel()
	proxies := skewedProxies(t)
	clients := harness.NewClients(t, harness.Size(36, 100), func(int) func() (harness.Response, error) { return among(proxies, rand.IntN) })
	clients.Every = 20 * time.Millisecond
	tally := clients.During(func() { time.Sleep(harness.Size(3*time.Second, 2*time.Minute)) })
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%v", tally)
	}
	renewed := wantShared(t, proxies)
	wantOneEnd(t, proxies)
	harness.RecordResult(t, "four proxies, clocks up to a minute apart", harness.Result{
		Requests: tally.Requests, Sessions: clients.Size(), Faults: len(skews) - 1, Lost: tally.Moved(), Errors: tally.Failed(),
		Note: fmt.Sprintf("%d tokens written again; a session ends at the same time at each", renewed),
	})
}

// wantOneEnd wants every proxy to end a session at the same time, however long it has been running itself.
func wantOneEnd(t *testing.T, proxies []*harness.Envoy) {
	t.Helper()
	for i, proxy := range proxies {
		for age, over := range map[time.Duration]bool{30 * time.Minute: false, 58 * time.Minute: false, time.Hour: true, 2 * time.Hour: true} {
			text := mint(t, proxies[0], "cart", goneAddress, harness.Dates{Issued: -age})
			before := proxy.Outcomes(t, "cart")["expired-absolute"]
			visit(t, proxy.Stranger(), "/cart", cookieLine("cart", text), quietly)
			if got := proxy.Outcomes(t, "cart")["expired-absolute"] > before; got != over {
				t.Errorf("proxy %d: a session of an hour is over after %v: %v", i, age, got)
			}
		}
	}
}

// TestProxiesThatDisagree: one of two proxies holds a host for dead. Its sessions move once, when they come by there,
// and then stay, at either proxy: none goes to and fro.
func TestProxiesThatDisagree(t *testing.T) {
	t.Parallel()
	pods, keys := harness.Backends(t, "a", "b", "c"), harness.NewRing("first")
	deploy := func(edit func(harness.Tree)) *harness.Envoy {
		documents := harness.OneRoute(pods, harness.CookieRule("cart", "pods"))
		return harness.Run(t, harness.Deployment{Documents: documents, Keys: keys, Tree: edit})
	}
	proxies := []*harness.Envoy{deploy(func(tree harness.Tree) { unhealthy(t, tree, pods[2]) }), deploy(nil)}
	clients := harness.NewClients(t, 24, func(int) func() (harness.Response, error) {
		first := mint(t, proxies[0], "cart", pods[2].Address, harness.Dates{})
		turn := 0
		inTurn := func(n int) int { turn++; return turn % n }
		return among(proxies, inTurn, &http.Cookie{Name: "cart", Value: first, Path: "/cart"})
	})
	begun := clients.Homes()
	clients.Every = 20 * time.Millisecond
	tally := clients.During(func() { time.Sleep(2 * time.Second) })
	if tally.Failed() > 0 || tally.Moved("c") > 0 || tally.Moved() != 24 || begun["c"] != 24 {
		t.Errorf("sessions were on %v; %v", begun, tally)
	}
	harness.RecordResult(t, "two proxies that disagree about a host's health", harness.Result{
		Requests: tally.Requests, Sessions: clients.Size(), Faults: 1, Lost: tally.Moved("c"), Errors: tally.Failed(),
		Note: "each session of that host moved once and not back",
	})
}

// wantShared wants every proxy to have served sessions of the others and to have renewed some, and gives how many were.
func wantShared(t *testing.T, proxies []*harness.Envoy) uint64 {
	t.Helper()
	var renewed uint64
	for i, proxy := range proxies {
		outcomes := proxy.Outcomes(t, "cart")
		if outcomes["pinned"] == 0 {
			t.Errorf("proxy %d: %v", i, outcomes)
		}
		for _, void := range []string{"not-yet-valid", "expired-idle", "expired-absolute", "moved"} {
			if outcomes[void] > 0 {
				t.Errorf("proxy %d: %v", i, outcomes)
			}
		}
		renewed += outcomes["renewed"]
	}
	if renewed == 0 {
		t.Error("no token was renewed: the clocks made no difference")
	}
	return renewed
}
