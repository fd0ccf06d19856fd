package token

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func TestMintAndVerify(t *testing.T) {
	scope, sess := cart(t)
	for _, text := range []string{"10.0.0.1:8080", "[2001:db8::1]:8080"} {
		for _, reveal := range []bool{false, true} {
			sess.Host = mustHost(t, text)
			tok := mustMint(t, scope, sess, Minting{Now: noon, Reveal: reveal})
			got, verdict := scope.Verify(tok, Rules{AbsoluteTimeout: 3600, IdleTimeout: 600, Skew: 600}, noon)
			got.key = sess.key
			if verdict != Valid || got != sess {
				t.Errorf("%s: %s, %+v", text, verdict, got)
			}
			if !Plausible(tok) || len(tok) != map[bool]int{false: Len4, true: Len6}[sess.Host.ipv6()] {
				t.Errorf("%s: implausible token %q", text, tok)
			}
		}
	}
}

// TestMintAndVerifyParts mints each set of parts, for both families of hosts, hidden and revealed.
func TestMintAndVerifyParts(t *testing.T) {
	scope, sess := cart(t)
	for _, text := range []string{"10.0.0.1:8080", "[2001:db8::1]:8080"} {
		for set := range 16 {
			sess.Host, sess.Parts = mustHost(t, text), someParts(set)
			tok := mustMint(t, scope, sess, Minting{Now: noon, Reveal: set%2 == 1})
			got := wantOpen(t, scope, tok, noon)
			if got != scope.Signed(sess, noon) || got.Parts != sess.Parts {
				t.Errorf("%s, set %d: %+v", text, set, got)
			}
			if !Plausible(tok) || len(tok) != textLen(rawLen(decodeB64(t, tok)[offFlags])) {
				t.Errorf("%s, set %d: %q", text, set, tok)
			}
		}
	}
	sess.Parts = Parts{ID: 1, Named: true}
	_, err := scope.Append(nil, sess, Minting{Now: noon})
	wantError(t, err, "owner")
}

// someParts has the parts whose bits are set: id, backend, owner, named.
func someParts(set int) (p Parts) {
	if set&1 != 0 {
		p.ID = allParts.ID
	}
	if set&2 != 0 {
		p.Backend = allParts.Backend
	}
	if set&4 != 0 {
		p.Owner, p.Named = allParts.Owner, set&8 != 0
	}
	return p
}

// TestHiddenPartsDoNotShow: two tokens of one session have nothing of its parts in common.
func TestHiddenPartsDoNotShow(t *testing.T) {
	scope, sess := cart(t)
	sess.Parts = allParts
	one := decodeB64(t, mustMint(t, scope, sess, Minting{Now: noon, Nonce: [nonceLen]byte{1}}))
	two := decodeB64(t, mustMint(t, scope, sess, Minting{Now: noon, Nonce: [nonceLen]byte{2}}))
	for at := offBody; at+4 <= len(one)-macLen; at += 4 {
		if bytes.Equal(one[at:at+4], two[at:at+4]) {
			t.Errorf("both have %x at %d", one[at:at+4], at)
		}
	}
}

// TestTags: names with other labels, or others by one character, have other tags; none is zero.
func TestTags(t *testing.T) {
	tags := map[uint64]string{}
	for _, name := range []string{"", "a", "b", "Service/default/cart/8080"} {
		for label, tag := range map[string]uint64{"backend": uint64(BackendTag(name)), "pod": PodTag(name), "name": NameTag(name)} {
			if other, taken := tags[tag]; taken || tag == 0 {
				t.Errorf("%s %q has the tag %x of %s", label, name, tag, other)
			}
			tags[tag] = label + " " + name
		}
	}
}

// TestTokensOfEqualHostsDiffer mints for one host with many nonces and compares the host fields.
func TestTokensOfEqualHostsDiffer(t *testing.T) {
	scope, sess := cart(t)
	seen := map[string]bool{}
	for i := range 256 {
		m := Minting{Now: noon}
		m.Nonce[0] = byte(i)
		raw := decodeB64(t, mustMint(t, scope, sess, m))
		seen[string(raw[offBody:offBody+hostLen4])] = true
	}
	if len(seen) != 256 {
		t.Errorf("%d different host fields of 256", len(seen))
	}
}

func TestAppendRefuses(t *testing.T) {
	ring := mustRing(t, Key{ID: "a", Secret: countUp(0, 32), NotBefore: noon, NotAfter: noon + 10})
	scope := ring.Scope(cartScope)
	host := mustHost(t, "10.0.0.1:8080")
	for name, c := range map[string]struct {
		now  int64
		sess Session
		want string
	}{
		"too early":          {noon - 1, Session{Host: host}, "no key"},
		"too late":           {noon + 10, Session{Host: host}, "no key"},
		"no host":            {noon, Session{}, "no host"},
		"issued before 1970": {noon, Session{Host: host, IssuedAt: -1}, "1970"},
		"seen after 2106":    {noon, Session{Host: host, LastSeen: math.MaxUint32 + 1}, "2106"},
		"seen before issued": {noon, Session{Host: host, IssuedAt: 2, LastSeen: 1}, "before issued"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := scope.Append([]byte("dst"), c.sess, Minting{Now: c.now})
			wantError(t, err, c.want)
			if string(got) != "dst" {
				t.Errorf("dst became %q", got)
			}
		})
	}
}

func TestAppendAppends(t *testing.T) {
	scope, sess := cart(t)
	got, err := scope.Append([]byte("name="), sess, Minting{Now: noon})
	if tok, ok := strings.CutPrefix(string(got), "name="); err != nil || !ok || !Plausible(tok) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestRotation follows a session from one key to the next: the old token stays valid, is stale once the new key signs, and the
// token made in its place outlives the old key.
func TestRotation(t *testing.T) {
	ring := mustRing(t,
		Key{ID: "new", Secret: countUp(1, 32), NotBefore: noon + 100},
		Key{ID: "old", Secret: countUp(2, 32), NotAfter: noon + 200})
	scope := ring.Scope(cartScope)
	sess := Session{Host: mustHost(t, "10.0.0.1:80"), IssuedAt: noon, LastSeen: noon}
	old := wantOpen(t, scope, mustMint(t, scope, sess, Minting{Now: noon}), noon)
	if scope.Stale(old, noon+99) || !scope.Stale(old, noon+100) {
		t.Error("stale at the wrong second")
	}
	renewed := wantOpen(t, scope, mustMint(t, scope, old, Minting{Now: noon + 100}), noon+100)
	if scope.Stale(renewed, noon+100) || renewed.IssuedAt != noon {
		t.Errorf("renewed to %+v", renewed)
	}
	for now, want := range map[int64]Verdict{noon + 199: Valid, noon + 200: UnknownKey} {
		if got := scope.Check(old, Rules{}, now); got != want {
			t.Errorf("old key at noon+%d: %s, want %s", now-noon, got, want)
		}
		if got := scope.Check(renewed, Rules{}, now); got != Valid {
			t.Errorf("new key at noon+%d: %s", now-noon, got)
		}
	}
}

func wantOpen(t *testing.T, s *Scope, tok string, now int64) Session {
	t.Helper()
	sess, verdict := s.Open(tok, now)
	if verdict != Valid {
		t.Fatalf("%s at %d", verdict, now)
	}
	return sess
}

// TestStaleWithoutSigner: what can't be made again is not stale.
func TestStaleWithoutSigner(t *testing.T) {
	ring := mustRing(t, Key{ID: "a", Secret: countUp(0, 32), NotBefore: noon})
	scope := ring.Scope(cartScope)
	if scope.Stale(Session{}, noon-1) || !scope.Stale(Session{}, noon) {
		t.Error("stale at the wrong second")
	}
}

// TestSigned: a session that was just minted need not be opened to be known, whichever key signed.
func TestSigned(t *testing.T) {
	ring := mustRing(t, Key{ID: "b", Secret: countUp(1, 32), NotBefore: noon}, Key{ID: "a", Secret: countUp(0, 32)})
	scope := ring.Scope(cartScope)
	for _, address := range []string{"10.0.0.1:8080", "[2001:db8::1]:443"} {
		for _, now := range []int64{noon - 1, noon} {
			sess := Session{Host: mustHost(t, address), IssuedAt: noon - 100, LastSeen: noon - 2, Epoch: 7}
			opened := wantOpen(t, scope, mustMint(t, scope, sess, Minting{Now: now}), now)
			if got := scope.Signed(sess, now); got != opened {
				t.Errorf("%s at %d: %+v is not %+v", address, now, got, opened)
			}
		}
	}
	unborn := mustRing(t, Key{ID: "a", Secret: countUp(0, 32), NotBefore: noon}).Scope(cartScope)
	if got := unborn.Check(unborn.Signed(Session{}, noon-1), Rules{}, noon-1); got != UnknownKey {
		t.Errorf("signed by no key: %s", got)
	}
}

// TestCheckOfForeignSession: a session that no key of the ring signed is never valid.
func TestCheckOfForeignSession(t *testing.T) {
	scope, sess := cart(t)
	if got := scope.Check(sess, Rules{}, noon+600); got != UnknownKey {
		t.Errorf("a session that was never opened is %s", got)
	}
	other := mustRing(t, Key{ID: "other", Secret: countUp(0, 32)}).Scope(cartScope)
	opened := wantOpen(t, other, mustMint(t, other, sess, Minting{Now: noon}), noon)
	if got := scope.Check(opened, Rules{}, noon+600); got != UnknownKey {
		t.Errorf("a session of another ring is %s", got)
	}
}

// TestScopesOfOneRing opens each scope's token in each scope.
func TestScopesOfOneRing(t *testing.T) {
	ring := mustRing(t, Key{ID: "a", Secret: countUp(0, 32)}, Key{ID: "b", Secret: countUp(1, 32)})
	scopes := []*Scope{ring.Scope(""), ring.Scope("a"), ring.Scope("b"), ring.Scope("a\x00"), ring.Scope("ab")}
	sess := Session{Host: mustHost(t, "10.0.0.1:80")}
	for i, minter := range scopes {
		tok := mustMint(t, minter, sess, Minting{Now: noon})
		for j, opener := range scopes {
			want := map[bool]Verdict{true: Valid, false: WrongScope}[i == j]
			if _, got := opener.Open(tok, noon); got != want {
				t.Errorf("token of scope %d in scope %d: %s, want %s", i, j, got, want)
			}
		}
	}
}

// TestEveryFlippedBit changes each bit of a token's bytes, and each character of its text.
func TestEveryFlippedBit(t *testing.T) {
	scope, sess := cart(t)
	for _, p := range []Parts{{}, {ID: 1}, allParts} {
		sess.Parts = p
		testEveryFlippedBit(t, scope, mustMint(t, scope, sess, Minting{Now: noon}))
	}
}

func testEveryFlippedBit(t *testing.T, scope *Scope, tok string) {
	raw := decodeB64(t, tok)
	for bit := range len(raw) * 8 {
		raw[bit/8] ^= 1 << (bit % 8)
		if _, verdict := scope.Open(b64(raw), noon); verdict == Valid {
			t.Errorf("bit %d makes no difference", bit)
		}
		raw[bit/8] ^= 1 << (bit % 8)
	}
	for i := range tok {
		for c := range 256 {
			changed := tok[:i] + string([]byte{byte(c)}) + tok[i+1:]
			if _, verdict := scope.Open(changed, noon); (verdict == Valid) != (changed == tok) {
				t.Errorf("character %d as %q: %s", i, byte(c), verdict)
			}
		}
	}
}

func TestVerdictNames(t *testing.T) {
	if Verdict(0).String() != "none" || Verdict(200).String() != "none" || Malformed.String() != "malformed" {
		t.Error("wrong names")
	}
}
