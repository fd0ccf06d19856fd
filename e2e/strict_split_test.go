package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// strictSplit is a split of Gateway API 1.7 in which the Service strict keeps its sessions whatever happens, and the
// Service lax lets them move.
const strictSplit = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: split, namespace: default}
spec:
  parentRefs: [{name: edge}]
  rules:
  - backendRefs: [{name: strict, port: 80, weight: 1}, {name: lax, port: 80, weight: 1}]
    sessionPersistence: {cookie: {name: cart}}
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: strict, namespace: default}
spec:
  targetRefs: [{group: "", kind: Service, name: strict}]
  onHostLost: Fail
  failStatus: 521
`

// TestStrictBackendOfSplit: in a split of 1.7 the weights choose on every request. A session in the strict backend
// waits for its host, one in the other moves within the request, and neither is in the other's way (S32, S40).
//
// requirements: 2A.15, S32, S40
func TestStrictBackendOfSplit(t *testing.T) {
	t.Parallel()
	strict, lax := harness.Backends(t, "s0", "s1"), harness.Backends(t, "l0", "l1", "l2")
	documents := harness.Documents{
		Services: []harness.Service{{Name: "strict", Backends: strict}, {Name: "lax", Backends: lax}}, More: strictSplit,
	}
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	s := &strictSession{envoy: envoy, strict: policyOf(t, envoy, "strict"), lax: policyOf(t, envoy, "lax")}

	for client, count := envoy.Client(), 0; count < 40; count++ { // its jar has a cookie for each backend
		s.note(t, visit(t, client, "/"))
	}
	for _, of := range []string{"s", "l"} {
		if got := s.hosts[of]; len(got) != 1 {
			t.Errorf("one client's sessions in one backend are on %v", got)
		}
	}
	strict[0].Close()
	lax[0].Close()
	for what, address := range map[string]string{"refuses": strict[0].Address, "gone": goneAddress} {
		s.loses(t, what, address, lax[0].Address)
	}
	back := harness.NewBackendAt(t, "s0", strict[0].Address)
	s.hosts = nil
	for range 40 {
		s.note(t, visit(t, envoy.Stranger(), "/", s.cookies(t, back.Address, lax[0].Address)...))
	}
	if got := slices.Sorted(maps.Keys(s.hosts["s"])); !slices.Equal(got, []string{"s0"}) {
		t.Errorf("the strict session's host is back, and it is on %v", got)
	}
}

// TestRetriesOfSplit: codes that a split's rule asks to be tried again are tried again for no session, in the backend whose sessions may
// move and in the strict one (S73).
//
// requirements: S73
func TestRetriesOfSplit(t *testing.T) {
	t.Parallel()
	strict, lax := harness.Backends(t, "s0", "s1"), harness.Backends(t, "l0", "l1", "l2")
	session := "sessionPersistence: {cookie: {name: cart}}"
	documents := harness.Documents{
		Services: []harness.Service{{Name: "strict", Backends: strict}, {Name: "lax", Backends: lax}},
		More:     strings.Replace(strictSplit, session, session+"\n    retry: {codes: [503], attempts: 3}", 1),
	}
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	s := &strictSession{envoy: envoy, strict: policyOf(t, envoy, "strict"), lax: policyOf(t, envoy, "lax")}
	strict[0].Break(harness.FaultDeclines)
	lax[0].Break(harness.FaultDeclines)
	got := map[string]int{}
	for range 60 { // 60 times the same backend: 2^-59
		r := envoy.Stranger().Get(t, "/", s.cookies(t, strict[0].Address, lax[0].Address)...)
		if r.Status != http.StatusServiceUnavailable {
			t.Fatalf("status %d by backend %q", r.Status, r.Backend)
		}
		got[r.Backend]++
	}
	if len(got) != 2 || got["s0"] == 0 || got["l0"] == 0 {
		t.Errorf("60 requests were answered by %v, want both sessions' hosts", got)
	}
	if retried := envoy.Stat(t, "cluster.service/default/strict/80.upstream_rq_retry"); retried > 0 {
		t.Errorf("%d requests to the strict backend were tried again", retried)
	}
}

// TestWeights17 is the GEP's planned test of weights as 1.7 has it (2A, H3): one client's requests go to the backends by
// their weights, 70 to 30, and in each of them always to one host.
//
// requirements: 2A.12, 2A.15, 2B.O11, S32, H3
func TestWeights17(t *testing.T) {
	t.Parallel()
	documents := harness.Documents{
		Services: []harness.Service{
			{Name: "strict", Backends: harness.Backends(t, "s0", "s1", "s2")}, {Name: "lax", Backends: harness.Backends(t, "l0", "l1", "l2")},
		},
		More: strings.NewReplacer("name: strict, port: 80, weight: 1", "name: strict, port: 80, weight: 70", "weight: 1}]", "weight: 30}]").
			Replace(strings.Split(strictSplit, "---\n")[0]),
	}
	client := harness.Run(t, harness.Deployment{Documents: documents, Workers: 2}).Client()
	shares := spread(t, client, "/", 400)
	if len(shares) != 2 {
		t.Errorf("one client was on %v, want one host in each backend", shares)
	}
	for host, count := range shares { // six and a half standard deviations: 1e-10
		if want := map[byte]int{'s': 280, 'l': 120}[host[0]]; count < want-60 || count > want+60 {
			t.Errorf("%d of 400 requests went to %s, want about %d", count, host, want)
		}
	}
}

// strictSession is a client's two sessions.
type strictSession struct {
	envoy       *harness.Envoy
	strict, lax *policyconfig.Policy
	hosts       map[string]map[string]bool // by the first letter of their names
}

func (s *strictSession) note(t *testing.T, r harness.Response) {
	t.Helper()
	if s.hosts == nil {
		s.hosts = map[string]map[string]bool{"s": {}, "l": {}}
	}
	s.hosts[r.Backend[:1]][r.Backend] = true
}

// cookies is a line with a token for each of the backends.
func (s *strictSession) cookies(t *testing.T, strict, lax string) []string {
	t.Helper()
	ring := s.envoy.Keys()
	return []string{fmt.Sprintf("Cookie: %s=%s; %s=%s", s.strict.SessionName, ring.Mint(t, s.strict.Scope, strict, harness.Dates{}),
		s.lax.SessionName, ring.Mint(t, s.lax.Scope, lax, harness.Dates{}))}
}

// loses sends requests whose sessions are on hosts that can't serve: of those for the strict backend each fails, a
// client's own wish for a retry or not, and each of those for the other is answered by another host of it.
func (s *strictSession) loses(t *testing.T, what, strict, lax string) {
	t.Helper()
	failed, moved := 0, 0
	for range 60 {
		headers := append(s.cookies(t, strict, lax), "x-envoy-retry-on: connect-failure,5xx", "x-envoy-max-retries: 3")
		r := s.envoy.Stranger().Get(t, "/", headers...)
		switch {
		case r.Status == 521 && r.Backend == "":
			failed++
			wantNoToken(t, r, s.strict.SessionName)
		case r.Status == http.StatusOK && strings.HasPrefix(r.Backend, "l"):
			moved++
			wantToken(t, r, s.lax.SessionName)
			if seen := r.Seen.Headers["X-Envoy-Retry-On"]; seen != nil {
				t.Errorf("the backend saw x-envoy-retry-on: %q", seen)
			}
		default:
			t.Fatalf("host %s: status %d by backend %q", what, r.Status, r.Backend)
		}
	}
	if failed == 0 || moved == 0 {
		t.Errorf("host %s: %d requests failed and %d moved", what, failed, moved)
	}
}

// policyOf gives the policy of the sessions in a Service.
func policyOf(t *testing.T, envoy *harness.Envoy, service string) *policyconfig.Policy {
	t.Helper()
	at := slices.IndexFunc(envoy.Config.Policies, func(p policyconfig.Policy) bool {
		return slices.Equal(p.Clusters, []string{"service/default/" + service + "/80"})
	})
	if at < 0 {
		t.Fatalf("no policy for the Service %s", service)
	}
	return &envoy.Config.Policies[at]
}
