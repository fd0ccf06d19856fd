package istio

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// goNative has a deployment's proxies load a copy of the shipped liblimpet.so under a name.
func (d *deployment) goNative(t *testing.T, name string) {
	t.Helper()
	module, err := os.ReadFile(shipped.native)
	if err != nil {
		t.Fatal(err)
	}
	d.native = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(d.native, module, 0o755); err != nil {
		t.Fatal(err)
	}
}

// steersNothing: the header that is the pin with limpet.wasm means nothing, whoever sends it.
func steersNothing(t *testing.T, m *world) error {
	c := m.newClient()
	first := c.request(t, "/cart/add")
	other := first.backend
	for other == first.backend {
		other = m.newClient().request(t, "/plain").backend
	}
	pin := base64.StdEncoding.EncodeToString([]byte(other))
	for range rounds {
		if a := c.request(t, "/cart/add", "X-Limpet-Pin: "+pin, "X-Plant: "+pin); a.backend != first.backend || a.cookie != "" {
			return fmt.Errorf("the session went to %s with cookie %q, not to %s", a.backend, a.cookie, first.backend)
		}
	}
	hosts := map[string]bool{}
	for range rounds {
		hosts[m.newClient().request(t, "/cart/add", "X-Limpet-Pin: "+pin).backend] = true
	}
	if len(hosts) < 2 {
		return fmt.Errorf("a client's header steers to %v", hosts)
	}
	return nil
}

// nativeChecks are those that hold without a pin header.
var nativeChecks = map[string]check{
	"sticks": sticks, "forged tokens bind to nothing": forged, "headers steer nothing": steersNothing, "other routes are left alone": leavesAlone,
}

func (m *world) passesNative(t *testing.T) {
	for name, c := range nativeChecks {
		t.Run(name, func(t *testing.T) {
			if err := c(t, m); err != nil {
				t.Error(err)
			}
		})
	}
	counters := m.envoy.get(t, "/stats?usedonly&filter=limpet_sessions")
	for _, outcome := range []string{"pinned", "new"} {
		if !strings.Contains(counters, "wasmcustom.limpet_sessions.policy.") || !strings.Contains(counters, ".outcome."+outcome+":") {
			t.Errorf("no counter of %s, under the name that plugins have:\n%s", outcome, counters)
		}
	}
	if dump := m.envoy.get(t, "/config_dump"); !strings.Contains(dump, m.native) || strings.Contains(dump, "limpet.stateful_session") {
		t.Error("Envoy has not the module alone")
	}
}

func TestNativeVirtualService(t *testing.T) {
	d := onVirtualService(t, "")
	d.goNative(t, "liblimpet.so")
	run(t, d).passesNative(t)
}

func TestNativeGatewayAPI(t *testing.T) {
	d := onGatewayAPI(t, 3, 0)
	d.goNative(t, "liblimpet.so")
	m := run(t, d)
	m.passesNative(t)
	sessions := m.drainTwo(t, d)
	for host, c := range sessions {
		if a := c.request(t, "/cart/add"); a.backend != host || a.cookie != "" {
			t.Errorf("a session of %s went to %s", host, a.backend)
		}
	}
}

// TestNativeLostHosts: a session whose host refuses connections moves; under onHostLost Fail it gets the policy's status, for
// which Istio's own retries have to go.
func TestNativeLostHosts(t *testing.T) {
	for spec, wants := range map[string]int{"": http.StatusOK, strict: http.StatusGone} {
		d := onVirtualService(t, spec)
		d.goNative(t, "liblimpet.so")
		m := run(t, d)
		c := m.newClient()
		first := c.request(t, "/cart/add")
		m.holder(t, first.backend).server.Close()
		if a := c.request(t, "/cart/add"); a.status != wants || a.backend == first.backend {
			t.Errorf("%q: status %d from %q, not %d", spec, a.status, a.backend, wants)
		}
	}
}

// TestNativeStrictNeedsNoRetries: with Istio's own retries a strict session would move.
func TestNativeStrictNeedsNoRetries(t *testing.T) {
	d := onVirtualService(t, strict)
	d.goNative(t, "liblimpet.so")
	checkNeedsNoRetries(t, d)
}

// TestNativeChanges rotates the key of a running mesh, moves it to a new file, and then to one that is missing, which Envoy refuses:
// sessions are on their host throughout.
func TestNativeChanges(t *testing.T) {
	d := onVirtualService(t, "")
	d.goNative(t, "liblimpet.so")
	m := run(t, d)
	c := m.newClient()
	first := c.request(t, "/cart/add")
	stays := func() {
		if a := c.request(t, "/cart/add"); a.status != http.StatusOK || a.backend != first.backend {
			t.Fatalf("status %d from %q, not from %s", a.status, a.backend, first.backend)
		}
	}
	d.flags = []string{"--keys", keyFile(t, "new", "old")}
	m.push(t, d)
	eventually(t, "the session is signed by the new key", func() bool {
		stays()
		m.transport.CloseIdleConnections()
		return signedBy(t, c.jar["cart"], "new")
	})
	d.goNative(t, "liblimpet-new.so")
	m.push(t, d)
	eventually(t, "Envoy has the new file", func() bool {
		stays()
		return strings.Contains(m.envoy.get(t, "/config_dump"), d.native)
	})
	d.native = "/missing/liblimpet.so"
	m.push(t, d)
	eventually(t, "Envoy refuses the listener", func() bool {
		stays()
		return !strings.Contains(m.envoy.get(t, "/stats?filter=listener_manager.lds.update_rejected"), "update_rejected: 0")
	})
	stays()
}
