package keyfile

import (
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// NewRing makes a ring with one fresh key, which may sign and verify for ever.
func NewRing(id string) policyconfig.KeyRing {
	return policyconfig.KeyRing{Keys: []policyconfig.Key{newKey(id)}}
}

// AddKey gives a ring with a fresh key in front, which signs from a time on. The ring itself stays as it is.
func AddKey(ring policyconfig.KeyRing, id string, signsFrom time.Time) (policyconfig.KeyRing, error) {
	key := newKey(id)
	key.NotBefore = policyconfig.Time(signsFrom.Unix())
	longer := policyconfig.KeyRing{Keys: append([]policyconfig.Key{key}, ring.Keys...)}
	return longer, Check(longer)
}

// ChooseID names a new key of a ring after the day; with -2, -3 and so on when the ring has had that already.
func ChooseID(ring policyconfig.KeyRing, now time.Time) string {
	today := now.UTC().Format(time.DateOnly)
	id := today
	for n := 2; slices.ContainsFunc(ring.Keys, func(key policyconfig.Key) bool { return key.ID == id }); n++ {
		id = fmt.Sprintf("%s-%d", today, n)
	}
	return id
}

// NewRoot makes a root secret for a target.
func NewRoot(target string) token.Root { return token.Root{Target: target, Secret: newSecret()} }

// AddRoot puts a fresh root secret in front of the one that seals now, which proxies then still open with.
func AddRoot(roots []token.Root) []token.Root {
	return []token.Root{NewRoot(roots[0].Target), roots[0]}
}

func newKey(id string) policyconfig.Key { return policyconfig.Key{ID: id, Secret: newSecret()} }

// newSecret makes bytes from the system's generator, which never fails (crypto/rand.Read).
func newSecret() []byte {
	secret := make([]byte, token.MinSecret)
	_, _ = rand.Read(secret)
	return secret
}
