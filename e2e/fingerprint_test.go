package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

const keysGauge = "wasmcustom.limpet_keys_fingerprint"

// TestFingerprintsOfKeys: Envoys with one ring have one fingerprint before a request comes, and one with another key under the same id
// another, so that the chart's alert sees it. No byte of a key is in it.
func TestFingerprintsOfKeys(t *testing.T) {
	t.Parallel()
	pods, ring, other := harness.Backends(t, "a"), harness.NewRing("first", "second"), harness.NewRing("first", "second")
	var gauges []uint64
	for _, keys := range []harness.Ring{ring, ring, other} {
		envoy := harness.Run(t, harness.Deployment{Documents: harness.OneRoute(pods, harness.CookieRule("cart", "pods")), Keys: keys})
		if got := envoy.Stat(t, keysGauge); got != keys.Fingerprint(t) {
			t.Errorf("the gauge is %d, want %d", got, keys.Fingerprint(t))
		}
		gauges = append(gauges, envoy.Stat(t, keysGauge))
		page := envoy.Admin(t, "/stats/prometheus?filter=limpet_keys")
		if series := alertedSeries(t); !series.MatchString(page) {
			t.Errorf("the alert looks for %s in\n%s", series, page)
		}
	}
	if gauges[0] != gauges[1] || gauges[0] == gauges[2] {
		t.Errorf("got %d, want the last alone to differ", gauges)
	}
}

// alertedSeries is what the alert LimpetKeysDiffer looks at.
func alertedSeries(t *testing.T) *regexp.Regexp {
	t.Helper()
	name := regexp.MustCompile(`__name__=~"(\S*limpet_keys_fingerprint)"`).FindStringSubmatch(harness.ReadDocument(t, alertRules))
	if name == nil {
		t.Fatal("no alert has the name of the gauge")
	}
	return regexp.MustCompile(`(?m)^(` + name[1] + `)\{\} \d+$`)
}

// TestFingerprintFollowsKeys: the gauge of an Envoy that is served its keys is that of limpet's status, in which no key is, and both
// follow a change of keys.
func TestFingerprintFollowsKeys(t *testing.T) {
	t.Parallel()
	pods, ring := harness.Backends(t, "a"), harness.NewRing("old", "new")
	s := harness.Serve(t, harness.OneRoute(pods, harness.CookieRule("cart", "pods")), ring.Only("old"))
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	for i, ids := range [][]string{{"old"}, {"new", "old"}} {
		now := ring.Only(ids...)
		if i > 0 {
			s.SetKeys(t, now.JSON(t))
		}
		eventually(t, "the gauge follows the keys", func() bool { return envoy.Stat(t, keysGauge) == now.Fingerprint(t) })
		_, status, _ := harness.Limpet(t, nil, "status", "--admin", harness.Loopback(s.AdminPort))
		printed := s.Output()
		for _, id := range ids {
			line := regexp.MustCompile(`(?m)^` + id + ` +` + now.Only(id).KeyFingerprint() + `$`)
			if !line.MatchString(status) || !strings.Contains(printed, id+" "+now.Only(id).KeyFingerprint()) {
				t.Errorf("no fingerprint of %s in\n%s\n%s", id, status, printed)
			}
		}
		for _, secret := range now.Secrets() {
			if strings.Contains(status+printed, secret) {
				t.Errorf("a key is shown:\n%s\n%s", status, printed)
			}
		}
	}
}
