package pki_test

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/pki"
)

// TestKeysOfCertificates: the kinds of keys that Envoy serves are taken (TestKindsOfKeys in e2e has it serve them), with
// nothing around the blocks.
func TestKeysOfCertificates(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]crypto.Signer{
		"RSA": rsaKey, "Ed25519": edKey,
		"P-256": compilertest.NewKeyOnCurve(t, elliptic.P256()), "P-384": compilertest.NewKeyOnCurve(t, elliptic.P384()), "P-521": compilertest.NewKeyOnCurve(t, elliptic.P521()),
	} {
		chain, private := compilertest.IssueCertificate(t, key)
		got, why := pki.ParseKeyPair(append([]byte("subject=example.com\n"), chain...), append([]byte("Bag Attributes\n"), private...))
		if why != "" || got.Chain != string(chain) || !bytes.Equal(got.Key, private) {
			t.Errorf("%s: %q, %s", name, why, got.Chain)
		}
	}
}

// TestCertificatesThatCannotServe are refused in words that show nothing of them.
func TestCertificatesThatCannotServe(t *testing.T) {
	chain, private := compilertest.IssueCertificate(t, compilertest.NewKeyOnCurve(t, elliptic.P256()))
	otherChain, otherKey := compilertest.IssueCertificate(t, compilertest.NewKeyOnCurve(t, elliptic.P256()))
	weakChain, weakKey := compilertest.IssueCertificate(t, compilertest.NewKeyOnCurve(t, elliptic.P224()))
	broken := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("HIDDEN")})
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("HIDDEN")})
	for name, c := range map[string]struct {
		chain, key []byte
		want       string
	}{
		"nothing":                  {nil, nil, "belong together"},
		"no PEM":                   {[]byte("HIDDEN"), []byte("HIDDEN"), "belong together"},
		"no key":                   {chain, nil, "belong together"},
		"another's key":            {chain, otherKey, "belong together"},
		"an encrypted key":         {chain, encrypted, "belong together"},
		"the wrong way round":      {private, chain, "belong together"},
		"the chain's end in front": {append(bytes.Clone(otherChain), chain...), private, "belong together"},
		"a broken link":            {append(bytes.Clone(chain), broken...), private, "can't be read"},
		"a weak curve":             {weakChain, weakKey, "P-256"},
	} {
		if _, why := pki.ParseKeyPair(c.chain, c.key); !strings.Contains(why, c.want) || strings.Contains(why, "HIDDEN") {
			t.Errorf("%s: %q, want %q in it", name, why, c.want)
		}
	}
}

// TestAuthorities holds that a text gives all of its certificates, or none if one of them is none.
func TestAuthorities(t *testing.T) {
	one, _ := compilertest.IssueCertificate(t, compilertest.NewKeyOnCurve(t, elliptic.P256()))
	two, private := compilertest.IssueCertificate(t, compilertest.NewKeyOnCurve(t, elliptic.P256()))
	broken := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("none")}))
	for name, c := range map[string]struct{ text, want string }{
		"two":       {"# of the shop\n" + string(one) + "\n" + string(two), string(one) + string(two)},
		"a key":     {string(private) + string(one), string(one)},
		"nothing":   {"", ""},
		"no PEM":    {"none", ""},
		"a bad one": {string(one) + broken, ""},
	} {
		if got := pki.ParseAuthorities(c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
