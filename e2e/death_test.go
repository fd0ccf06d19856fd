package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/token"
)

// death is one way to die under way.
type death struct {
	*dying
	envoy   *harness.Envoy
	doomed  []string // names of the hosts that fail
	clients map[string]*harness.Clients
	homes   map[string][]*atomic.Value // of each session: the address in its token, "" without one
	again   atomic.Int64               // answers after which a client had the token of the host that had failed it
	// tallies are those of the variants while the hosts fail.
	tallies map[string]*harness.Tally
}

func newDeath(t *testing.T, envoy *harness.Envoy, d *dying) *death {
	t.Helper()
	run := &death{
		dying: d, envoy: envoy,
		clients: map[string]*harness.Clients{}, homes: map[string][]*atomic.Value{}, tallies: map[string]*harness.Tally{},
	}
	for _, pod := range d.pods[:d.hosts] {
		run.doomed = append(run.doomed, pod.Name)
	}
	eventually(t, "the first health checks", func() bool { return run.healthy(t) == 10 })
	for _, variant := range variants {
		clients := harness.NewClients(t, harness.Size(8, 16), func(i int) func() (harness.Response, error) {
			return run.watchToken(t, variant, i == 0)
		})
		clients.Every = 250 * time.Millisecond
		run.clients[variant], run.tallies[variant] = clients, &harness.Tally{}
	}
	return run
}

// watchToken is a client that looks into its own token after each request. A doomed one has its session on a host that
// will fail, the others wherever Envoy places them.
func (d *death) watchToken(t *testing.T, variant string, doomed bool) func() (harness.Response, error) {
	t.Helper()
	name, home := d.service(variant), &atomic.Value{}
	home.Store("")
	d.homes[variant] = append(d.homes[variant], home)
	client := d.envoy.Client()
	if doomed {
		text := mint(t, d.envoy, name, d.pods[0].Address, harness.Dates{})
		client.Jar.Set("/"+name, []*http.Cookie{{Name: name, Value: text, Path: "/" + name}})
	}
	scope := d.envoy.Keys().Scope(t, d.envoy.Policy(t, name).Scope)
	return func() (harness.Response, error) {
		response, err := client.Try(http.MethodGet, "/"+name, quietly)
		before, now := home.Load(), ""
		if session, verdict := scope.Open(client.Jar.Value(name), time.Now().Unix()); verdict == token.Valid {
			now = session.Host.String()
		}
		if err == nil && response.Status != http.StatusOK && now != "" && before == now && variant != "strict" {
			d.again.Add(1)
		}
		home.Store(now)
		return response, err
	}
}

// run lets the hosts fail while all clients are at work, waits until every guard has done its part, and looks at what
// came of it.
func (d *death) run(t *testing.T) {
	var all sync.WaitGroup
	stop := make(chan struct{})
	for _, variant := range variants {
		all.Go(func() { *d.tallies[variant] = d.clients[variant].During(func() { <-stop }) })
	}
	func() {
		defer all.Wait()
		defer close(stop)
		time.Sleep(harness.Size(500*time.Millisecond, 5*time.Second))
		d.fail(t)
		d.awaitQuiet(t)
		time.Sleep(harness.Size(500*time.Millisecond, 20*time.Second))
	}()
	d.checkMoves(t)
	d.checkErrors(t)
	d.checkPanic(t)
	d.checkAfter(t)
	d.record(t)
}

// awaitQuiet waits until Envoy's guards know of the failed hosts and no session is on one.
func (d *death) awaitQuiet(t *testing.T) {
	eventually(t, "health checks find the failed hosts", func() bool {
		return d.healthy(t) == 10-d.hosts
	})
	eventually(t, "outlier detection finds the failed hosts", func() bool {
		d.strangers("ejecting", 10)
		return d.envoy.Stat(t, "cluster."+d.cluster("ejecting")+".outlier_detection.ejections_active") == uint64(d.hosts)
	})
	for _, variant := range d.escaping() {
		eventually(t, "sessions leave the failed hosts: "+variant, func() bool { return d.left(variant) })
	}
}

// healthy is how many hosts pass their health checks.
func (d *death) healthy(t *testing.T) int {
	t.Helper()
	return int(d.envoy.Stat(t, "cluster."+d.cluster("checked")+".membership_healthy"))
}

// escaping are the variants whose sessions must all find a host that works. Without a guard a client that begins again
// meets nine hosts of ten that each take the route's timeout: it is not worth waiting for.
func (d *death) escaping() []string {
	return slices.DeleteFunc(slices.Clone(variants), func(variant string) bool {
		return variant == "strict" || variant == "plain" && d.slow && d.hosts > 1
	})
}

// left tells whether every session of a variant is on a host that works.
func (d *death) left(variant string) bool {
	var alive []any
	for _, pod := range d.pods[d.hosts:] {
		alive = append(alive, pod.Address)
	}
	return !slices.ContainsFunc(d.homes[variant], func(home *atomic.Value) bool { return !slices.Contains(alive, home.Load()) })
}

// strangers sends so many requests without a session at once, and gives how many were answered 200.
func (d *death) strangers(variant string, count int) int {
	var served atomic.Int64
	var all sync.WaitGroup
	for range count {
		all.Go(func() {
			response, err := d.envoy.Stranger().Try(http.MethodGet, "/"+d.service(variant), quietly)
			if err == nil && response.Status == http.StatusOK {
				served.Add(1)
			}
		})
	}
	all.Wait()
	return int(served.Load())
}

// checkMoves wants no session to have left a host that works, and none to have come back to one that had failed.
func (d *death) checkMoves(t *testing.T) {
	for _, variant := range variants {
		if moved := d.tallies[variant].Moved(d.doomed...); moved > 0 {
			t.Errorf("%s: %d sessions left hosts that work: %v", variant, moved, d.tallies[variant])
		}
	}
	if got := d.tallies["strict"].Moves; len(got) > 0 {
		t.Errorf("strict sessions moved: %v", got)
	}
	if again := d.again.Load(); again > 0 {
		t.Errorf("%d times a client kept the token of a host that had failed it", again)
	}
}

func (d *death) checkErrors(t *testing.T) {
	if tally := d.tallies["retrying"]; tally.Failed() > d.answered(tally) {
		t.Errorf("a route that retries everything: %v", tally)
	}
	want := fmt.Sprintf("status %d", d.strict)
	if got := slices.Collect(maps.Keys(d.tallies["strict"].Errors)); !slices.Equal(got, []string{want}) {
		t.Errorf("strict sessions on failed hosts got %v, want %s", d.tallies["strict"], want)
	}
}

// answered is how many errors sessions of a route that retries everything may have got: what their own host answers is no failure of the
// connection, and reaches its client (S40). Each session that moved got it once.
func (d *death) answered(tally *harness.Tally) int {
	if d.strict != http.StatusServiceUnavailable {
		return 0
	}
	moved := 0
	for _, count := range tally.Moves {
		moved += count
	}
	return moved
}

// checkPanic wants new clients to be served by what is left, once Envoy's workers know what that is: they are told of
// changes of health a second at a time (update_merge_window).
func (d *death) checkPanic(t *testing.T) {
	for _, variant := range []string{"checked", "ejecting"} {
		eventually(t, "new clients are served: "+variant, func() bool { return d.strangers(variant, 30) == 30 })
		if got := d.envoy.Stat(t, "cluster."+d.cluster(variant)+".lb_healthy_panic"); got > 0 {
			t.Errorf("%s: Envoy panicked %d times", variant, got)
		}
	}
}

// checkAfter wants every session to be served by its new host.
func (d *death) checkAfter(t *testing.T) {
	for _, variant := range d.escaping() {
		after := d.clients[variant].During(func() { time.Sleep(300 * time.Millisecond) })
		if after.Failed() > 0 || len(after.Moves) > 0 {
			t.Errorf("%s: after sessions had left the failed hosts: %v", variant, after)
		}
		d.tallies[variant].Add(after)
	}
}

func (d *death) record(t *testing.T) {
	row := harness.Result{Faults: d.hosts}
	for _, variant := range variants {
		tally := d.tallies[variant]
		row.Requests += tally.Requests
		row.Sessions += d.clients[variant].Size()
		row.Lost += tally.Moved(d.doomed...)
		if variant != "strict" {
			row.Errors += tally.Failed()
		}
	}
	row.Note = fmt.Sprintf("errors as compiled %d, with health checks %d, with outlier detection %d, with retries of 5xx %d; strict: %d answered %d",
		d.tallies["plain"].Failed(), d.tallies["checked"].Failed(), d.tallies["ejecting"].Failed(), d.tallies["retrying"].Failed(),
		d.tallies["strict"].Failed(), d.strict)
	harness.RecordResult(t, d.scenario, row)
}
