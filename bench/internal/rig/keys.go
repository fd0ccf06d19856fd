package rig

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/limpet-proxy/limpet/token"
)

// Keys is a ring with one random key, made for one run.
type Keys struct{ key token.Key }

// NewKeys makes a ring.
func NewKeys() Keys {
	secret := make([]byte, token.MinSecret)
	_, _ = rand.Read(secret) // never fails
	return Keys{token.Key{ID: "bench", Secret: secret}}
}

// Text is the ring as LIMPET_KEYS holds it.
func (k Keys) Text() string {
	type key struct {
		ID     string `json:"id"`
		Secret string `json:"secret"`
	}
	text, err := json.Marshal(map[string][]key{"keys": {{k.key.ID, base64.RawURLEncoding.EncodeToString(k.key.Secret)}}})
	if err != nil {
		panic("a key ring of strings: " + err.Error())
	}
	return string(text)
}

// Scope opens the ring for the scope of the cookie's policy (CookieScope) or of the header's (HeaderScope).
func (k Keys) Scope(name string) *token.Scope {
	ring, err := token.NewRing([]token.Key{k.key})
	if err != nil {
		panic("a ring of one random key: " + err.Error())
	}
	return ring.Scope(name)
}

// Mint makes a token for a session on that host, which began so long ago and has not been seen since.
func Mint(scope *token.Scope, address string, age time.Duration) (string, error) {
	host, err := token.ParseHost(address)
	if err != nil {
		return "", err
	}
	began := time.Now().Add(-age).Unix()
	minting := token.Minting{Now: time.Now().Unix()}
	_, _ = rand.Read(minting.Nonce[:])
	text, err := scope.Append(nil, token.Session{
		Host: host, IssuedAt: began, LastSeen: began, Parts: token.Parts{ID: 1},
	}, minting)
	return string(text), err
}

// Pin is a backend's address as Envoy's stateful_session has it, in the pin header and in its unsigned cookie.
func Pin(address string) string { return base64.StdEncoding.EncodeToString([]byte(address)) }
