package keyfile

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// NewRing makes a ring with one new key, which may sign and verify for ever.
func NewRing(id string) policyconfig.KeyRing {
	return policyconfig.KeyRing{Keys: []policyconfig.Key{newKey(id)}}
}

// AddKey gives a ring with a new key in front, which signs from a time on. The ring itself stays as it is.
func AddKey(ring policyconfig.KeyRing, id string, signsFrom time.Time) (policyconfig.KeyRing, error) {
	key := newKey(id)
	key.NotBefore = policyconfig.Time(signsFrom.Unix())
	longer := policyconfig.KeyRing{Keys: append([]policyconfig.Key{key}, ring.Keys...)}
	return longer, Check(longer)
}

// ChooseID names a new key of a ring after the day, with a random part: two rings that are made on one day have no id
// in common, so that a proxy with the other ring says unknown-key and not bad-signature.
func ChooseID(ring policyconfig.KeyRing, now time.Time) string {
	for {
		id := now.UTC().Format(time.DateOnly) + "-" + hex.EncodeToString(randomBytes(idBytes))
		if !slices.ContainsFunc(ring.Keys, func(key policyconfig.Key) bool { return key.ID == id }) {
			return id
		}
	}
}

// idBytes are the random part of a key's id, which stands in each token.
const idBytes = 3

// NewRoot makes a root secret for a target.
func NewRoot(target string) token.Root { return token.Root{Target: target, Secret: newSecret()} }

// AddRoot puts a new root secret in front of the one that seals now, which proxies then still open with.
func AddRoot(roots []token.Root) []token.Root {
	return []token.Root{NewRoot(roots[0].Target), roots[0]}
}

func newKey(id string) policyconfig.Key { return policyconfig.Key{ID: id, Secret: newSecret()} }

func newSecret() []byte { return randomBytes(token.MinSecret) }

// randomBytes are from the system's generator, which never fails (crypto/rand.Read).
func randomBytes(count int) []byte {
	all := make([]byte, count)
	_, _ = rand.Read(all)
	return all
}
