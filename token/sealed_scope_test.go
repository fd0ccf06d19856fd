package token

import (
	"encoding/base64"
	"strings"
	"testing"
)

// edge is the Gateway of these tests, and its root that of its proxies.
const edge = "shop/edge/5f0c2d9e-4a51-4c1b-9d0e-2f6b1a7c3e48"

func gatewayRoot(id string) Root {
	root := forEnvoy(countUp(0, 32))
	return root.ForGateway(id)
}

func mustSealScope(t testing.TB, ring *Ring, root Root, scope string) string {
	t.Helper()
	text, err := ring.SealScope(&root, scope)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// travelled is a scope whose keys came sealed.
func travelled(t testing.TB, ring *Ring, name string) *Scope {
	t.Helper()
	root := gatewayRoot(edge)
	s, fingerprint, err := OpenScope([]Root{root}, name, mustSealScope(t, ring, root, name))
	if err != nil || fingerprint != ring.Fingerprint() {
		t.Fatal(fingerprint, err)
	}
	return s
}

func rotatingRing(t testing.TB) *Ring { return vectorRings()["rotating"].ring(t) }

// TestSealedScopeOpensWhereItBelongs: for one Gateway and one scope, whoever has that Gateway's root or the one that it is derived from.
func TestSealedScopeOpensWhereItBelongs(t *testing.T) {
	own, limpets := gatewayRoot(edge), forEnvoy(countUp(0, 32))
	old := forEnvoy(countUp(1, 32))
	text := mustSealScope(t, rotatingRing(t), own, cartScope)
	again := mustSealScope(t, rotatingRing(t), own, cartScope)
	if text != again {
		t.Error("sealing twice gives two texts")
	}
	if len(text) > 290 {
		t.Errorf("two keys take %d characters", len(text))
	}
	for name, roots := range map[string][]Root{
		"the Gateway's": {own}, "limpet's": {limpets}, "an old one before": {old, own}, "an old one after": {limpets, old},
	} {
		if _, _, err := OpenScope(GatewayRoots(roots, edge), cartScope, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := Root{Target: "istio", Secret: own.Secret}
	for name, c := range map[string]struct {
		roots []Root
		scope string
	}{
		"another scope":                      {[]Root{own}, cartScope + "2"},
		"another Gateway":                    {GatewayRoots([]Root{gatewayRoot("evil/edge/5f0c2d9e-4a51-4c1b-9d0e-2f6b1a7c3e48")}, edge), cartScope},
		"the Gateway of that name before":    {GatewayRoots([]Root{gatewayRoot("shop/edge/another")}, edge), cartScope},
		"another Gateway by limpet's root":   {GatewayRoots([]Root{limpets}, "evil/edge/1"), cartScope},
		"another root":                       {GatewayRoots([]Root{old}, edge), cartScope},
		"another target":                     {[]Root{other}, cartScope},
		"limpet's root without the Gateway":  {[]Root{limpets}, cartScope},
		"the Gateway's root derived further": {[]Root{own.ForGateway(edge)}, cartScope},
	} {
		if s, _, err := OpenScope(c.roots, c.scope, text); err == nil || s != nil {
			t.Errorf("%s opens it", name)
		}
	}
}

// TestSealedScopeIsOneText: no bit may be another, no byte more or less, and what is sealed for something else is none.
func TestSealedScopeIsOneText(t *testing.T) {
	root := gatewayRoot(edge)
	text := mustSealScope(t, rotatingRing(t), root, cartScope)
	for i := range text {
		for _, c := range "AQg_" {
			if changed := text[:i] + string(c) + text[i+1:]; changed != text {
				if _, _, err := OpenScope([]Root{root}, cartScope, changed); err == nil {
					t.Fatalf("character %d may be %c", i, c)
				}
			}
		}
		if _, _, err := OpenScope([]Root{root}, cartScope, text[:i]); err == nil {
			t.Fatalf("%d characters are enough", i)
		}
	}
	for _, plain := range []string{"", "x", strings.Repeat("x", fingerprintSize+sealedKeyBytes-1), strings.Repeat("x", fingerprintSize+sealedKeyBytes+1)} {
		short, err := root.seal(&sealedScope, sealedScopeFor(&root, cartScope), []byte(plain))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = OpenScope([]Root{root}, cartScope, short)
		wantError(t, err, "not the keys of a scope")
	}
	ring := mustSeal(t, Root{Target: root.Target + "\x00" + cartScope, Secret: root.Secret}, strings.Repeat("x", fingerprintSize+sealedKeyBytes))
	if _, _, err := OpenScope([]Root{root}, cartScope, ring); err == nil {
		t.Error("a sealed ring is the keys of a scope")
	}
	if _, err := Unseal([]Root{{Target: root.Target + "\x00" + cartScope, Secret: root.Secret}}, text); err == nil {
		t.Error("the keys of a scope are a sealed ring")
	}
}

// TestSealedScopeHasNoMore: whoever opens it finds the two keys and no secret of the ring, nor can they derive another scope's.
func TestSealedScopeHasNoMore(t *testing.T) {
	ring, root := rotatingRing(t), gatewayRoot(edge)
	plain, err := unseal([]Root{root}, mustSealScope(t, ring, root, cartScope), &sealedScope, func(r *Root) string { return sealedScopeFor(r, cartScope) })
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range vectorRings()["rotating"].Keys {
		secret, err := base64.RawURLEncoding.DecodeString(k.Secret)
		if err != nil || strings.Contains(string(plain), string(secret[:8])) {
			t.Errorf("%v, or a secret of the ring is there", err)
		}
	}
	_, sess := cart(t)
	mine := travelled(t, ring, cartScope)
	tok := mustMint(t, mine, sess, Minting{Now: sess.LastSeen})
	for _, other := range []string{"HTTPRoute/victim/r/rule/0", cartScope + "/"} {
		forger := *mine
		forger.tag = makeTag(labelScope, other)
		if _, verdict := ring.Scope(other).Open(signAgain(&forger, tok), sess.LastSeen); verdict != BadSignature {
			t.Errorf("a token that the keys of %s make is %s in %s", cartScope, verdict, other)
		}
	}
	if _, verdict := ring.Scope(cartScope).Open(tok, sess.LastSeen); verdict != Valid {
		t.Errorf("a token that the scope's keys made is %s where the ring is", verdict)
	}
}
