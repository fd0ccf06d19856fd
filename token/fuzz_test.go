package token

import (
	"encoding/base64"
	"net/netip"
	"path/filepath"
	"testing"
)

// fuzzMint makes a token from any numbers, or fails if they make none. A nonce that is too long says which parts there are.
func fuzzMint(scope *Scope, addr []byte, port uint16, issued, age, epoch uint32, nonce []byte, reveal bool) (string, bool) {
	ip, ok := netip.AddrFromSlice(addr)
	if !ok || port == 0 {
		return "", false
	}
	m := Minting{Now: noon, Reveal: reveal}
	copy(m.Nonce[:], nonce)
	sess := Session{Host: Host{netip.AddrPortFrom(ip, port)}, IssuedAt: int64(issued), LastSeen: int64(issued) + int64(age), Epoch: epoch}
	if len(nonce) > nonceLen {
		sess.Parts = someParts(int(nonce[nonceLen]))
	}
	tok, err := scope.Append(nil, sess, m)
	return string(tok), err == nil
}

// FuzzOpen: no text panics, and a token that opens is the only text for what it says: minted again, it gives the
// same bytes. With sign the text gets the right MAC first, or hardly any would open.
func FuzzOpen(f *testing.F) {
	for _, v := range readVectors(f).Tokens {
		f.Add(v.Token, true)
	}
	f.Fuzz(func(t *testing.T, tok string, sign bool) {
		scope, _ := cart(t)
		if sign {
			tok = signAgain(scope, tok)
		}
		sess, verdict := scope.Open(tok, noon)
		if verdict != Valid {
			if sess != (Session{}) || verdict != Malformed && !Plausible(tok) {
				t.Fatalf("%s with %+v", verdict, sess)
			}
			return
		}
		raw := decodeB64(t, tok)
		m := Minting{Now: noon, Nonce: [nonceLen]byte(raw[offNonce:offBody]), Reveal: raw[offFlags]&flagHidden == 0}
		if again := mustMint(t, scope, sess, m); again != tok {
			t.Fatalf("%q opens, and is minted again as %q", tok, again)
		}
	})
}

// signAgain replaces the tags and the MAC, if tok is long enough to have them.
func signAgain(scope *Scope, tok string) string {
	raw, err := base64.RawURLEncoding.DecodeString(tok)
	if err != nil || len(raw) < offBody+macLen {
		return tok
	}
	putTag(raw[offKeyTag:], scope.dates[0].tag)
	putTag(raw[offScopeTag:], scope.tag)
	body := raw[:len(raw)-macLen]
	mac := scope.keys[0].mac.mac(body)
	return b64(append(body, mac[:]...))
}

// FuzzFlip: a token with one bit flipped, or one character replaced, never opens.
func FuzzFlip(f *testing.F) {
	f.Add([]byte{10, 0, 0, 1}, uint16(8080), uint32(noon), uint32(600), uint32(0), []byte("nonce"), true, uint16(0), byte('A'))
	f.Fuzz(func(t *testing.T, addr []byte, port uint16, issued, age, epoch uint32, nonce []byte, reveal bool, where uint16, c byte) {
		scope, _ := cart(t)
		tok, ok := fuzzMint(scope, addr, port, issued, age, epoch, nonce, reveal)
		if !ok {
			return
		}
		raw := decodeB64(t, tok)
		bit := int(where) % (len(raw) * 8)
		raw[bit/8] ^= 1 << (bit % 8)
		i := int(where) % len(tok)
		for _, changed := range []string{b64(raw), tok[:i] + string([]byte{c}) + tok[i+1:]} {
			if _, verdict := scope.Open(changed, noon); (verdict == Valid) != (changed == tok) {
				t.Fatalf("%q, changed to %q, is %s", tok, changed, verdict)
			}
		}
	})
}

// FuzzParseHost: a host that is read is written as the same text, and comes back from its bytes as the same host.
func FuzzParseHost(f *testing.F) {
	f.Add("10.0.0.1:8080")
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHost(s)
		if err != nil {
			return
		}
		if h.String() != s || len(s) > HostTextMax {
			t.Fatalf("%q is written as %q", s, h)
		}
		if back, ok := hostFromRaw(h.appendRaw(nil)); !ok || back != h {
			t.Fatalf("%q comes back from bytes as %q, %v", s, back, ok)
		}
	})
}

// FuzzUnseal: no text panics, what unseals is sealed to the same text again, and a changed text never unseals.
func FuzzUnseal(f *testing.F) {
	f.Add("", []byte("plain"), uint16(0), byte('A'))
	for _, v := range readVectors(f).Sealed {
		f.Add(v.Sealed, []byte(v.Plain), uint16(len(v.Name)), byte('_'))
	}
	root := forEnvoy(countUp(200, 32))
	roots := []Root{root}
	f.Fuzz(func(t *testing.T, sealed string, plain []byte, where uint16, c byte) {
		if opened, err := Unseal(roots, sealed); err == nil && mustSeal(t, root, string(opened)) != sealed {
			t.Fatalf("%q unseals, and is sealed to another text", sealed)
		}
		good := mustSeal(t, root, string(plain))
		if opened, err := Unseal(roots, good); err != nil || string(opened) != string(plain) {
			t.Fatalf("%q comes back as %q, %v", plain, opened, err)
		}
		i := int(where) % len(good)
		changed := good[:i] + string([]byte{c}) + good[i+1:]
		if _, err := Unseal(roots, changed); (err == nil) != (changed == good) {
			t.Fatalf("%q, changed to %q: %v", good, changed, err)
		}
	})
}

// TestFuzzSeeds: the committed seeds are there.
func TestFuzzSeeds(t *testing.T) {
	for _, target := range []string{"FuzzOpen", "FuzzFlip", "FuzzParseHost", "FuzzUnseal"} {
		seeds, err := filepath.Glob("testdata/fuzz/" + target + "/*")
		if err != nil || len(seeds) < 5 {
			t.Errorf("%s has %d seeds, want at least 5 (%v)", target, len(seeds), err)
		}
	}
}
