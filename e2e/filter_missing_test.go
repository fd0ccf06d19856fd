package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestFilterMissing: an Envoy that shall go from one filter to the other, and has not the other's file, keeps the filter and the
// listeners that it has, and no client notices; limpet says so in Envoy's words. It changes over by itself once the file is there.
func TestFilterMissing(t *testing.T) {
	if !harness.Native() {
		t.Skip("runs with the native filter's tests: make e2e-native")
	}
	t.Parallel()
	pods := harness.Backends(t, "a", "b", "c")
	for to, isNative := range map[string]bool{"wasm": false, "native": true} {
		t.Run("serve, to "+to, func(t *testing.T) {
			t.Parallel()
			s := harness.Serve(t, harness.OneRoute(pods, harness.CookieRule("cart", "pods")), harness.NewRing("k"))
			if isNative {
				s.Terminate(t)
				s.ServeFilter(t, false)
			}
			envoy := s.Bootstrap(t).Start(t)
			s.AwaitAcknowledged(t)
			checkFilterMissing(t, s, envoy, to)
		})
	}
}

// checkFilterMissing changes to a filter whose file comes later.
func checkFilterMissing(t *testing.T, s *harness.Serving, envoy *harness.Envoy, to string) {
	t.Helper()
	name := map[string]string{"wasm": "limpet.wasm", "native": "liblimpet.so"}[to]
	module, err := os.ReadFile(filepath.Join(harness.Find(t).Root, "dist", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	clients := beginSessions(t, envoy, 12)
	tally := clients.During(func() {
		s.Terminate(t)
		s.ServeFrom(t, "--filter", to, "--"+to+"-path", path)
		got := s.AwaitEnvoy(t, "e2e", func(e harness.ServedEnvoy) bool { return len(e.Rejected) > 0 })
		if r := got.Rejected[0]; len(got.Rejected) != 1 || r.Type != "filters" || !strings.Contains(r.Message, path) {
			t.Errorf("rejected are %+v", got.Rejected)
		}
		if nacks := s.Metric(t, "limpet_xds_nacks_total"); nacks == 0 {
			t.Error("limpet_xds_nacks_total counts nothing")
		}
		if usesFilter(t, envoy, to) {
			t.Error("requests go through a filter that is not there")
		}
		if err := os.WriteFile(path, module, 0o600); err != nil {
			t.Fatal(err)
		}
		s.AwaitAcknowledged(t)
		eventually(t, "requests go through the filter "+to, func() bool { return usesFilter(t, envoy, to) })
	})
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%v", tally)
	}
}

// TestFilterMissingAtStart: "limpet run" does not say that it serves when Envoy has not got the filter, and does not leave an
// Envoy behind that answers 500.
func TestFilterMissingAtStart(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a")
	documents := harness.OneRoute(pods, harness.CookieRule("cart", "pods"))
	documents.Port = harness.FreePort(t)
	path := filepath.Join(t.TempDir(), "documents.yaml")
	if err := os.WriteFile(path, []byte(documents.YAML(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := harness.Limpet(t, nil, "run", "-f", path, "--bind", "127.0.0.1",
		"--admin", harness.Loopback(harness.FreePort(t)), "--filter-path", "/no/such/filter")
	if code != 1 || !strings.Contains(stderr, "Envoy rejects the filter") || strings.Contains(stderr, "limpet: serving") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}
