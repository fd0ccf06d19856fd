package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// forgery counts the answers to requests with forged tokens.
type forgery struct {
	mu       sync.Mutex
	failures []string
	shares   map[string]int
	tokens   map[string]string // one new token of each backend
	session  string
}

func (f *forgery) checkAnswer(i int, head harness.Head) {
	r, err := head.Response()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.failures = append(f.failures, err.Error())
		return
	}
	answer := harness.Response{Status: r.StatusCode, Header: r.Header, Backend: r.Header.Get(harness.BackendHeader)}
	f.shares[answer.Backend]++
	cookies := r.Cookies()
	if answer.Status != http.StatusOK || len(cookies) != 1 || cookies[0].Name != f.session || len(cookies[0].Value) != harness.TokenLen {
		f.failures = append(f.failures, fmt.Sprintf("request %d: status %d, Set-Cookie %q", i, r.StatusCode, r.Header["Set-Cookie"]))
		return
	}
	f.tokens[answer.Backend] = cookies[0].Value
}

// blastForged sends one request for each forged token and fails unless every one is answered 200 by normal
// balancing with a fresh token, and none is counted as pinned.
func blastForged(t *testing.T, envoy *harness.Envoy, session string, forged []string) {
	t.Helper()
	before := envoy.Outcomes(t, session)["pinned"]
	f := &forgery{shares: map[string]int{}, tokens: map[string]string{}, session: session}
	envoy.SendLoad(t, len(forged), func(i int, buf []byte) []byte {
		return fmt.Appendf(buf, "GET /%s HTTP/1.1\r\nHost: x\r\nCookie: %s=%s\r\n\r\n", session, session, forged[i])
	}, f.checkAnswer)
	if len(f.failures) > 0 {
		t.Fatalf("%d of %d requests with a forged token were not answered as new ones, such as %s",
			len(f.failures), len(forged), f.failures[0])
	}
	wantBalanced(t, f.shares)
	if after := envoy.Outcomes(t, session)["pinned"]; after != before {
		t.Errorf("%d forged tokens pinned", after-before)
	}
	for backend, text := range f.tokens {
		if got := stay(t, envoy.Stranger(), "/"+session, 3, cookieLine(session, text)); got != backend {
			t.Errorf("the fresh token from %s leads to %s", backend, got)
		}
	}
}

// requirements: 2A.3, 2A.22, S38
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	pods := harness.NewNullBackends(t, "a", "b", "c")
	envoy := harness.Run(t, harness.Deployment{Documents: harness.OneRoute(pods, harness.CookieRule("cart", "pods"))})
	valid := wantToken(t, visit(t, envoy.Stranger(), "/cart"), "cart").Value
	stay(t, envoy.Stranger(), "/cart", 10, cookieLine("cart", valid))

	t.Run("every single-byte change", func(t *testing.T) {
		blastForged(t, envoy, "cart", spoil(valid))
	})
	t.Run("10000 random tokens", func(t *testing.T) {
		blastForged(t, envoy, "cart", randomTokens(t, envoy.Policy(t, "cart").Scope, pods[0].Address, valid, 10_000))
	})
	stay(t, envoy.Stranger(), "/cart", 10, cookieLine("cart", valid))
	wantNoTrap(t, envoy)
}

// spoil gives all texts that differ from a token in one byte, among those that HTTP lets through: a field value
// may hold any byte but control characters.
func spoil(text string) []string {
	var all []string
	for at := range len(text) {
		for value := range 256 {
			if byte(value) == text[at] || value == 0x7f || (value < ' ' && value != '\t') {
				continue
			}
			all = append(all, text[:at]+string([]byte{byte(value)})+text[at+1:])
		}
	}
	return all
}

// randomTokens are of four sorts: any characters of the alphabet, any bytes behind a right version, a genuine
// head with a random signature, and tokens for address signed with a key of the same id that is not Envoy's.
func randomTokens(t *testing.T, scope, address, valid string, count int) []string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(valid)
	if err != nil {
		t.Fatal(err)
	}
	stranger := harness.NewRing("first")
	var all []string
	for i := range count {
		random := make([]byte, len(raw))
		_, _ = rand.Read(random) // never fails
		switch i % 4 {
		case 1:
			random[0], random[1] = raw[0], raw[1]
		case 2:
			copy(random[:len(raw)-32], raw)
		case 3:
			all = append(all, stranger.Mint(t, scope, address, harness.Dates{Issued: -time.Duration(i) * time.Second}))
			continue
		}
		all = append(all, base64.RawURLEncoding.EncodeToString(random))
	}
	return all
}
