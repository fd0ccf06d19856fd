package token

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Two ids of one tag, found by trying some 140,000.
const collidingA, collidingB = "key-90700", "key-140922"

func TestNewRingRefuses(t *testing.T) {
	good := countUp(0, 32)
	for name, c := range map[string]struct {
		keys []Key
		want []string
	}{
		"no keys":          {nil, []string{"keys: Required value"}},
		"nothing in a key": {[]Key{{}}, []string{"keys[0].id: Required value", "keys[0].secret: Required value"}},
		"id characters":    {[]Key{{ID: "a b", Secret: good}}, []string{`keys[0].id: Invalid value: "a b": must consist of`}},
		"id with zero":     {[]Key{{ID: "a\x00b", Secret: good}}, []string{`keys[0].id: Invalid value: "a\x00b"`}},
		"long id":          {[]Key{{ID: strings.Repeat("a", 65), Secret: good}}, []string{"keys[0].id: Too long: may not be more than 64 bytes"}},
		"short secret":     {[]Key{{ID: "a", Secret: good[:31]}}, []string{`keys[0].secret: Invalid value: "[secret]": must be at least 32 bytes, not 31`}},
		"duplicate":        {[]Key{{ID: "a", Secret: good}, {ID: "b", Secret: good}, {ID: "a", Secret: good}}, []string{`keys[2].id: Duplicate value: "a"`}},
		"order of times":   {[]Key{{ID: "a", Secret: good, NotBefore: 9, NotAfter: 9}}, []string{"keys[0].notAfter: Invalid value: 9: must be later than notBefore"}},
		"before 1970":      {[]Key{{ID: "a", Secret: good, NotBefore: -1}}, []string{"keys[0]: Invalid value: notBefore and notAfter must not be before 1970"}},
		"all at once":      {[]Key{{ID: "a/", Secret: good[:1]}, {ID: "b"}}, []string{"keys[0].id", "keys[0].secret", "keys[1].secret"}},
	} {
		t.Run(name, func(t *testing.T) {
			ring, err := NewRing(c.keys)
			wantError(t, err, c.want...)
			if ring != nil {
				t.Error("a ring came with the error")
			}
		})
	}
}

// TestTagsThatCollide uses two ids whose hashes begin with the same four bytes.
func TestTagsThatCollide(t *testing.T) {
	a, b := Key{ID: collidingA, Secret: countUp(0, 32)}, Key{ID: collidingB, Secret: countUp(1, 32)}
	if makeTag(labelKeyID, a.ID) != makeTag(labelKeyID, b.ID) {
		t.Fatal("the tags differ")
	}
	_, err := NewRing([]Key{a, b})
	wantError(t, err, `keys[1].id: Invalid value: "`+collidingB+`": has the same tag as "`+collidingA+`"`)
}

// TestErrorsHideSecrets looks for a secret's bytes in errors, however they are printed.
func TestErrorsHideSecrets(t *testing.T) {
	secret := "do-not-print-me"
	_, err := NewRing([]Key{{ID: "a", Secret: []byte(secret)}})
	wantError(t, err, "[secret]")
	root := forEnvoy([]byte(secret))
	_, sealErr := root.Seal(nil)
	_, unsealErr := Unseal([]Root{root}, secret)
	_, parseErr := ParseRoots(secret)
	for _, e := range []error{err, sealErr, unsealErr, parseErr} {
		if e == nil || strings.Contains(e.Error(), secret) {
			t.Errorf("the error is %v", e)
		}
	}
}

// TestPrintingHidesSecrets prints what holds a secret, or what derives from one.
func TestPrintingHidesSecrets(t *testing.T) {
	key := Key{ID: "a", Secret: bytes.Repeat([]byte("s"), 32)}
	ring := mustRing(t, key)
	root := forEnvoy(key.Secret)
	want := map[any]string{&key: "key a [secret]", &root: "root for envoy [secret]", ring: "[key ring]", ring.Scope("x"): "[scope]"}
	for value, text := range want {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if got := fmt.Sprintf(verb, value); got != text {
				t.Errorf("%s prints %q", verb, got)
			}
		}
	}
	if got := fmt.Sprint([]Key{key}, key); got != "[key a [secret]] key a [secret]" {
		t.Errorf("printed %q", got)
	}
}

func TestSigner(t *testing.T) {
	secret := countUp(0, 32)
	ring := mustRing(t,
		Key{ID: "next", Secret: secret, NotBefore: 100, NotAfter: 200},
		Key{ID: "old", Secret: secret, NotAfter: 150},
		Key{ID: "spare", Secret: secret, NotBefore: 300},
	)
	for now, want := range map[int64]int{0: 1, 99: 1, 100: 0, 149: 0, 150: 0, 199: 0, 200: -1, 299: -1, 300: 2, 1 << 40: 2} {
		if got := ring.dates.signer(now); got != want {
			t.Errorf("at %d key %d signs, want %d", now, got, want)
		}
	}
}

func TestRingKeepsNoSecret(t *testing.T) {
	secret := countUp(0, 32)
	ring := mustRing(t, Key{ID: "a", Secret: secret})
	scope := ring.Scope("s")
	sess := Session{Host: mustHost(t, "10.0.0.1:80"), IssuedAt: 1, LastSeen: 1}
	before := mustMint(t, scope, sess, Minting{Now: 1})
	clear(secret)
	if after := mustMint(t, ring.Scope("s"), sess, Minting{Now: 1}); after != before {
		t.Error("the ring changes with its caller's secret")
	}
}
