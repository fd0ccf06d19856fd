package gateway

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

// issueCertificate is a certificate for a key and the key, in PEM.
func issueCertificate(t *testing.T, key crypto.Signer) (chain, private []byte) {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"example.com"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

func newKeyOnCurve(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

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
		"P-256": newKeyOnCurve(t, elliptic.P256()), "P-384": newKeyOnCurve(t, elliptic.P384()), "P-521": newKeyOnCurve(t, elliptic.P521()),
	} {
		chain, private := issueCertificate(t, key)
		got, why := parseKeyPair(append([]byte("subject=example.com\n"), chain...), append([]byte("Bag Attributes\n"), private...))
		if why != "" || got.Chain != string(chain) || !bytes.Equal(got.Key, private) {
			t.Errorf("%s: %q, %s", name, why, got.Chain)
		}
	}
}

// TestCertificatesThatCannotServe are refused in words that show nothing of them.
func TestCertificatesThatCannotServe(t *testing.T) {
	chain, private := issueCertificate(t, newKeyOnCurve(t, elliptic.P256()))
	otherChain, otherKey := issueCertificate(t, newKeyOnCurve(t, elliptic.P256()))
	weakChain, weakKey := issueCertificate(t, newKeyOnCurve(t, elliptic.P224()))
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
		if _, why := parseKeyPair(c.chain, c.key); !strings.Contains(why, c.want) || strings.Contains(why, "HIDDEN") {
			t.Errorf("%s: %q, want %q in it", name, why, c.want)
		}
	}
}
