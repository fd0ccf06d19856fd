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

// sealed is a kind of what is sealed, by the labels of what is derived from the root secret for it, and of what is
// authenticated besides the text. The error is for what does not open.
type sealed struct {
	key, nonce, sealedFor string
	err                   error
}

// sealedRing is whole key rings.
var sealedRing = sealed{
	"limpet.dev/v1 seal key", "limpet.dev/v1 seal nonce", "limpet.dev/v1 sealed for\x00",
	errors.New("sealed under another root secret or for another target, or altered"),
}

var (
	errRoot    = errors.New("the root secret must be at least 32 bytes")
	errSealed  = errors.New("not URL-safe base64 of sealed text")
	errVersion = errors.New("not sealed by this version of limpet: compile the configuration again")
)

// Seal encrypts and authenticates plain under r, with XChaCha20-Poly1305; r's target is authenticated too.
// The nonce is derived from r and plain, so that the same input gives the same text and a compiled
// configuration does not change by itself. The result is a version and URL-safe base64 without padding.
func (r *Root) Seal(plain []byte) (string, error) { return r.seal(&sealedRing, r.Target, plain) }

// Unseal undoes [Root.Seal] with whichever of the roots it was sealed under. It accepts what Seal makes and nothing
// else.
func Unseal(roots []Root, text string) ([]byte, error) {
	return unseal(roots, text, &sealedRing, func(r *Root) string { return r.Target })
}

// seal seals what is for somebody: the text opens for nobody else.
func (r *Root) seal(kind *sealed, whom string, plain []byte) (string, error) {
	if len(r.Secret) < MinSecret {
		return "", errRoot
	}
	key, nonces := r.sealing(kind)
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return "", err
	}
	nonce := nonces.nonce(whom, plain)
	return sealVersion + base64.RawURLEncoding.EncodeToString(
		aead.Seal(nonce, nonce, plain, []byte(kind.sealedFor+whom)),
	), nil
}

// unseal undoes seal with whichever of the roots.
func unseal(roots []Root, text string, kind *sealed, whom func(*Root) string) ([]byte, error) {
	text, ofThisVersion := strings.CutPrefix(text, sealVersion)
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
		if plain, err = roots[i].unseal(raw, kind, whom(&roots[i])); err == nil {
			return plain, nil
		}
	}
	return nil, err
}

func (r *Root) unseal(raw []byte, kind *sealed, whom string) ([]byte, error) {
	if len(r.Secret) < MinSecret {
		return nil, errRoot
	}
	key, nonces := r.sealing(kind)
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, err
	}
	nonce, box := raw[:chacha20poly1305.NonceSizeX], raw[chacha20poly1305.NonceSizeX:]
	plain, err := aead.Open(nil, nonce, box, []byte(kind.sealedFor+whom))
	if err != nil {
		return nil, kind.err
	}
	if subtle.ConstantTimeCompare(nonce, nonces.nonce(whom, plain)) != 1 {
		return nil, kind.err
	}
	return plain, nil
}

// sealing derives the key, and the one by which nonces are made.
func (r *Root) sealing(kind *sealed) (key []byte, nonces macKey) {
	rootKey := newMACKey(r.Secret)
	sealKey, nonceSecret := rootKey.mac([]byte(kind.key)), rootKey.mac([]byte(kind.nonce))
	return sealKey[:], newMACKey(nonceSecret[:])
}

// nonce is that of plain for whom it is for.
func (k *macKey) nonce(whom string, plain []byte) []byte {
	full := k.mac(append([]byte(whom+"\x00"), plain...))
	return full[:chacha20poly1305.NonceSizeX]
}
