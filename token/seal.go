package token

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"

	"golang.org/x/crypto/chacha20poly1305"
)

// The labels of the keys that sealing derives from the root secret.
const (
	labelSealKey   = "limpet.dev/v1 seal key"
	labelSealNonce = "limpet.dev/v1 seal nonce"
)

var (
	errRoot   = errors.New("the root secret must be at least 32 bytes")
	errSealed = errors.New("not URL-safe base64 of sealed text")
	errUnseal = errors.New("sealed under another root secret, or altered")
)

// Seal encrypts and authenticates plain under a root secret of at least [MinSecret] bytes, with XChaCha20-Poly1305.
// The nonce is derived from root and plain, so that the same input gives the same text and a compiled
// configuration does not change by itself. The result is URL-safe base64 without padding.
func Seal(root, plain []byte) (string, error) {
	if len(root) < MinSecret {
		return "", errRoot
	}
	key, nonce := sealing(root, plain)
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(aead.Seal(nonce, nonce, plain, nil)), nil
}

// Unseal undoes [Seal]. It accepts what Seal makes and nothing else.
func Unseal(root []byte, sealed string) ([]byte, error) {
	if len(root) < MinSecret {
		return nil, errRoot
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	// Decoding skips line breaks and spare bits; only one text stands for the bytes.
	if err != nil || len(raw) < chacha20poly1305.NonceSizeX || base64.RawURLEncoding.EncodeToString(raw) != sealed {
		return nil, errSealed
	}
	key, _ := sealing(root, nil)
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, err
	}
	nonce, box := raw[:chacha20poly1305.NonceSizeX], raw[chacha20poly1305.NonceSizeX:]
	plain, err := aead.Open(nil, nonce, box, nil)
	if err != nil {
		return nil, errUnseal
	}
	if _, want := sealing(root, plain); subtle.ConstantTimeCompare(nonce, want) != 1 {
		return nil, errUnseal
	}
	return plain, nil
}

// sealing derives the key, and the nonce for plain.
func sealing(root, plain []byte) (key, nonce []byte) {
	rootKey := newMACKey(root)
	sealKey, nonceSecret := rootKey.mac([]byte(labelSealKey)), rootKey.mac([]byte(labelSealNonce))
	nonceKey := newMACKey(nonceSecret[:])
	full := nonceKey.mac(plain)
	return sealKey[:], full[:chacha20poly1305.NonceSizeX]
}
