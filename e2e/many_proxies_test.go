package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// skews are how far ahead the clocks of the proxies are: at most clockSkew apart, which is a minute.
var skews = []time.Duration{0, 20 * time.Second, 40 * time.Second, time.Minute}

// skewedProxies are Envoys with the same keys and backends that share nothing else, not even the time. Sessions have an
// idle timeout, so that each of them writes tokens anew by its own clock.
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
	crowd := harness.NewCrowd(t, harness.Size(24, 100), func(int) func() (harness.Response, error) {
		jar, clients := &harness.Jar{}, []*harness.Client(nil)
		for _, proxy := range proxies {
			client := proxy.Client()
			client.Jar = jar
			clients = append(clients, client)
		}
		return func() (harness.Response, error) {
			return clients[rand.IntN(len(clients))].Try(http.MethodGet, "/cart", quietly)
		}
	})
	crowd.Every = 20 * time.Millisecond
	tally := crowd.During(func() { time.Sleep(harness.Size(3*time.Second, 2*time.Minute)) })
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%v", tally)
	}
	harness.Figures(t, "four proxies, clocks up to a minute apart", harness.Row{
		Requests: tally.Requests, Sessions: crowd.Size(), Faults: len(skews) - 1, Lost: tally.Moved(), Errors: tally.Failed(),
		Note: fmt.Sprintf("%d tokens written anew", wantShared(t, proxies)),
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
