package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// epoch is what the policies under full load sign into their tokens.
const epoch = 7

// fullSpeed is an Envoy under load of every kind.
type fullSpeed struct {
	envoy         *harness.Envoy
	steady, shaky []*harness.Backend
	requests      [][]byte

	mu     sync.Mutex
	sent   int
	lost   int      // answers of another host than the session's, or of none
	shaken int      // answers 503 on the route whose backends drop connections
	errors []string // anything else than 200
}

// newFullSpeed deploys a route for cookies and one for headers, one whose backends log out everybody, and one whose
// backends drop every fiftieth request: the only one on which an error is nobody's fault but theirs.
func newFullSpeed(t *testing.T) *fullSpeed {
	t.Helper()
	f := &fullSpeed{steady: harness.QuietBackends(t, "a", "b", "c")}
	for _, name := range []string{"d", "e", "f"} {
		f.shaky = append(f.shaky, harness.NewDroppingBackend(t, name, 50))
	}
	rules := []harness.Rule{
		harness.CookieRule("cart", "steady"), harness.HeaderRule("x-cart", "steady"),
		harness.CookieRule("logout", "leaving"), harness.CookieRule("shaky", "shaky"),
	}
	aged := func(p *policyconfig.Policy) {
		p.AbsoluteTimeout, p.IdleTimeout, p.Revocation.Epoch = seconds(24*3600), seconds(8*3600), epoch
	}
	f.envoy = harness.Run(t, harness.Deployment{
		Documents: harness.Documents{
			Services: []harness.Service{
				{Name: "steady", Backends: f.steady},
				{Name: "shaky", Backends: f.shaky},
				{Name: "leaving", Backends: []*harness.Backend{harness.NewQuietBackend(t, "g", "X-Session-End: 1")}},
			},
			Routes: []harness.Route{{Name: "app", Rules: rules}},
		},
		Policies: editing(t, map[string]func(*policyconfig.Policy){
			"cart": aged, "x-cart": aged, "shaky": aged,
			"logout": func(p *policyconfig.Policy) { p.EndSessionHeader = "x-session-end" },
		}),
		Workers: 2,
	})
	for i := range 997 {
		f.requests = append(f.requests, f.request(t, i))
	}
	return f
}

// request is one of twenty kinds, so that all outcomes are in the mixture; half of it are sessions under way.
func (f *fullSpeed) request(t *testing.T, i int) []byte {
	t.Helper()
	address, keys := f.steady[i%3].Address, f.envoy.Keys()
	scope := func(session string) string { return f.envoy.Policy(t, session).Scope }
	cart := func(ring harness.Ring, session string, dates harness.Dates) (path, line string) {
		dates.Epoch += epoch
		return "/cart", cookieLine("cart", ring.Mint(t, scope(session), address, dates))
	}
	path, line := "/cart", "Accept: */*"
	switch i % 20 {
	case 0: // new
	case 1:
		path, line = cart(harness.NewRing("first"), "cart", harness.Dates{}) // bad-signature
	case 2:
		path, line = cart(harness.NewRing("other"), "cart", harness.Dates{}) // unknown-key
	case 3:
		path, line = cart(keys, "x-cart", harness.Dates{}) // wrong-scope
	case 4:
		path, line = cart(keys, "cart", harness.Dates{Epoch: 1}) // revoked
	case 5:
		path, line = cart(keys, "cart", harness.Dates{Issued: -25 * time.Hour, Seen: -time.Hour}) // expired-absolute
	case 6:
		path, line = cart(keys, "cart", harness.Dates{Issued: -9 * time.Hour, Seen: -9 * time.Hour}) // expired-idle
	case 7:
		path, line = cart(keys, "cart", harness.Dates{Issued: 9 * time.Hour, Seen: 9 * time.Hour}) // not-yet-valid
	case 8:
		path, line = cart(keys, "cart", harness.Dates{Issued: -3 * time.Hour, Seen: -3 * time.Hour}) // renewed
	case 9:
		line = cookieLine("cart", fmt.Sprintf("rubbish-%d", i)) // malformed
	case 10:
		line = cookieLine("cart", mint(t, f.envoy, "cart", gone, harness.Dates{Epoch: epoch})) // moved
	case 11:
		path, line = "/logout", cookieLine("logout", mint(t, f.envoy, "logout", address, harness.Dates{})) // ended
	case 12:
		path, line = "/shaky", cookieLine("shaky", mint(t, f.envoy, "shaky", f.shaky[i%3].Address, harness.Dates{Epoch: epoch})) // failed
	case 13, 14:
		path, line = "/x-cart", "x-cart: "+mint(t, f.envoy, "x-cart", address, harness.Dates{Epoch: epoch})
	case 15:
		line = "Cookie: a=1; b=2; cart=x; cart=" + mint(t, f.envoy, "cart", address, harness.Dates{Epoch: epoch}) + "; c=3"
	default:
		path, line = cart(keys, "cart", harness.Dates{}) // pinned
	}
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", path, line)
}

// send sends so many requests as fast as Envoy answers.
func (f *fullSpeed) send(t *testing.T, count int) {
	t.Helper()
	f.envoy.Blast(t, count, func(i int, buf []byte) []byte {
		return append(buf, f.requests[i%len(f.requests)]...)
	}, func(i int, head harness.Head) {
		i %= len(f.requests)
		if !head.OK() {
			f.fault(f.requests[i], head)
		}
		if f.holds(i) && !bytes.Contains(head, []byte("\r\nx-backend: "+f.steady[i%3].Name+"\r\n")) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.lost++
		}
	})
	f.sent += count
}

// holds tells whether a request belongs to a session that nothing may move.
func (f *fullSpeed) holds(i int) bool { return i%20 == 8 || i%20 >= 13 }

func (f *fullSpeed) fault(request []byte, head harness.Head) {
	f.mu.Lock()
	defer f.mu.Unlock()
	response, err := head.Response()
	if err == nil && response.StatusCode == http.StatusServiceUnavailable && bytes.HasPrefix(request, []byte("GET /shaky ")) {
		f.shaken++
		return
	}
	f.errors = append(f.errors, fmt.Sprintf("%s answered %s", request, head))
}

// TestFullSpeed loads Envoy for a minute, or an hour, with requests of every outcome. There is no error but those of
// the route whose backends drop connections, the module takes not one page of linear memory more after the first
// tenth, and never traps. It runs alone, before the parallel tests.
func TestFullSpeed(t *testing.T) {
	f, progress := newFullSpeed(t), harness.NewProgress(t)
	length := harness.Size(time.Minute, time.Hour)
	begin := time.Now()
	var linear uint64
	resident := 0
	for time.Since(begin) < length {
		f.send(t, 20_000)
		passed := time.Since(begin)
		progress.Say("%d requests in %v, %d errors", f.sent, passed.Round(time.Second), len(f.errors))
		if linear == 0 && passed > length/10 {
			linear, resident = f.envoy.Stat(t, "wasmcustom.limpet_memory_bytes"), f.envoy.ResidentKB(t)
		}
	}
	f.checkMemory(t, linear, resident)
	f.checkOutcomes(t)
	if len(f.errors) > 0 {
		t.Errorf("%d errors, such as %s", len(f.errors), f.errors[0])
	}
	if f.lost > 0 {
		t.Errorf("%d requests of a session did not reach its host", f.lost)
	}
	harness.Figures(t, "full speed, all outcomes", harness.Row{
		Requests: f.sent, Sessions: len(f.requests), Faults: f.shaken, Lost: f.lost, Errors: len(f.errors),
		Note: fmt.Sprintf("%v at %.0f requests a second; linear memory %d kB, grown by 0; no trap",
			length, float64(f.sent)/time.Since(begin).Seconds(), linear>>10),
	})
}

func (f *fullSpeed) checkMemory(t *testing.T, linear uint64, resident int) {
	t.Helper()
	linearAfter, residentAfter := f.envoy.Stat(t, "wasmcustom.limpet_memory_bytes"), f.envoy.ResidentKB(t)
	t.Logf("%d requests: linear memory %d -> %d bytes, Envoy's resident memory %d -> %d kB",
		f.sent, linear, linearAfter, resident, residentAfter)
	if linear == 0 || linearAfter != linear {
		t.Errorf("linear memory went from %d to %d bytes", linear, linearAfter)
	}
	if grown := residentAfter - resident; grown > 20_000 {
		t.Errorf("Envoy's resident memory grew by %d kB", grown)
	}
	wantNoTrap(t, f.envoy)
}

// checkOutcomes wants every outcome to have been in the mixture.
func (f *fullSpeed) checkOutcomes(t *testing.T) {
	t.Helper()
	total := map[string]uint64{}
	for _, session := range []string{"cart", "x-cart", "logout", "shaky"} {
		for outcome, count := range f.envoy.Outcomes(t, session) {
			total[outcome] += count
		}
	}
	for _, outcome := range []string{
		"new", "pinned", "renewed", "moved", "failed", "ended", "expired-absolute", "expired-idle", "not-yet-valid",
		"bad-signature", "unknown-key", "wrong-scope", "revoked", "malformed",
	} {
		if total[outcome] < uint64(f.sent/100_000) || total[outcome] == 0 {
			t.Errorf("%d requests had the outcome %s: %v", total[outcome], outcome, total)
		}
	}
}
