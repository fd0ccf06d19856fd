package token

import (
	"bytes"
	"strings"
	"testing"
)

func TestSealIsDeterministic(t *testing.T) {
	root := forEnvoy(countUp(0, 32))
	first, second := mustSeal(t, root, "plain"), mustSeal(t, root, "plain")
	if first != second {
		t.Error("sealing twice gives two texts")
	}
	if first == mustSeal(t, root, "plaim") || first == mustSeal(t, forEnvoy(countUp(1, 32)), "plain") || first == mustSeal(t, Root{Target: "istio", Secret: root.Secret}, "plain") {
		t.Error("two inputs give one text")
	}
}

func TestSealHidesPlain(t *testing.T) {
	plain := countUp('A', 40)
	sealed := mustSeal(t, forEnvoy(countUp(0, 32)), string(plain))
	if bytes.Contains(rawSealed(t, sealed), plain[:4]) {
		t.Errorf("%q", sealed)
	}
}

func TestUnsealSaysWhy(t *testing.T) {
	root := forEnvoy(countUp(0, 32))
	sealed := mustSeal(t, root, "plain")
	for _, c := range []struct {
		roots       []Root
		text, wants string
	}{
		{nil, sealed, "at least 32 bytes"},
		{[]Root{forEnvoy(root.Secret[:31])}, sealed, "at least 32 bytes"},
		{[]Root{root}, sealVersion + "!", "not URL-safe base64"},
		{[]Root{root}, strings.TrimPrefix(sealed, sealVersion), "compile the configuration again"},
		{[]Root{forEnvoy(countUp(1, 32))}, sealed, "another root secret or for another target, or altered"},
		{[]Root{{Target: "istio", Secret: root.Secret}}, sealed, "another root secret or for another target, or altered"},
		{[]Root{{Secret: root.Secret}}, sealed, "another root secret or for another target, or altered"},
	} {
		_, err := Unseal(c.roots, c.text)
		wantError(t, err, c.wants)
	}
}

// TestTwoRoots: while root secrets are changed, what is sealed under the old one and under the new one opens.
func TestTwoRoots(t *testing.T) {
	next, old := forEnvoy(countUp(1, 32)), forEnvoy(countUp(0, 32))
	for _, root := range []Root{next, old} {
		plain, err := Unseal([]Root{next, old}, mustSeal(t, root, "plain"))
		if err != nil || string(plain) != "plain" {
			t.Errorf("%q, %v", plain, err)
		}
	}
	if _, err := Unseal([]Root{next}, mustSeal(t, old, "plain")); err == nil {
		t.Error("what was sealed under the old root opens without it")
	}
}

// TestParseRoots reads what LIMPET_ROOT may hold, and refuses the rest without showing it.
func TestParseRoots(t *testing.T) {
	one, two := b64(countUp(0, 32)), b64(countUp(1, 32))
	for text, want := range map[string]int{
		one:                                  1,
		"envoy:" + one:                       1,
		"envoy:" + one + "," + two:           2,
		"envoy-gateway:" + one + ",a:" + two: 2,
		"":                                   0,
		"envoy:":                             0,
		":" + one:                            0,
		one + ",":                            0,
		one + "=":                            0,
		one + "\n\n":                         0,
		one[:40]:                             0,
		"a b:" + one:                         0,
		"a:b:" + one:                         0,
		one + "," + two + "," + one:          0,
		strings.Repeat("a", 65) + ":" + one:  0,
	} {
		roots, err := ParseRoots(text)
		if len(roots) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d roots, %v", text, len(roots), err)
		}
		if err != nil && strings.Contains(err.Error(), one[:40]) {
			t.Errorf("the secret is in the error %v", err)
		}
		var back []string
		for _, r := range roots {
			back = append(back, r.Text())
		}
		if err == nil && strings.Join(back, ",") != text {
			t.Errorf("%q is written as %q", text, back)
		}
	}
	if roots, err := ParseRoots(one + "\n"); err != nil || len(roots) != 1 {
		t.Errorf("with the end of its line: %d roots, %v", len(roots), err)
	}
}

func forEnvoy(secret []byte) Root { return Root{Target: "envoy", Secret: secret} }

func rawSealed(t *testing.T, sealed string) []byte {
	t.Helper()
	return decodeB64(t, strings.TrimPrefix(sealed, sealVersion))
}
