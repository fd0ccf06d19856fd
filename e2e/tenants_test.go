package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/internal/compiler/tenanttest"
)

// tenancy is namespaces that share an Envoy, with a file of the input for each.
type tenancy struct {
	*tenanttest.World
	*harness.Watching
	faults int
}

// newTenancy starts the backends of the honest namespaces and limpet, on their objects and the operator's alone.
func newTenancy(t *testing.T, seed uint64, honest, hostile int) *tenancy {
	t.Helper()
	pods := map[int][]*harness.Backend{}
	var own, free []int
	for i := range honest {
		own = append(own, harness.FreePort(t))
		pods[i] = harness.Backends(t, fmt.Sprintf("honest-%03d/0", i), fmt.Sprintf("honest-%03d/1", i), fmt.Sprintf("honest-%03d/2", i))
	}
	for range 20 {
		free = append(free, harness.FreePort(t))
	}
	s := &tenancy{World: tenanttest.New(seed, tenanttest.Site{
		Shared: harness.FreePort(t), SharedTLS: harness.FreePort(t), Admin: harness.FreePort(t), Honest: honest, Hostile: hostile,
		OwnPort: func(i int) int { return own[i] }, FreePort: func(i int) int { return free[i%len(free)] },
		Endpoint: func(namespace, n int) (string, int) {
			return "127.0.0.1", pods[namespace%honest][n].Port()
		},
	})}
	operator := s.OperatorSource()
	files := map[string]string{operator.Name: string(operator.Data)}
	for _, n := range s.Namespaces[:honest] {
		files[n.Source().Name] = n.Text()
	}
	s.Watching = harness.RunFolder(t, files, s.Shared, s.Admin, harness.NewRing("k0"))
	return s
}

// clients begins four sessions in each honest namespace: by cookie and by header on the shared Gateway, over a split, and on the
// namespace's own Gateway.
func (s *tenancy) clients(t *testing.T) *harness.Clients {
	t.Helper()
	clients := harness.NewClients(t, 4*s.Honest, func(i int) func() (harness.Response, error) {
		n, kind := s.Namespaces[i/4], i%4
		client := harness.NewClient([]int{s.Shared, s.Shared, s.Shared, s.Port(n)}[kind])
		client.Host = "shop." + n.Host()
		if kind == 1 {
			return headerSession(client, "/api", "X-Session")
		}
		return harness.Getter(client, []string{"/cart", "", "/split", "/cart"}[kind], quietly)
	})
	clients.Every = 100 * time.Millisecond
	return clients
}

// headerSession sends requests of a session that a header carries.
func headerSession(client *harness.Client, path, name string) func() (harness.Response, error) {
	token := ""
	return func() (harness.Response, error) {
		headers := []string{quietly}
		if token != "" {
			headers = append(headers, name+": "+token)
		}
		response, err := client.Try(http.MethodGet, path, headers...)
		if renewed := response.Header.Get(name); err == nil && renewed != "" {
			token = renewed
		}
		return response, err
	}
}

// change changes some namespaces. Now and then a hostile one's file becomes what no one can read, for a while.
func (s *tenancy) change(t *testing.T) {
	t.Helper()
	for _, n := range s.Step(8) {
		name := n.Source().Name
		switch text := n.Text(); {
		case !n.Honest && s.Random().IntN(8) == 0:
			s.faults++
			s.WriteFile(t, name, []string{"", "\x00", "a: [", strings.Repeat("- ", 100_000), "{kind: [}"}[s.Random().IntN(5)])
		case text == "":
			s.RemoveFile(t, name)
		default:
			s.WriteFile(t, name, text)
		}
	}
}

// wantChangesLive adds a route to each honest namespace, and waits until it serves.
func (s *tenancy) wantChangesLive(t *testing.T) {
	t.Helper()
	const late = "\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: late, namespace: %s}\n" +
		"spec: {parentRefs: [{name: own}], hostnames: [late.%s], rules: [{backendRefs: [{name: shop, port: 80}]}]}\n"
	for _, n := range s.Namespaces[:s.Honest] {
		s.WriteFile(t, n.Source().Name, n.Text()+fmt.Sprintf(late, n.Name, n.Host()))
	}
	for _, n := range s.Namespaces[:s.Honest] {
		client := harness.NewClient(s.Port(n))
		client.Host = "late." + n.Host()
		eventually(t, "the last change of "+n.Name+" is live", func() bool {
			response, err := client.Try(http.MethodGet, "/late", quietly)
			return err == nil && response.Status == http.StatusOK && strings.HasPrefix(response.Backend, n.Name+"/")
		})
	}
}

// TestTenants lets many namespaces change their objects at random behind one Envoy, most of them hostile, while clients of the
// honest ones are at work: no session of theirs moves, no host of another's answers, and no request fails; and their changes go
// live.
//
// requirements: S28, S72, S74, S75
func TestTenants(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s, span := newTenancy(t, seed, harness.Size(6, 20), harness.Size(44, 180)), harness.Size(15*time.Second, 10*time.Minute)
	t.Cleanup(func() {
		if printed := s.Output(); t.Failed() {
			t.Logf("limpet says\n%s", printed[max(0, len(printed)-30_000):])
		}
	})
	clients, progress, changes := s.clients(t), harness.NewProgress(t), 0
	tally := clients.During(func() {
		for end := time.Now().Add(span); time.Now().Before(end); changes++ {
			s.change(t)
			time.Sleep(time.Duration(s.Random().IntN(400)) * time.Millisecond)
			progress.Say("%d changes", changes)
		}
		s.wantChangesLive(t)
	})
	foreign := 0
	for move, count := range tally.Moves {
		if before, _, _ := strings.Cut(move.From, "/"); !strings.HasPrefix(move.To, before+"/") {
			foreign += count
		}
	}
	printed := s.Output()
	if tally.Failed() > 0 || tally.Moved() > 0 || strings.Contains(printed, "ejected") || strings.Contains(printed, "failed;") {
		t.Errorf("%d answers of others' hosts; %v", foreign, tally)
	}
	harness.RecordResult(t, "namespaces, most of them hostile, change their objects at random (limpet run)", harness.Result{
		Requests: tally.Requests, Sessions: clients.Size(), Changes: strings.Count(printed, " live in "), Faults: s.faults,
		Lost: tally.Moved(), Errors: tally.Failed(),
		Note: fmt.Sprintf("%d namespaces, %d of them hostile, for %v: %d answers of others' hosts; files were no YAML %d times",
			len(s.Namespaces), s.Hostile, span, foreign, s.faults),
	})
}
