package behaviour

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/token"
)

// agreeing are the builds that are compared with the engine as Go: those that ship, and the one that fills memory with rubbish.
var agreeing = []struct {
	name  string
	start start
}{
	{"wasm", startWasm},
	{"wasm, policies in routes", travelling(startWasm)},
	{"module", startModule("liblimpet.so")},
	{"poisoned, policies in routes", travelling(startModule("native/poisoned/liblimpet.so"))},
}

// agreedExchanges are how many each of them makes, which takes it some seconds.
const agreedExchanges = 20_000

// agreedConfig has a policy of each kind.
var agreedConfig = configs(
	policy("cookie", "cookie", `"idleTimeout":"1m"`, `"absoluteTimeout":"1h"`, `"cache":{"control":"Private","skipCacheable":true}`),
	policy("strip", "strip", `"forward":false`, `"onHostLost":"Fail"`),
	policy("header", "header", `"type":"Header"`, `"sessionName":"x-sid"`, `"forward":false`),
	policy("envelope", "envelope", `"envelope":true`),
	policy("cross", "cross", `"cookie":{"crossSite":true}`),
	policy("within", "within", `"onHostLost":"RebalanceWithin"`),
)

var agreedRoutes = []string{"cookie", "strip", "header", "envelope", "cross", "within", "none"}

// TestBuildsAgree: what clients and backends send that mean no good comes to the same with each build: the host, what the backend sees,
// the answer, what is logged and counted. The series of exchanges is always the same.
func TestBuildsAgree(t *testing.T) {
	var reference []string
	counts := play(t, startGo, func(_ int, line string) { reference = append(reference, line) })
	for _, b := range agreeing {
		t.Run(b.name, func(t *testing.T) {
			play(t, b.start, func(i int, line string) {
				if line != reference[i] {
					t.Fatalf("exchange %d:\n%s\nas Go\n%s", i, line, reference[i])
				}
			})
		})
	}
	for _, outcome := range []string{
		"cookie pinned", "cookie expired-idle", "strip moved", "header renewed", "cross bad-signature", "within not-yet-valid", "envelope new",
	} {
		if n := counts[outcome]; n < agreedExchanges/1000 {
			t.Errorf("of %d exchanges %d came to %q: the series shows too little; all: %v", agreedExchanges, n, outcome, counts)
		}
	}
}

// attacker sends what a series says, to one build.
type attacker struct {
	*world
	random *rand.Rand
	jar    []string // values that the build has issued, by and by
	minted map[string]*token.Scope
}

// play has a build make the exchanges, and tells what each comes to; the last line is what was counted.
func play(t *testing.T, start start, tell func(i int, line string)) (counts map[string]uint64) {
	t.Helper()
	a := &attacker{newWorld(t, agreedConfig, start), rand.New(rand.NewPCG(34, 8)), []string{forged}, map[string]*token.Scope{}}
	for _, route := range agreedRoutes {
		a.minted[route] = scopeOf(t, "a", secretA, route)
	}
	hosts := a.hosts
	a.Answer = func(string, [][2]string) [][2]string { return a.answer() }
	for i := range agreedExchanges {
		if i%100 == 0 {
			a.hosts = hosts[a.random.IntN(2):]
		}
		a.pass(time.Duration(a.random.IntN(20)) * time.Second / 10)
		route := pickOne(a.random, agreedRoutes)
		r, err := a.exchange(route, "c", a.request(route))
		noError(t, err)
		a.keep(r)
		tell(i, describe(route, r))
	}
	tell(agreedExchanges, fmt.Sprint(a.counts()))
	return a.counts()
}

func pickOne[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }

// request is what a client sends.
func (a *attacker) request(route string) [][2]string {
	h := [][2]string{
		{":method", pickOne(a.random, []string{"GET", "GET", "POST", "OPTIONS"})},
		{":path", "/"},
		{":authority", "shop.example"},
		{"x-forwarded-proto", pickOne(a.random, []string{"https", "https", "http"})},
	}
	for range a.random.IntN(4) {
		if name := "x-sid"; route == "header" || a.random.IntN(8) == 0 {
			h = append(h, [2]string{name, a.value(route)})
		} else {
			h = append(h, [2]string{"cookie", a.cookies(route)})
		}
	}
	if a.random.IntN(6) == 0 {
		host := base64.StdEncoding.EncodeToString([]byte(pickOne(a.random, a.hosts)))
		h = append(h, [2]string{pickOne(a.random, []string{pinHeader, backendHeader}), host})
	}
	if a.random.IntN(6) == 0 {
		h = append(h, [2]string{"origin", "https://other.example"})
	}
	return h
}

// cookies is a line with some cookies, not all of which are well made.
func (a *attacker) cookies(route string) string {
	if a.random.IntN(10) == 0 {
		return pickOne(a.random, hostileCookies)
	}
	var pairs []string
	for range 1 + a.random.IntN(6) {
		name := pickOne(a.random, []string{"sid", "sid", "sid", "sid-x", "Sid", "a"})
		pairs = append(pairs, name+"="+a.value(pickOne(a.random, []string{route, route, pickOne(a.random, agreedRoutes)})))
	}
	return strings.Join(pairs, pickOne(a.random, []string{"; ", ";", " ; "}))
}

// value is what may be a token.
func (a *attacker) value(route string) string {
	switch a.random.IntN(8) {
	case 0, 1, 2:
		return a.mint(route)
	case 3, 4:
		return a.jar[a.random.IntN(len(a.jar))]
	case 5:
		v := []byte(a.mint(route))
		v[a.random.IntN(len(v))] = alphabet[a.random.IntN(len(alphabet))]
		return string(v)
	case 6:
		v := a.mint(route)
		return v[:a.random.IntN(len(v))]
	default:
		return pickOne(a.random, []string{"x", forged, `"` + a.mint(route) + `"`, a.mint(route) + "=", "%41" + forged})
	}
}

// mint makes a token that is good, or was, or will be.
func (a *attacker) mint(route string) string {
	host, err := token.ParseHost(pickOne(a.random, []string{"10.0.0.1:8080", "10.0.0.2:8080", "[2001:db8::3]:8080", "10.0.0.9:8080"}))
	noError(a.t, err)
	age := pickOne(a.random, []int{50, 5000})
	issued := a.Now.Unix() - int64(a.random.IntN(age)) + 5
	m := token.Minting{Now: a.Now.Unix(), Reveal: a.random.IntN(2) == 0}
	for i := range m.Nonce {
		m.Nonce[i] = byte(a.random.Uint32())
	}
	s := token.Session{Host: host, IssuedAt: issued, LastSeen: issued + int64(a.random.IntN(age)), Epoch: uint32(a.random.IntN(8) / 7)}
	minted, err := a.minted[route].Append(nil, s, m)
	if err != nil { // dates that no token has
		return forged
	}
	return string(minted)
}

// answer is what a backend sends, without the pin header: of a native filter's response that is nothing.
func (a *attacker) answer() [][2]string {
	h := [][2]string{{":status", pickOne(a.random, []string{"200", "200", "200", "304", "404", "503"})}}
	for _, line := range [][2]string{
		{"cache-control", "public, max-age=60"}, {"set-cookie", "own=1; Path=/"}, {"set-cookie", "sid=" + a.jar[0]}, {"x-sid", "theirs"},
	} {
		if a.random.IntN(6) == 0 {
			h = append(h, line)
		}
	}
	return h
}

// keep keeps the values that clients get, of which there are as many with each build.
func (a *attacker) keep(r result) {
	got := values(r.headers, "x-sid")
	for _, line := range r.setCookies() {
		pair, _, _ := strings.Cut(line, ";")
		_, value, _ := strings.Cut(pair, "=")
		got = append(got, value)
	}
	for _, value := range got {
		switch {
		case !issued.MatchString(value):
		case len(a.jar) < 200:
			a.jar = append(a.jar, value)
		default:
			a.jar[1+a.random.IntN(len(a.jar)-1)] = value
		}
	}
}

// issued is a value that builds make of random numbers of their own.
var issued = regexp.MustCompile(`[A-Za-z0-9_-]{40,}`)

// describe is what came of an exchange, without what is random.
func describe(route string, r result) string {
	text := fmt.Sprintf("%s to %q, log %q, state %q", route, r.host, r.log, slices.Sorted(maps.Keys(r.state)))
	for what, lines := range [][][2]string{r.received, r.headers} {
		for _, line := range lines {
			if route == "none" && line[0] == pinHeader {
				continue // which is a header like others there, with a filter that has none
			}
			if line[1] == "," {
				line[1] = "" // Envoy writes a header that is emptied like that for native filters
			}
			text += fmt.Sprintf("\n%d %s: %q", what, line[0], line[1])
		}
	}
	return issued.ReplaceAllString(text, "ISSUED")
}
