package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// drainScene is a Service of three hosts that two routes lead to, one of which has a drain limit.
type drainScene struct {
	*harness.Watching
	pods      []*harness.Backend
	tokenless atomic.Int64 // moves without a new token in the same response
}

// drainLimit is long enough for a busy machine to show that nothing moves before.
const drainLimit = 3 * time.Second

func newDrainScene(t *testing.T) *drainScene {
	t.Helper()
	s := &drainScene{pods: harness.Backends(t, "a", "b", "c")}
	documents := harness.Documents{
		Services: []harness.Service{{Name: "pods", Backends: s.pods}},
		Routes: []harness.Route{
			{Name: "free", Rules: []harness.Rule{harness.CookieRule("cart", "pods")}},
			{Name: "limited", Rules: []harness.Rule{harness.HeaderRule("x-limited", "pods")}},
		},
		More: fmt.Sprintf(`
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: limit, namespace: default}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: limited}
  drainTimeout: %.0fs
`, drainLimit.Seconds()),
	}
	s.Watching = harness.RunWatching(t, documents, harness.NewRing("first"))
	return s
}

// beginSessions begins sessions on one of the routes.
func (s *drainScene) beginSessions(t *testing.T, path string, count int) *harness.Clients {
	t.Helper()
	clients := harness.NewClients(t, count, func(int) func() (harness.Response, error) {
		if path == "/cart" {
			return s.watchful(harness.Getter(s.Client(), path, quietly), func(r harness.Response) bool { return len(r.Header["Set-Cookie"]) == 1 })
		}
		return s.watchful(s.headerMember(path), func(r harness.Response) bool { return r.Header.Get("X-Limited") != "" })
	})
	clients.Every = 5 * time.Millisecond
	return clients
}

// headerMember is a client that sends back the session header that it got last.
func (s *drainScene) headerMember(path string) func() (harness.Response, error) {
	client, token := s.Client(), ""
	return func() (harness.Response, error) {
		headers := []string{quietly}
		if token != "" {
			headers = append(headers, "x-limited: "+token)
		}
		response, err := client.Try("GET", path, headers...)
		if renewed := response.Header.Get("X-Limited"); renewed != "" {
			token = renewed
		}
		return response, err
	}
}

// watchful counts the moves that come without a new token.
func (s *drainScene) watchful(send func() (harness.Response, error), renewed func(harness.Response) bool) func() (harness.Response, error) {
	home := ""
	return func() (harness.Response, error) {
		response, err := send()
		if err == nil && response.Backend != home {
			if !renewed(response) {
				s.tokenless.Add(1)
			}
			home = response.Backend
		}
		return response, err
	}
}

// drain lets the first host terminate, or takes it out.
func (s *drainScene) drain(t *testing.T, serves bool) {
	t.Helper()
	s.Set(t, func(d *harness.Documents) {
		d.Services[0].Backends, d.Services[0].Draining = s.pods[1:], nil
		if serves {
			d.Services[0].Draining = s.pods[:1]
		}
	})
}

// TestDrain: a host that terminates keeps all of its sessions and gets no new one; when it is gone, each of them moves
// once, with a new token in the same response.
//
// requirements: 2A.27, S41
func TestDrain(t *testing.T) {
	t.Parallel()
	s := newDrainScene(t)
	clients, strangers := s.beginSessions(t, "/cart", harness.Size(30, 300)), harness.Size(300, 3000)
	before := clients.Homes()
	if before["a"] == 0 {
		t.Fatalf("no session is on a: %v", before)
	}
	during := clients.During(func() {
		s.drain(t, true)
		client := s.Client()
		client.Jar = nil
		if shares := spread(t, client, "/cart", strangers); shares["a"] > 0 {
			t.Errorf("a terminates and got %d of %d new sessions", shares["a"], strangers)
		}
	})
	if during.Failed() > 0 || during.Moved() > 0 {
		t.Errorf("while a terminates: %v", during)
	}
	after := clients.During(func() {
		s.drain(t, false)
		eventually(t, "the host that is gone finishes its last requests", func() bool {
			count := s.pods[0].Requests()
			time.Sleep(300 * time.Millisecond)
			return s.pods[0].Requests() == count
		})
		s.pods[0].Close()
	})
	moved := after.Moves[harness.Move{From: "a", To: "b"}] + after.Moves[harness.Move{From: "a", To: "c"}]
	if after.Failed() > 0 || moved != before["a"] || after.Moved("a") > 0 || s.tokenless.Load() > 0 {
		t.Errorf("%d sessions were on a, which is gone: %v; %d moves without a new token", before["a"], after, s.tokenless.Load())
	}
	harness.RecordResult(t, "a host terminates, then is gone", harness.Result{
		Requests: during.Requests + after.Requests + strangers, Sessions: clients.Size(), Changes: s.Changes(), Faults: 1,
		Lost: during.Moved() + after.Moved("a"), Errors: during.Failed() + after.Failed(),
		Note: fmt.Sprintf("%d sessions stayed on it while it drained and moved once when it was gone; 0 of %d new ones", moved, strangers),
	})
}

// TestDrainTimeout: when the drain limit of a policy has passed, its sessions leave a host that terminates and still
// serves, once, with a new token in the same response. Those of a policy without a limit stay there.
//
// requirements: S41
func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	s := newDrainScene(t)
	limited, free := s.beginSessions(t, "/x-limited", 30), s.beginSessions(t, "/cart", 30)
	homes := limited.Homes()
	if homes["a"] == 0 || free.Homes()["a"] == 0 {
		t.Fatalf("no sessions are on a: %v, %v", homes, free.Homes())
	}
	begin := time.Now()
	var early, late, others harness.Tally
	others = free.During(func() {
		early = limited.During(func() {
			s.drain(t, true)
			time.Sleep(time.Until(begin.Add(drainLimit - 500*time.Millisecond)))
		})
		inTime := time.Since(begin) < drainLimit
		if inTime && early.Moved() > 0 {
			t.Errorf("before the limit: %v", early)
		}
		late = limited.During(func() {
			if line := s.Due(t); !strings.Contains(line, "endpoints of default/pods:80 (drain-3s)") {
				t.Errorf("limpet says %q", line)
			}
		})
	})
	late.Add(early)
	if others.Failed() > 0 || others.Moved() > 0 {
		t.Errorf("sessions without a limit: %v", others)
	}
	moved := late.Moves[harness.Move{From: "a", To: "b"}] + late.Moves[harness.Move{From: "a", To: "c"}]
	if late.Failed() > 0 || moved != homes["a"] || late.Moved("a") > 0 || s.tokenless.Load() > 0 {
		t.Errorf("%d sessions were on a: %v; %d moves without a new token", homes["a"], late, s.tokenless.Load())
	}
	harness.RecordResult(t, "a host terminates for longer than drainTimeout", harness.Result{
		Requests: late.Requests + others.Requests, Sessions: limited.Size() + free.Size(), Changes: s.Changes(),
		Lost: others.Moved() + late.Moved("a"), Errors: late.Failed() + others.Failed(),
		Note: fmt.Sprintf("%d sessions left the host after %v, and those of a policy without a limit stayed", moved, drainLimit),
	})
}
