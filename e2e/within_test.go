package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// twoVersions are two Services under one session, each with three pods, whose sessions stay in their Service.
type twoVersions struct {
	*harness.Watching
	blue, green []*harness.Backend
	clients     []*harness.Client
	homes       []string // of the clients
	moved       int      // sessions of lost hosts so far
	crossed     int      // those of them that went to the other version
}

const withinPolicy = `
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: versions, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: app}]
  onHostLost: RebalanceWithin
`

func runVersions(t *testing.T, clients int) *twoVersions {
	t.Helper()
	v := &twoVersions{blue: harness.Backends(t, "b0", "b1", "b2"), green: harness.Backends(t, "g0", "g1", "g2")}
	v.Watching = harness.RunWatching(t, harness.Documents{
		Services: []harness.Service{{Name: "blue", Backends: v.blue}, {Name: "green", Backends: v.green}},
		Routes: []harness.Route{{Name: "app", Rules: []harness.Rule{{
			Path: "/cart", Refs: []harness.Ref{{Service: "blue", Weight: 1}, {Service: "green", Weight: 1}},
			Session: &harness.Session{Name: "cart", Type: policyconfig.TypeCookie},
		}}}},
		More: withinPolicy,
	}, harness.NewRing("a"))
	for range clients {
		v.clients = append(v.clients, v.Client())
		v.homes = append(v.homes, "")
	}
	v.visit(t)
	return v
}

// visit sends a request of each client, and notes where it went.
func (v *twoVersions) visit(t *testing.T) {
	t.Helper()
	for i, c := range v.clients {
		v.homes[i] = visit(t, c, "/cart").Backend
	}
}

// loses visits once more and fails unless sessions of the lost hosts are in their Service, and all others where they were.
func (v *twoVersions) loses(t *testing.T, what string, lost ...string) {
	t.Helper()
	before := append([]string{}, v.homes...)
	v.visit(t)
	moved, crossed := 0, 0
	for i, home := range before {
		switch now := v.homes[i]; {
		case !strings.Contains(strings.Join(lost, " "), home):
			if now != home {
				t.Errorf("%s: a session went from %s to %s, and %s serves", what, home, now, home)
			}
		case now[0] != home[0]:
			crossed++
			fallthrough
		default:
			moved++
		}
	}
	if crossed > 0 {
		t.Errorf("%s: %d of %d sessions went to the other version", what, crossed, moved)
	}
	t.Logf("%s: %d of %d sessions of %v stayed in their version", what, moved-crossed, moved, lost)
	v.moved, v.crossed = v.moved+moved, v.crossed+crossed
}

// TestVersionStaysAVersion: a session whose host is lost goes to another host of its version while that takes sessions, be
// the host gone or refusing, and then to any; a version of weight 0 takes none.
//
// requirements: S31, S33, S40
func TestVersionStaysAVersion(t *testing.T) {
	t.Parallel()
	v := runVersions(t, harness.Size(150, 600))
	v.blue[0].Close()
	v.loses(t, "refuses", "b0")
	v.Set(t, func(d *harness.Documents) { d.Services[1].Backends = v.green[1:] })
	v.loses(t, "gone", "g0")
	v.Set(t, func(d *harness.Documents) {
		d.Services[0].Backends, d.Services[0].Draining = v.blue[2:], v.blue[1:2]
	})
	v.loses(t, "drains") // none
	v.Set(t, func(d *harness.Documents) { d.Services[0].Draining = nil })
	v.loses(t, "drained", "b1")
	if want := len(v.clients) / 4; v.moved < want {
		t.Errorf("%d sessions have moved, want at least %d", v.moved, want)
	}
	v.checkFence(t)
	v.Set(t, func(d *harness.Documents) { d.Routes[0].Rules[0].Refs[0].Weight = 0 })
	v.loses(t, "weight 0") // none
	v.Set(t, func(d *harness.Documents) { d.Services[0].Backends = v.blue[1:2] })
	before := append([]string{}, v.homes...)
	v.visit(t)
	for i, home := range before {
		if now := v.homes[i]; home == "b2" && now[0] != 'g' {
			t.Errorf("a session of a version of weight 0 lost its host, and went to %s", now)
		}
	}
	harness.RecordResult(t, "hosts of a version refuse, go, and drain; sessions stay in it (onHostLost: RebalanceWithin)", harness.Result{
		Requests: 7*len(v.clients) + 60, Sessions: len(v.clients), Changes: v.Changes(), Faults: 1, Lost: v.crossed,
		Note: fmt.Sprintf("%d of %d sessions of lost hosts stayed in their version", v.moved-v.crossed, v.moved),
	})
}

// checkFence: no client chooses its version, and no backend learns of the header that does.
func (v *twoVersions) checkFence(t *testing.T) {
	t.Helper()
	header := policyconfig.BackendHeader(policyconfig.DefaultConfig().PinHeader)
	blue := header + ": " + fmt.Sprintf("%08x", token.BackendTag("default/blue:80"))
	shares := map[byte]int{}
	for range 60 {
		r := visit(t, v.Client(), "/cart", blue)
		shares[r.Backend[0]]++
		if got := r.Seen.Headers.Get(header); got != "" {
			t.Fatalf("the backend saw %s: %q", header, got)
		}
	}
	if shares['b'] < 10 || shares['g'] < 10 {
		t.Errorf("60 strangers who name a version went to %v", shares)
	}
	r := visit(t, v.clients[0], "/cart")
	if got := r.Seen.Headers.Get(header); got != "" {
		t.Errorf("the backend of a session saw %s: %q", header, got)
	}
}
