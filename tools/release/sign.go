package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
)

// sign signs the checksums and the provenance, if there is a key: SHA256SUMS.sig is what "openssl" and "cosign
// verify-blob" read, and the provenance gets an envelope of DSSE. Images are in both by their digests.
func (r *release) sign() error {
	if r.key == "" {
		fmt.Fprintln(os.Stderr, "release: nothing is signed, for -key names no key")
		return nil
	}
	key, err := readKey(r.key)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(r.out, sumsName))
	if err != nil {
		return err
	}
	signature, err := signText(key, sums)
	if err != nil {
		return err
	}
	if err := r.write(sumsName+".sig", []byte(base64.StdEncoding.EncodeToString(signature)+"\n")); err != nil {
		return err
	}
	statement, err := os.ReadFile(filepath.Join(r.out, provenanceName))
	if err != nil {
		return err
	}
	envelope, err := seal(key, statement)
	if err != nil {
		return err
	}
	return r.write("provenance.dsse.json", envelope)
}

// readKey reads a private key.
func readKey(path string) (crypto.Signer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s: it is not PEM", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: it has no private key in PKCS #8", path) // the parser's words may hold some of it
	}
	switch key := parsed.(type) {
	case ed25519.PrivateKey:
		return key, nil
	case *ecdsa.PrivateKey:
		return key, nil
	default:
		return nil, fmt.Errorf("%s: the key is neither Ed25519 nor ECDSA", path)
	}
}

// signText signs the SHA-256 of a text, or the text itself with Ed25519.
func signText(key crypto.Signer, text []byte) ([]byte, error) {
	if _, is := key.(ed25519.PrivateKey); is {
		return key.Sign(rand.Reader, text, crypto.Hash(0))
	}
	sum := sha256.Sum256(text)
	return key.Sign(rand.Reader, sum[:], crypto.SHA256)
}

// payloadType is that of statements of in-toto.
const payloadType = "application/vnd.in-toto+json"

// seal puts a statement into an envelope of DSSE.
func seal(key crypto.Signer, statement []byte) ([]byte, error) {
	signature, err := signText(key, preAuthentication(statement))
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(map[string]any{
		"payloadType": payloadType, "payload": base64.StdEncoding.EncodeToString(statement),
		"signatures": []map[string]string{{"sig": base64.StdEncoding.EncodeToString(signature)}},
	}, "", "  ")
}

// preAuthentication is what DSSE signs: the payload with its type and both lengths.
func preAuthentication(payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}
