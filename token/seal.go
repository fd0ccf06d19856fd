package token

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

// sealVersion begins every sealed text.
const sealVersion = "1."

// The labels of what sealing derives from the root secret, and of what it authenticates besides the text.
const (
	labelSealKey   = "limpet.dev/v1 seal key"
	labelSealNonce = "limpet.dev/v1 seal nonce"
	labelSealedFor = "limpet.dev/v1 sealed for\x00"
)

var (
	errRoot    = errors.New("the root secret must be at least 32 bytes")
	errSealed  = errors.New("not URL-safe base64 of sealed text")
	errVersion = errors.New("not sealed by this version of limpet: compile the configuration again")
	errUnseal  = errors.New("sealed under another root secret or for another target, or altered")
)

// Seal encrypts and authenticates plain under r, with XChaCha20-Poly1305; r's target is authenticated too.
// The nonce is derived from r and plain, so that the same input gives the same text and a compiled
// configuration does not change by itself. The result is a version and URL-safe base64 without padding.
func (r *Root) Seal(plain []byte) (string, error) {
	if len(r.Secret) < MinSecret {
		return "", errRoot
	}
	key, nonce := r.sealing(plain)
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return "", err
	}
	return sealVersion + base64.RawURLEncoding.EncodeToString(aead.Seal(nonce, nonce, plain, r.sealedFor())), nil
}

// Unseal undoes [Root.Seal] with whichever of the roots it was sealed under. It accepts what Seal makes and nothing else.
func Unseal(roots []Root, sealed string) ([]byte, error) {
	text, ofThisVersion := strings.CutPrefix(sealed, sealVersion)
	if !ofThisVersion {
		return nil, errVersion
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	// Decoding skips line breaks and spare bits; only one text stands for the bytes.
	if err != nil || len(raw) < chacha20poly1305.NonceSizeX || base64.RawURLEncoding.EncodeToString(raw) != text {
		return nil, errSealed
	}
	err = errRoot
	for i := range roots {
		var plain []byte
		if plain, err = roots[i].unseal(raw); err == nil {
			return plain, nil
		}
	}
	return nil, err
}

func (r *Root) unseal(raw []byte) ([]byte, error) {
	if len(r.Secret) < MinSecret {
		return nil, errRoot
	}
	key, _ := r.sealing(nil)
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, err
	}
	nonce, box := raw[:chacha20poly1305.NonceSizeX], raw[chacha20poly1305.NonceSizeX:]
	plain, err := aead.Open(nil, nonce, box, r.sealedFor())
	if err != nil {
		return nil, errUnseal
	}
	if _, want := r.sealing(plain); subtle.ConstantTimeCompare(nonce, want) != 1 {
		return nil, errUnseal
	}
	return plain, nil
}

// sealing derives the key, and the nonce for plain and the target.
func (r *Root) sealing(plain []byte) (key, nonce []byte) {
	rootKey := newMACKey(r.Secret)
	sealKey, nonceSecret := rootKey.mac([]byte(labelSealKey)), rootKey.mac([]byte(labelSealNonce))
	nonceKey := newMACKey(nonceSecret[:])
	full := nonceKey.mac(append([]byte(r.Target+"\x00"), plain...))
	return sealKey[:], full[:chacha20poly1305.NonceSizeX]
}

// sealedFor is what is authenticated besides the text, so that what was sealed for one target opens for no other.
func (r *Root) sealedFor() []byte { return []byte(labelSealedFor + r.Target) }
