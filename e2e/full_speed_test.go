package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// currentEpoch is what the policies under full load sign into their tokens.
const currentEpoch = 7

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

// newFullSpeed deploys a route for cookies and one for headers, one whose backends end every session, and one whose
// backends drop every fiftieth request: the only one on which an error is the backends' fault.
func newFullSpeed(t *testing.T) *fullSpeed {
	t.Helper()
	f := &fullSpeed{steady: harness.NewNullBackends(t, "a", "b", "c")}
	for _, name := range []string{"d", "e", "f"} {
		f.shaky = append(f.shaky, harness.NewDroppingBackend(t, name, 50))
	}
	rules := []harness.Rule{
		harness.CookieRule("cart", "steady"), harness.HeaderRule("x-cart", "steady"),
		harness.CookieRule("logout", "leaving"), harness.CookieRule("shaky", "shaky"),
	}
	aged := func(p *policyconfig.Policy) {
		p.AbsoluteTimeout, p.IdleTimeout, p.Revocation.Epoch = seconds(24*3600), seconds(8*3600), currentEpoch
	}
	f.envoy = harness.Run(t, harness.Deployment{
		Documents: harness.Documents{
			Services: []harness.Service{
				{Name: "steady", Backends: f.steady},
				{Name: "shaky", Backends: f.shaky},
				{Name: "leaving", Backends: []*harness.Backend{harness.NewNullBackend(t, "g", "X-Session-End: 1")}},
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

// request is one of the kinds in turn.
func (f *fullSpeed) request(t *testing.T, i int) []byte {
	t.Helper()
	kinds := f.kinds(t, i)
	path, line := kinds[i%len(kinds)]()
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", path, line)
}

// kinds are twenty ways to make request number i, so that all outcomes are in the mixture; half of them are sessions
// under way (see holds).
func (f *fullSpeed) kinds(t *testing.T, i int) []func() (path, line string) {
	t.Helper()
	address, keys := f.steady[i%3].Address, f.envoy.Keys()
	// signed makes a token of that age with a ring, for the scope of a session, and shows it as the session "cart".
	signed := func(ring harness.Ring, of string, issued, seen time.Duration, epochs uint32) func() (string, string) {
		return func() (string, string) {
			dates := harness.Dates{Issued: issued, Seen: seen, Epoch: currentEpoch + epochs}
			return "/cart", cookieLine("cart", ring.Mint(t, f.envoy.Policy(t, of).Scope, address, dates))
		}
	}
	at := func(path, session, address string, epoch uint32) func() (string, string) {
		return func() (string, string) {
			return path, cookieLine(session, mint(t, f.envoy, session, address, harness.Dates{Epoch: epoch}))
		}
	}
	const hour = time.Hour
	pinned := signed(keys, "cart", 0, 0, 0)
	return []func() (string, string){
		func() (string, string) { return "/cart", "Accept: */*" },                                    // new
		signed(harness.NewRing("first"), "cart", 0, 0, 0),                                            // bad-signature
		signed(harness.NewRing("other"), "cart", 0, 0, 0),                                            // unknown-key
		signed(keys, "x-cart", 0, 0, 0),                                                              // wrong-scope
		signed(keys, "cart", 0, 0, 1),                                                                // revoked
		signed(keys, "cart", -25*hour, -hour, 0),                                                     // expired-absolute
		signed(keys, "cart", -9*hour, -9*hour, 0),                                                    // expired-idle
		signed(keys, "cart", 9*hour, 9*hour, 0),                                                      // not-yet-valid
		signed(keys, "cart", -3*hour, -3*hour, 0),                                                    // renewed
		func() (string, string) { return "/cart", cookieLine("cart", fmt.Sprintf("rubbish-%d", i)) }, // malformed
		at("/cart", "cart", goneAddress, currentEpoch),                                               // moved
		at("/logout", "logout", address, 0),                                                          // ended
		at("/shaky", "shaky", f.shaky[i%3].Address, currentEpoch),                                    // failed now and then
		func() (string, string) {
			return "/x-cart", "x-cart: " + mint(t, f.envoy, "x-cart", address, harness.Dates{Epoch: currentEpoch})
		},
		func() (string, string) {
			_, line := pinned()
			return "/cart", "Cookie: a=1; b=2; cart=x; " + strings.TrimPrefix(line, "Cookie: ") + "; c=3"
		},
		pinned, pinned, pinned, pinned, pinned,
	}
}

// send sends so many requests as fast as Envoy answers.
func (f *fullSpeed) send(t *testing.T, count int) {
	t.Helper()
	f.envoy.SendLoad(t, count, func(i int, buf []byte) []byte {
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
	harness.RecordResult(t, "full speed, all outcomes", harness.Result{
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
	slack := uint64(0)
	if harness.Native() {
		slack = 64 << 10 // its gauge has what the requests of the moment hold
	}
	if linear == 0 || linearAfter > linear+slack {
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
