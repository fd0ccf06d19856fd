package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// hostsScene is a Service with two routes: sessions of one move when their host is lost, those of the other fail.
type hostsScene struct {
	*harness.Envoy
	pods    []*harness.Backend
	cluster string
}

// newHostsScene deploys them with a policy on the Service's hosts.
func newHostsScene(t *testing.T, policy string, pods ...*harness.Backend) *hostsScene {
	t.Helper()
	envoy := harness.Run(t, harness.Deployment{Documents: harness.Documents{
		Services: []harness.Service{{Name: "pods", Backends: pods}},
		Routes: []harness.Route{
			{Name: "moves", Rules: []harness.Rule{harness.CookieRule("cart", "pods")}},
			{Name: "fails", Rules: []harness.Rule{harness.HeaderRule("x-strict", "pods")}},
		},
		More: fmt.Sprintf(`
apiVersion: limpet.dev/v1alpha1
kind: LoadBalancerPolicy
metadata: {name: pods, namespace: default}
spec:
  targetRefs: [{group: "", kind: Service, name: pods}]
  %s
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: fails, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: fails}]
  onHostLost: Fail
  failStatus: 504
`, policy),
	}})
	return &hostsScene{envoy, pods, "service/default/pods/80"}
}

// mergeWindow is how much later Envoy's workers may hear of a change: it puts those within a second together.
const mergeWindow = 1200 * time.Millisecond

// await waits until all of Envoy takes hosts for ones that serve, or that don't.
func (s *hostsScene) await(t *testing.T, healthy bool, hosts ...*harness.Backend) {
	t.Helper()
	for _, host := range hosts {
		eventually(t, fmt.Sprintf("%s is healthy: %t", host.Name, healthy), func() bool {
			_, line, _ := strings.Cut(s.Admin(t, "/clusters"), s.cluster+"::"+host.Address+"::health_flags::")
			return strings.HasPrefix(line, "healthy\n") == healthy && line != ""
		})
	}
	time.Sleep(mergeWindow)
}

// tokens are a session of each route on a host.
func (s *hostsScene) tokens(t *testing.T, pod *harness.Backend) (moves, fails string) {
	t.Helper()
	return cookieLine("cart", mint(t, s.Envoy, "cart", pod.Address, harness.Dates{})),
		"x-strict: " + mint(t, s.Envoy, "x-strict", pod.Address, harness.Dates{})
}

// checkLost sends requests of sessions on a host that is lost: one moves and gets a new token, the other fails and keeps its own.
func (s *hostsScene) checkLost(t *testing.T, host *harness.Backend) {
	t.Helper()
	moves, fails := s.tokens(t, host)
	before := host.Requests()
	for range 5 {
		response := visit(t, s.Stranger(), "/cart", moves)
		if response.Backend == host.Name {
			t.Errorf("a session stayed on %s, which is lost", host.Name)
		}
		if to := open(t, s.Envoy, "cart", wantToken(t, response, "cart").Value).Host.String(); to == host.Address {
			t.Errorf("the new token leads to %s, which is lost", host.Name)
		}
		if got := s.Stranger().Get(t, "/x-strict", fails); got.Status != http.StatusGatewayTimeout || got.Header.Get("x-strict") != "" {
			t.Errorf("a session that must not move got %d and the token %q", got.Status, got.Header.Get("x-strict"))
		}
	}
	if began := spread(t, s.Stranger(), "/cart", 30)[host.Name]; began > 0 {
		t.Errorf("%d new sessions began on %s, which is lost", began, host.Name)
	}
	if host.Requests() > before+20 { // checks reach it, nothing else
		t.Errorf("%d requests reached %s", host.Requests()-before, host.Name)
	}
}

// checkServes sends requests of sessions on a host, which all reach it.
func (s *hostsScene) checkServes(t *testing.T, host *harness.Backend) {
	t.Helper()
	moves, fails := s.tokens(t, host)
	for range 5 {
		if got := visit(t, s.Stranger(), "/cart", moves).Backend; got != host.Name {
			t.Errorf("a session on %s went to %s", host.Name, got)
		}
		if got := visit(t, s.Stranger(), "/x-strict", fails).Backend; got != host.Name {
			t.Errorf("a session on %s that must not move went to %s", host.Name, got)
		}
	}
}

// TestHealthCheckEndsSessions: a host that says it can't serve, though it would, loses its sessions: they move or fail, as their
// onHostLost says. A session that failed goes on when the host is well again.
//
// requirements: S80
func TestHealthCheckEndsSessions(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b", "c")
	pods[2].Break(harness.FaultUnready) // from the beginning
	s := newHostsScene(t, "healthCheck: {interval: 1s, timeout: 5s, unhealthyThreshold: 2, http: {path: /ready, hostname: pods.example.com}}", pods...)
	s.await(t, true, pods[0], pods[1])
	s.checkLost(t, pods[2])
	s.checkServes(t, pods[0])
	pods[0].Break(harness.FaultUnready)
	s.await(t, false, pods[0])
	s.checkLost(t, pods[0])
	s.checkServes(t, pods[1])
	pods[0].Break(harness.NoFault)
	pods[2].Break(harness.NoFault)
	s.await(t, true, pods...)
	s.checkServes(t, pods[0])
	s.checkServes(t, pods[2])
}

// TestHealthCheckOfConnections: a host that takes no connection is out before a request has to find that out.
//
// requirements: S80
func TestHealthCheckOfConnections(t *testing.T) {
	t.Parallel()
	s := newHostsScene(t, "healthCheck: {type: TCP, interval: 1s, timeout: 5s, unhealthyThreshold: 1}", harness.Backends(t, "a", "b")...)
	s.await(t, true, s.pods...)
	s.checkServes(t, s.pods[0])
	s.pods[0].Close()
	s.await(t, false, s.pods[0])
	s.checkLost(t, s.pods[0])
	if failed := s.Stat(t, "cluster."+s.cluster+".upstream_cx_connect_fail"); failed > 3 {
		t.Errorf("%d connections failed, those of health checks alone", failed)
	}
}

// TestHealthCheckOfCalls: a gRPC server says of itself, by gRPC's own protocol, that it can't serve.
//
// requirements: S80
func TestHealthCheckOfCalls(t *testing.T) {
	t.Parallel()
	pods := []*harness.Backend{harness.NewGRPCBackend(t, "a"), harness.NewGRPCBackend(t, "b")}
	envoy := harness.Run(t, harness.Deployment{Documents: harness.Documents{
		Services: []harness.Service{{Name: "pods", Backends: pods}}, More: callsDocument + `
---
apiVersion: limpet.dev/v1alpha1
kind: LoadBalancerPolicy
metadata: {name: pods, namespace: default}
spec:
  targetRefs: [{group: "", kind: Service, name: pods}]
  healthCheck: {type: GRPC, interval: 1s, timeout: 5s, unhealthyThreshold: 1, grpc: {service: shop.Cart}}
`,
	}})
	s := &hostsScene{envoy, pods, "service/default/pods/80/h2c"}
	s.await(t, true, pods...)
	caller := harness.NewCaller(t, envoy.Port, "x-cart")
	home, _ := call(t, caller, "/shop.Cart/Get")
	for range 5 {
		if got, _ := call(t, caller, "/shop.Cart/Get"); got != home {
			t.Fatalf("a session on %s went to %s", home, got)
		}
	}
	for _, pod := range pods {
		if pod.Name == home {
			pod.Break(harness.FaultUnready)
			s.await(t, false, pod)
		}
	}
	for i := range 5 {
		if got, renewed := call(t, caller, "/shop.Cart/Get"); got == home || renewed != (i == 0) {
			t.Fatalf("call %d of a session on %s, which is lost, went to %s; a new token: %t", i, home, got, renewed)
		}
	}
}

// TestOutlierDetectionEndsSessions: a host that answers with errors in a row is out for a while, and the sessions on it are lost as on
// one that fails its checks; so few hosts as the limit says are out at once.
//
// requirements: S81
func TestOutlierDetectionEndsSessions(t *testing.T) {
	t.Parallel()
	s := newHostsScene(t, "outlierDetection: {consecutive5xxErrors: 3, interval: 1s, baseEjectionTime: 10s}", harness.Backends(t, "a", "b")...)
	s.checkServes(t, s.pods[0])
	s.failThrice(t, s.pods[0])
	s.await(t, false, s.pods[0])
	s.checkLost(t, s.pods[0])
	s.failThrice(t, s.pods[1]) // half are out already
	s.checkServes(t, s.pods[1])
	s.await(t, true, s.pods[0])
	s.checkServes(t, s.pods[0])
}

// failThrice has a host answer three requests of a session with errors.
func (s *hostsScene) failThrice(t *testing.T, host *harness.Backend) {
	t.Helper()
	moves, _ := s.tokens(t, host)
	for range 3 {
		if got := s.Stranger().Get(t, "/cart", moves, harness.ReplyStatus+": 500"); got.Backend != host.Name || got.Status != 500 {
			t.Fatalf("the session got %d from %q", got.Status, got.Backend)
		}
	}
}

// TestConnectionLimit: each host has so many connections and no more, whatever is for it; requests of a session wait for their host,
// those of a strict one too, and none is lost.
//
// requirements: S85
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	s := newHostsScene(t, "limits: {maxConnections: 2}", harness.Backends(t, "a", "b")...)
	moves, fails := s.tokens(t, s.pods[0])
	const count, delay = 6, "500ms"
	began := time.Now()
	var all sync.WaitGroup
	for i := range 2 * count {
		path, token := "/cart", moves
		if i%2 == 0 {
			path, token = "/x-strict", fails
		}
		all.Go(func() {
			response, err := s.Stranger().Try("GET", path, token, harness.ReplyDelay+": "+delay)
			if err != nil || response.Status != http.StatusOK || response.Backend != "a" {
				t.Errorf("%s: status %d from %q, %v", path, response.Status, response.Backend, err)
			}
		})
	}
	all.Wait()
	if took := time.Since(began); took < count*500*time.Millisecond {
		t.Errorf("%d requests of half a second, two at a time, took %v", 2*count, took)
	}
	if open := s.Stat(t, "cluster."+s.cluster+".upstream_cx_total"); open > 2 {
		t.Errorf("%d connections", open)
	}
}

// TestSlowStart: a host that is well again gets few new sessions at first, and all requests of those that it has.
//
// requirements: S82
func TestSlowStart(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b", "c")
	pods[2].Break(harness.FaultUnready)
	s := newHostsScene(t, "healthCheck: {interval: 1s, timeout: 5s, unhealthyThreshold: 1, http: {path: /ready}}\n  slowStart: {window: 6s}", pods...)
	s.await(t, true, pods[0], pods[1])
	time.Sleep(7 * time.Second) // a and b are new no more
	pods[2].Break(harness.NoFault)
	s.await(t, true, pods[2])
	if early := spread(t, s.Stranger(), "/cart", 90)["c"]; early > 20 {
		t.Errorf("%d of 90 sessions began on a host that is new", early)
	}
	s.checkServes(t, pods[2])
	time.Sleep(7 * time.Second)
	if late := spread(t, s.Stranger(), "/cart", 90)["c"]; late < 25 {
		t.Errorf("%d of 90 sessions began on one of three hosts", late)
	}
}
