package token

import (
	"runtime"
	"strconv"
	"testing"
)

// TestNothingAllocates covers what runs once a request, for good tokens and bad ones.
func TestNothingAllocates(t *testing.T) {
	scope, sess := cart(t)
	sess6 := sess
	sess6.Host = mustHost(t, "[2001:db8::1]:8080")
	m, rules := Minting{Now: noon}, Rules{AbsoluteTimeout: 3600, IdleTimeout: 1800, Skew: 60}
	sess2 := sess6
	sess2.Parts = allParts
	good, good6, good2 := mustMint(t, scope, sess, m), mustMint(t, scope, sess6, m), mustMint(t, scope, sess2, m)
	forged, noBase64 := good[:Len4-1]+"A", good[:Len4-1]+"*"
	dst := make([]byte, 0, MaxLen)
	for name, f := range map[string]func(){
		"verify":             func() { scope.Verify(good, rules, noon+600) },
		"verify IPv6":        func() { scope.Verify(good6, rules, noon+600) },
		"verify parts":       func() { scope.Verify(good2, rules, noon+600) },
		"append parts":       func() { dst, _ = scope.Append(dst[:0], sess2, m) },
		"plausible parts":    func() { _ = Plausible(good2) },
		"verify forged":      func() { scope.Verify(forged, rules, noon+600) },
		"verify no base64":   func() { scope.Verify(noBase64, rules, noon+600) },
		"verify short":       func() { scope.Verify(good[1:], rules, noon+600) },
		"open":               func() { scope.Open(good, noon) },
		"check":              func() { scope.Check(sess, rules, noon) },
		"stale":              func() { scope.Stale(sess, noon) },
		"append":             func() { dst, _ = scope.Append(dst[:0], sess, m) },
		"append IPv6":        func() { dst, _ = scope.Append(dst[:0], sess6, m) },
		"append without key": func() { dst, _ = scope.Append(dst[:0], Session{}, m) },
		"plausible":          func() { _ = Plausible(good) },
		"parse host":         func() { _, _ = ParseHost("[2001:db8::1]:8080") },
		"write host":         func() { dst = sess6.Host.AppendText(dst[:0]) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestScopesAreSmall keeps 10,000 idle scopes within what one filter can afford.
func TestScopesAreSmall(t *testing.T) {
	const n, limit = 10_000, 400
	ring := mustRing(t, Key{ID: "a", Secret: countUp(0, 32)}, Key{ID: "b", Secret: countUp(1, 32)})
	scopes := make([]*Scope, n)
	before := heap()
	for i := range scopes {
		scopes[i] = ring.Scope("HTTPRoute/default/cart/rule/" + strconv.Itoa(i))
	}
	if size := (heap() - before) / n; size > limit {
		t.Errorf("a scope of two keys takes %d bytes, want at most %d", size, limit)
	}
	runtime.KeepAlive(scopes)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func benchmarkToken(b *testing.B, text string, reveal bool, f func(*Scope, string) Verdict) {
	scope, sess := cart(b)
	sess.Host = mustHost(b, text)
	tok := mustMint(b, scope, sess, Minting{Now: noon, Reveal: reveal})
	b.ReportAllocs()
	for b.Loop() {
		if f(scope, tok) != Valid {
			b.Fatal("not valid")
		}
	}
}

func verifyOnce(s *Scope, tok string) Verdict {
	_, verdict := s.Verify(tok, Rules{AbsoluteTimeout: 3600, IdleTimeout: 1800, Skew: 60}, noon+600)
	return verdict
}

func BenchmarkVerify(b *testing.B)         { benchmarkToken(b, "10.0.0.1:8080", false, verifyOnce) }
func BenchmarkVerifyRevealed(b *testing.B) { benchmarkToken(b, "10.0.0.1:8080", true, verifyOnce) }
func BenchmarkVerify6(b *testing.B)        { benchmarkToken(b, "[2001:db8::1]:8080", false, verifyOnce) }

func BenchmarkOpen(b *testing.B) {
	benchmarkToken(b, "10.0.0.1:8080", false, func(s *Scope, tok string) Verdict {
		_, verdict := s.Open(tok, noon)
		return verdict
	})
}

func BenchmarkOpenForged(b *testing.B) {
	scope, sess := cart(b)
	forged := mustMint(b, scope, sess, Minting{Now: noon})[:Len4-1] + "A"
	b.ReportAllocs()
	for b.Loop() {
		if _, verdict := scope.Open(forged, noon); verdict != BadSignature {
			b.Fatal(verdict)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	scope, sess := cart(b)
	opened, _ := scope.Open(mustMint(b, scope, sess, Minting{Now: noon}), noon)
	b.ReportAllocs()
	for b.Loop() {
		if scope.Check(opened, Rules{AbsoluteTimeout: 3600, IdleTimeout: 1800, Skew: 60}, noon+600) != Valid {
			b.Fatal("not valid")
		}
	}
}

func BenchmarkMint(b *testing.B) {
	scope, sess := cart(b)
	dst := make([]byte, 0, MaxLen)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := scope.Append(dst, sess, Minting{Now: noon}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScope(b *testing.B) {
	ring := mustRing(b, Key{ID: "a", Secret: countUp(0, 32)}, Key{ID: "b", Secret: countUp(1, 32)})
	b.ReportAllocs()
	for b.Loop() {
		ring.Scope(cartScope)
	}
}

func BenchmarkParseHost(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseHost("10.0.0.1:8080"); err != nil {
			b.Fatal(err)
		}
	}
}
