package e2e

import (
	"bufio"
	"fmt"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// canaries are the weights of the old and the new version, one after the other, in percent.
var canaries = [][2]int{{90, 10}, {50, 50}, {0, 100}}

// stage is how long each of them lasts.
func stage() time.Duration { return harness.Size(1500*time.Millisecond, 2*time.Minute) }

// versions are the Services v1, with the backends a and b, which it gives too, and v2, with c and d.
func versions(t *testing.T) (old []*harness.Backend, documents harness.Documents) {
	t.Helper()
	old = harness.Backends(t, "a", "b")
	v2 := harness.Backends(t, "c", "d")
	return old, harness.Documents{Services: []harness.Service{{Name: "v1", Backends: old}, {Name: "v2", Backends: v2}}}
}

// isV1 tells whether a backend is of the old version.
func isV1(backend string) bool { return backend == "a" || backend == "b" }

// wantShare fails where count of total is further from its percentage than chance takes it: six and a half standard
// deviations are once in ten billion runs.
func wantShare(t *testing.T, what string, count, total, percent int) {
	t.Helper()
	share := float64(percent) / 100
	far := 6.5 * math.Sqrt(float64(total)*share*(1-share))
	if got, want := float64(count), float64(total)*share; math.Abs(got-want) > far || total == 0 {
		t.Errorf("%s: %d of %d, want %d percent", what, count, total, percent)
	}
}

// TestCanary shifts a rule of Gateway API 1.6 from one version to the other under load. New sessions go where the
// weights say and no session moves; when a host of the old version goes, its sessions move, once, and no others.
func TestCanary(t *testing.T) {
	t.Parallel()
	v1, documents := versions(t)
	rule := harness.CookieRule("cart", "")
	documents.Routes = []harness.Route{{Name: "app", Rules: []harness.Rule{rule}}}
	weigh := func(d *harness.Documents, w [2]int) {
		d.Routes[0].Rules[0].Refs = []harness.Ref{{Service: "v1", Weight: w[0]}, {Service: "v2", Weight: w[1]}}
	}
	weigh(&documents, canaries[0])
	proxy := harness.RunWatching(t, documents, harness.NewRing("first"))
	clients := harness.NewClients(t, 40, func(int) func() (harness.Response, error) {
		return harness.Getter(proxy.Client(), "/cart", quietly)
	})
	clients.Every = 20 * time.Millisecond
	begun, held := clients.Homes(), hold(t, proxy.Port)
	held.ask(t)
	strangers, tally := 0, clients.During(func() {})
	tally.Add(clients.During(func() {
		for i, weights := range canaries {
			if i > 0 {
				proxy.Set(t, func(d *harness.Documents) { weigh(d, weights) })
			}
			strangers += newcomers(t, proxy, weights[0])
			time.Sleep(stage())
		}
	}))
	if tally.Moved() > 0 || tally.Failed() > 0 || begun["a"] == 0 || begun["b"] == 0 {
		t.Errorf("sessions were on %v; %v", begun, tally)
	}
	goes := clients.During(func() {
		proxy.Set(t, func(d *harness.Documents) { d.Services[0].Backends = v1[1:] })
		time.Sleep(500 * time.Millisecond)
	})
	if goes.Failed() > 0 || goes.Moved("a") > 0 || goes.Moved() != begun["a"] {
		t.Errorf("when a went with its %d sessions: %v", begun["a"], goes)
	}
	held.ask(t)
	harness.RecordResult(t, "canary 90/10, 50/50, 0/100, and a host gone; a session beats the weights (1.6)", harness.Result{
		Requests: tally.Requests + goes.Requests + strangers, Sessions: clients.Size() + strangers, Changes: proxy.Changes(), Faults: 1,
		Lost: tally.Moved() + goes.Moved("a"), Errors: tally.Failed() + goes.Failed(),
		Note: fmt.Sprintf("the %d sessions of the host that went moved once, without an error", begun["a"]),
	})
}

// heldConnection is a client's connection, over which it sends requests now and then.
type heldConnection struct {
	net.Conn
	answers *bufio.Reader
}

func hold(t *testing.T, port int) heldConnection {
	t.Helper()
	connection, err := net.Dial("tcp", harness.Loopback(port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return heldConnection{connection, bufio.NewReader(connection)}
}

// ask sends a request that must be answered over this very connection.
func (h heldConnection) ask(t *testing.T) {
	t.Helper()
	if err := h.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(h, "GET /cart HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", quietly)
	answer, err := http.ReadResponse(h.answers, nil)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("over a connection that was there before the changes: %v, %v", answer, err)
	}
	_ = answer.Body.Close() // it is empty
}

// newcomers begins sessions, of which so many percent must be on v1, and gives how many.
func newcomers(t *testing.T, proxy *harness.Watching, percent int) int {
	t.Helper()
	const count = 300
	old, client := 0, proxy.Client()
	client.Jar = nil
	for range count {
		if isV1(visit(t, client, "/cart", quietly).Backend) {
			old++
		}
	}
	wantShare(t, "new sessions on v1", old, count, percent)
	return count
}

// route17 is a split in the words of Gateway API 1.7.
func route17(weights [2]int) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app, namespace: default}
spec:
  parentRefs: [{name: edge}]
  rules:
  - backendRefs: [{name: v1, port: 80, weight: %d}, {name: v2, port: 80, weight: %d}]
    sessionPersistence: {cookie: {name: cart}}
`, weights[0], weights[1])
}

// shifting is a split of 1.7 under load: how many requests each version got in each stage, and how many did not reach
// the host that their client's session in that version is on.
type shifting struct {
	stage  atomic.Int64 // -1 while it changes
	shares [3][2]atomic.Int64
	lost   atomic.Int64
}

// client is one of harness.Clients that remembers its host in each version. To them it is always on one backend.
func (s *shifting) client(client *harness.Client) func() (harness.Response, error) {
	homes := map[bool]string{}
	return func() (harness.Response, error) {
		before := s.stage.Load()
		response, err := client.Try(http.MethodGet, "/", quietly)
		if err != nil || response.Status != http.StatusOK {
			return response, err
		}
		old := isV1(response.Backend)
		if homes[old] == "" {
			homes[old] = response.Backend
		}
		if homes[old] != response.Backend {
			homes[old] = response.Backend
			s.lost.Add(1)
		}
		if before >= 0 && before == s.stage.Load() {
			version := 1
			if old {
				version = 0
			}
			s.shares[before][version].Add(1)
		}
		response.Backend = "either"
		return response, nil
	}
}

// TestCanary17 shifts a rule of Gateway API 1.7: the weights hold on every request of every client, and in each version
// a client stays on one host.
func TestCanary17(t *testing.T) {
	t.Parallel()
	_, documents := versions(t)
	documents.More = route17(canaries[0])
	proxy := harness.RunWatching(t, documents, harness.NewRing("first"))
	s := &shifting{}
	clients := harness.NewClients(t, 40, func(int) func() (harness.Response, error) { return s.client(proxy.Client()) })
	clients.Every = 20 * time.Millisecond
	tally := clients.During(func() {
		for i, weights := range canaries {
			if i > 0 {
				s.stage.Store(-1)
				proxy.Set(t, func(d *harness.Documents) { d.More = route17(weights) })
				s.stage.Store(int64(i))
			}
			time.Sleep(stage())
		}
	})
	for i, weights := range canaries {
		old, young := int(s.shares[i][0].Load()), int(s.shares[i][1].Load())
		wantShare(t, fmt.Sprintf("requests to v1 at %d/%d", weights[0], weights[1]), old, old+young, weights[0])
	}
	lost := int(s.lost.Load())
	if lost > 0 || tally.Failed() > 0 {
		t.Errorf("%d requests left their client's host: %v", lost, tally)
	}
	harness.RecordResult(t, "canary 90/10, 50/50, 0/100; the weights hold on every request (1.7)", harness.Result{
		Requests: tally.Requests, Sessions: 2 * clients.Size(), Changes: proxy.Changes(), Lost: lost, Errors: tally.Failed(),
		Note: "each client has a session in each version",
	})
}
