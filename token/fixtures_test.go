package token

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files and the worked examples of docs/token-format.md")

// noon is 2026-11-21T12:00:00Z. Sessions of these tests begin then.
const noon = 1795262400

const cartScope = "HTTPRoute/default/cart/rule/0"

// countUp returns n bytes that count up from first.
func countUp(first byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

func mustRing(t testing.TB, keys ...Key) *Ring {
	t.Helper()
	r, err := NewRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustHost(t testing.TB, s string) Host {
	t.Helper()
	h, err := ParseHost(s)
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return h
}

func mustMint(t testing.TB, s *Scope, sess Session, m Minting) string {
	t.Helper()
	tok, err := s.Append(nil, sess, m)
	if err != nil {
		t.Fatal(err)
	}
	return string(tok)
}

// cart returns a scope with one key, and a session for it.
func cart(t testing.TB) (*Scope, Session) {
	ring := mustRing(t, Key{ID: "2026-11", Secret: countUp(0, 32)})
	return ring.Scope(cartScope), Session{Host: mustHost(t, "10.0.0.1:8080"), IssuedAt: noon, LastSeen: noon + 600}
}

// compareGolden compares got with the file byte for byte; with -update it writes the file.
func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale; run go test -update and look at the difference", path)
	}
}

// wantError fails unless err has all the texts.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
}
