package inspect_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/filter/wasmtest"
	"github.com/limpet-proxy/limpet/internal/inspect"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

const (
	noon   = 1795262400
	plugin = `{"version":"limpet.dev/v1","debugTickets":true,"policies":[
	 {"name":"plain","routes":["plain"],"sessionName":"plain","cookie":{}},
	 {"name":"timed","routes":["timed"],"sessionName":"timed","absoluteTimeout":"8h","idleTimeout":"20m","cookie":{}},
	 {"name":"head","routes":["head"],"sessionName":"X-Head","type":"Header","revealHost":true,"revocation":{"epoch":2}},
	 {"name":"wrap","routes":["wrap"],"sessionName":"wrap","absoluteTimeout":"8h","cookie":{},"envelope":true},
	 {"name":"void","routes":["void"],"sessionName":"void","cookie":{},"owners":["10.0.0.1:80 pod 00000000000000ff"],
	  "revocation":{"sessions":["0000000000000007"],"notBefore":"2026-11-21T02:00:00Z"}}]}`
	ring = `{"keys":[
	 {"id":"new","secret":"bmV4dG5leHRuZXh0bmV4dG5leHRuZXh0bmV4dG5leHQ","notBefore":"2026-11-21T12:10:00Z"},
	 {"id":"a","secret":"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE"},
	 {"id":"old","secret":"b2xkb29sZG9vbGRvb2xkb29sZG9vbGRvb2xkb29sZG8","notAfter":"2026-11-21T11:59:00Z"}]}`
)

// forge makes random tokens, most of which are invalid.
type forge struct {
	*rand.Rand
	rings []*token.Ring
}

var scopes = []string{"plain", "timed", "head", "void", "wrap", "elsewhere"}

// token makes one for a scope, by one of several rings, and then harms it or not.
func (f *forge) token(t *testing.T, scope string) string {
	s := f.ring().Scope(scope)
	now := int64(noon) - f.Int64N(12*3600)
	sess := token.Session{IssuedAt: now - f.Int64N(3600), LastSeen: now + f.Int64N(3)*3000*f.Int64N(2), Epoch: uint32(f.IntN(2) * 2)}
	host := []string{"10.0.0.1:80", "10.0.0.2:80", "[2001:db8::1]:80"}[f.IntN(3)]
	var err error
	if sess.Host, err = token.ParseHost(host); err != nil {
		t.Fatal(err)
	}
	if f.IntN(2) == 0 {
		sess.Parts = token.Parts{ID: uint64(f.IntN(9)), Owner: uint64(f.IntN(3) * 0xff), Backend: uint32(f.IntN(2))}
	}
	var nonce [12]byte
	for i := range nonce {
		nonce[i] = byte(f.IntN(256))
	}
	text, err := s.Append(nil, sess, token.Minting{Now: now, Nonce: nonce, Reveal: f.IntN(2) == 0})
	if scope == "wrap" && err == nil && f.IntN(10) > 0 {
		text, err = new(token.Envelope).Append(nil, s, string(text), "Path=/", "value", now, token.MaxEnvelope)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(f.harm(text))
}

// ring gives one of the rings.
func (f *forge) ring() *token.Ring { return f.rings[f.IntN(len(f.rings))] }

// harm cuts or changes a text, or leaves it as it is.
func (f *forge) harm(text []byte) []byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	switch at := f.IntN(len(text)); f.IntN(6) {
	case 0:
		text = text[:at]
	case 1:
		text[at] = alphabet[f.IntN(64)]
	case 2:
		other := f.IntN(len(text))
		text[at], text[other] = text[other], text[at]
	}
	return text
}

// newForge starts the module that ships with a ring, and makes what has that ring most often.
func newForge(t *testing.T) (proxy *wasmtest.Proxy, keys policyconfig.KeyRing, f *forge) {
	t.Helper()
	module := wasmtest.Require(t)
	hosts := map[string][]string{}
	for _, scope := range scopes {
		hosts[scope] = []string{"10.0.0.1:80", "10.0.0.2:80", "[2001:db8::1]:80"}
	}
	proxy, err := module.NewProxy(plugin, map[string]string{"LIMPET_KEYS": ring}, hosts)
	if err != nil {
		t.Fatal(err)
	}
	proxy.Now = time.Unix(noon, 0)
	if keys, err = keyfile.Parse("ring", ring); err != nil {
		t.Fatal(err)
	}
	f = &forge{Rand: rand.New(rand.NewPCG(1, 2))}
	for _, text := range []string{ring, strings.ReplaceAll(ring, "YWFhYWFh", "YWFhYWFi"), strings.ReplaceAll(ring, `"a"`, `"b"`)} {
		other, err := keyfile.Parse("ring", text)
		if err != nil {
			t.Fatal(err)
		}
		made, err := keyfile.Ring(other)
		if err != nil {
			t.Fatal(err)
		}
		f.rings = append(f.rings, made, made, made)
	}
	f.rings = f.rings[:5] // the first most often
	return proxy, keys, f
}

// readSessions reads those of the plugin.
func readSessions(t *testing.T) *compiler.Sessions {
	t.Helper()
	cfg, errs := policyconfig.Parse(plugin)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return &compiler.Sessions{Policies: cfg.Policies}
}

// TestAgreesWithFilter has 10,000 tokens, some of them in envelopes, whole, cut, changed, swapped, expired, of other rings and scopes, each
// of which is to be called what the module that ships makes of it.
func TestAgreesWithFilter(t *testing.T) {
	proxy, keys, f := newForge(t)
	const count = 10_000
	var text strings.Builder
	sent := make([]string, count)
	routes := make([]string, count)
	for i := range sent {
		scope := scopes[f.IntN(len(scopes))]
		routes[i] = scope
		if scope == "elsewhere" {
			routes[i] = "plain"
		}
		sent[i] = f.token(t, scope)
		fmt.Fprintf(&text, "%s\n", carry(routes[i], sent[i]))
	}
	found, err := inspect.Inspect(text.String(), inspect.Input{Sessions: readSessions(t), Keys: keys, At: proxy.Now})
	if err != nil {
		t.Fatal(err)
	}
	byLine := map[int]inspect.Finding{}
	for _, one := range found {
		byLine[one.Line-1] = one
	}
	outcomes := map[string]int{}
	for i, tok := range sent {
		got := "malformed" // of the first few characters of a token, which were there before: pieces are told once
		if one, is := byLine[i]; is {
			got = one.Verdicts[0].Outcome
			if name := one.Verdicts[0].Policy; name != "" {
				routes[i] = name
			}
		}
		answer, err := proxy.Get(routes[i], carry(routes[i], tok))
		if err != nil {
			t.Fatal(err)
		}
		want := answer.Outcome
		if tok == "" || want == "none" && !byLine[i].Verified {
			continue // no session at all, or where envelopes are expected the application's own
		}
		if want == "renewed" {
			want = "pinned"
		}
		if byLine[i].Kind == inspect.Envelope {
			outcomes["envelope "+want]++
		}
		if outcomes[want]++; got != want {
			t.Errorf("line %d: %q, and the filter says %q of %s", i+1, got, want, tok)
		}
	}
	for _, want := range []string{
		"pinned", "malformed", "bad-signature", "unknown-key", "wrong-scope", "expired-absolute", "expired-idle", "revoked", "not-yet-valid",
		"host-reused", "none", "envelope pinned", "envelope bad-signature", "envelope expired-absolute",
	} {
		if outcomes[want] < count/1000 {
			t.Errorf("%d of %d are %s", outcomes[want], count, want)
		}
	}
	t.Log(outcomes)
}

// TestAgreesOnTickets has tickets, whole, changed, old, of other rings and scopes: those are to be called good that the module answers.
func TestAgreesOnTickets(t *testing.T) {
	proxy, keys, f := newForge(t)
	in := inspect.Input{Sessions: readSessions(t), Keys: keys, At: proxy.Now}
	const count = 1000
	answered := 0
	for range count {
		scope := scopes[f.IntN(len(scopes))]
		begun := int64(noon) - f.Int64N(2*token.TicketLife)
		text, err := f.ring().Scope(scope).AppendTicket(nil, begun, begun+1+f.Int64N(token.TicketLife))
		if err != nil {
			t.Fatal(err)
		}
		ticket := string(f.harm(text))
		route := scope
		if scope == "elsewhere" {
			route = "plain"
		}
		answer, err := proxy.Get(route, policyconfig.TicketHeader+": "+ticket)
		if err != nil {
			t.Fatal(err)
		}
		printed := ""
		for _, h := range answer.Headers {
			if h[0] == policyconfig.AnswerHeader {
				printed = h[1]
			}
		}
		want := printed != "ticket=invalid"
		found, err := inspect.Inspect(ticket, in)
		if err != nil {
			t.Fatal(err)
		}
		got := len(found) == 1 && found[0].Kind == inspect.Ticket && found[0].Verdicts[0].Outcome == "answered"
		if got != want {
			t.Errorf("%s on %s: the filter answers %q; printed is %+v", ticket, route, printed, found)
		}
		if want {
			answered++
		}
	}
	if answered < count/20 || answered > count/2 {
		t.Errorf("%d of %d are answered", answered, count)
	}
}

// carry is the header line that has a token for a route.
func carry(route, tok string) string {
	if route == "head" {
		return "x-head: " + tok
	}
	return "cookie: " + route + "=" + tok
}
