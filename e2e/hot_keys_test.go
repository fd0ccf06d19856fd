package e2e

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/token"
)

// proxyPair has two proxies for the same hosts with the same keys, and clients that use them in turn.
type proxyPair struct {
	proxies [2]*harness.Watching
	jars    []*harness.Jar
	homes   []string
	answers []atomic.Int64
	active  int // how many clients, the first ones, send requests all the time
}

func newPair(t *testing.T, ring string, clients int) *proxyPair {
	t.Helper()
	p := &proxyPair{answers: make([]atomic.Int64, clients)}
	pods := harness.Backends(t, "a", "b", "c")
	for i := range p.proxies {
		p.proxies[i] = harness.RunWatching(t, harness.OneRoute(pods, harness.CookieRule("cart", "pods")), harness.ParseRing(t, ring))
	}
	for i := range clients {
		p.jars = append(p.jars, &harness.Jar{})
		p.homes = append(p.homes, visit(t, p.client(i, i%2), "/cart").Backend)
	}
	return p
}

// client is a connection of a client to a proxy; its cookies are the same at both.
func (p *proxyPair) client(i, proxy int) *harness.Client {
	client := p.proxies[proxy].Client()
	client.Jar = p.jars[i]
	return client
}

// busy are the first clients, which send requests all the time, to one proxy and the other in turn.
func (p *proxyPair) busy(t *testing.T, count int) *harness.Clients {
	t.Helper()
	p.active = count
	clients := harness.NewClients(t, count, func(i int) func() (harness.Response, error) {
		at := [2]func() (harness.Response, error){
			harness.Getter(p.client(i, 0), "/cart", quietly), harness.Getter(p.client(i, 1), "/cart", quietly),
		}
		return func() (harness.Response, error) { return at[p.answers[i].Add(1)%2]() }
	})
	clients.Every = 5 * time.Millisecond
	return clients
}

// used waits until each of the active clients has had answers of both proxies since now.
func (p *proxyPair) used(t *testing.T) {
	t.Helper()
	for i := range p.active {
		enough := p.answers[i].Load() + 4 // one is under way, and the last has only begun
		eventually(t, "every session is used at both proxies", func() bool { return p.answers[i].Load() >= enough })
	}
}

// signedWith is how many of the clients from one to another have a token of these keys.
func (p *proxyPair) signedWith(t *testing.T, ring harness.Ring, from, to int) int {
	t.Helper()
	scope, count := ring.Scope(t, harness.CartScope), 0
	for _, jar := range p.jars[from:to] {
		if _, verdict := scope.Open(jar.Value("cart"), time.Now().Unix()); verdict == token.Valid {
			count++
		}
	}
	return count
}

// TestKeysRotateHot changes the keys of two running proxies at different moments, as docs/operations.md says: a new key in
// front, which signs when both have it, and later the old one away. No session that is in use is lost, and none at all
// before the old key goes; sessions that were idle all the time then begin again, without an error.
func TestKeysRotateHot(t *testing.T) {
	t.Parallel()
	const active, idle, late = 12, 6, 6
	begin := time.Now()
	old := keygen(t, "--id", "old")
	p := newPair(t, old, active+idle+late)
	clients := p.busy(t, active)
	overlap := 2*time.Since(begin) + 3*time.Second // longer than both changes take on this machine today
	added := keygen(t, "--id", "new", "--add-to", writeFile(t, "keys.json", old), "--overlap", overlap.Round(time.Second).String())
	ring := harness.ParseRing(t, added)
	tally := clients.During(func() {
		p.proxies[0].SetKeys(t, added)
		p.used(t)
		p.proxies[1].SetKeys(t, added)
		if !time.Now().Before(ring.SignsFrom()) {
			t.Errorf("two changes of keys took longer than the overlap of %v", overlap)
		}
		time.Sleep(time.Until(ring.SignsFrom().Add(time.Second)))
		p.used(t)
		for i := active + idle; i < len(p.jars); i++ { // lately seen: they are signed again
			for _, proxy := range []int{0, 1} {
				if got := visit(t, p.client(i, proxy), "/cart").Backend; got != p.homes[i] {
					t.Errorf("with both keys, a session on %s is on %s", p.homes[i], got)
				}
			}
		}
		p.proxies[1].SetKeys(t, ring.Only("new").JSON(t))
		p.used(t)
		p.proxies[0].SetKeys(t, ring.Only("new").JSON(t))
		p.used(t)
	})
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("sessions in use: %v", tally)
	}
	if got := p.signedWith(t, ring.Only("new"), 0, active); got != active {
		t.Errorf("%d of %d sessions in use are signed with the new key", got, active)
	}
	if got := p.signedWith(t, ring.Only("old"), active, active+idle); got != idle {
		t.Errorf("%d of %d idle sessions have a token of the old key", got, idle)
	}
	p.beginSessions(t, ring.Only("new"), active, active+idle)
	for i := active + idle; i < len(p.jars); i++ {
		if got := stay(t, p.client(i, i%2), "/cart", 3); got != p.homes[i] {
			t.Errorf("without the old key, a session on %s is on %s", p.homes[i], got)
		}
	}
	harness.RecordResult(t, "keys rotate at two proxies, one after the other", harness.Result{
		Requests: tally.Requests, Sessions: active + late, Changes: p.proxies[0].Changes() + p.proxies[1].Changes(), Lost: tally.Moved(), Errors: tally.Failed(),
		Note: fmt.Sprintf("%d sessions that were idle throughout begin again when the old key is gone, each with status 200", idle),
	})
}

// beginSessions has clients whose key is gone visit the proxies: they are balanced again, get a new token at once and stay.
func (p *proxyPair) beginSessions(t *testing.T, ring harness.Ring, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		response := visit(t, p.client(i, i%2), "/cart")
		wantToken(t, response, "cart")
		for _, proxy := range []int{0, 1} {
			if got := stay(t, p.client(i, proxy), "/cart", 3); got != response.Backend {
				t.Errorf("a session that began again on %s is on %s", response.Backend, got)
			}
		}
	}
	if got := p.signedWith(t, ring, from, to); got != to-from {
		t.Errorf("%d of %d sessions that began again are signed with the new key", got, to-from)
	}
}
