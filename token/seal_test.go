package token

import (
	"bytes"
	"testing"
)

func TestSealIsDeterministic(t *testing.T) {
	root := countUp(0, 32)
	first, second := mustSeal(t, root, "plain"), mustSeal(t, root, "plain")
	if first != second {
		t.Error("sealing twice gives two texts")
	}
	if first == mustSeal(t, root, "plaim") || first == mustSeal(t, countUp(1, 32), "plain") {
		t.Error("two inputs give one text")
	}
}

func TestSealHidesPlain(t *testing.T) {
	plain := countUp('A', 40)
	sealed, err := Seal(countUp(0, 32), plain)
	if err != nil || bytes.Contains(decodeB64(t, sealed), plain[:4]) {
		t.Errorf("%q, %v", sealed, err)
	}
}

func TestUnsealSaysWhy(t *testing.T) {
	root := countUp(0, 32)
	_, err := Unseal(root[:31], "")
	wantError(t, err, "at least 32 bytes")
	_, err = Unseal(root, "!")
	wantError(t, err, "not URL-safe base64")
	_, err = Unseal(countUp(1, 32), mustSeal(t, root, "plain"))
	wantError(t, err, "another root secret, or altered")
}
