package harness

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// Ring is a key ring made for one test: what Envoy gets as text, and what the test mints and opens tokens with.
type Ring struct {
	keys []token.Key
}

// NewRing makes a ring of random 32-byte keys with these ids; the first signs.
func NewRing(ids ...string) Ring {
	var r Ring
	for _, id := range ids {
		r.keys = append(r.keys, token.Key{ID: id, Secret: randomBytes(32)})
	}
	return r
}

// ParseRing reads a ring as LIMPET_KEYS and key files hold it.
func ParseRing(t testing.TB, text string) Ring {
	t.Helper()
	parsed, errs := policyconfig.ParseKeyRing(text)
	if len(errs) > 0 {
		t.Fatalf("key ring: %v", errs)
	}
	var r Ring
	for _, k := range parsed.Keys {
		r.keys = append(
			r.keys,
			token.Key{ID: k.ID, Secret: k.Secret, NotBefore: int64(k.NotBefore), NotAfter: int64(k.NotAfter)},
		)
	}
	return r
}

// IDs are the ids of the ring's keys in their order.
func (r Ring) IDs() []string {
	var ids []string
	for _, key := range r.keys {
		ids = append(ids, key.ID)
	}
	return ids
}

// SignsFrom is when the first key begins to sign.
func (r Ring) SignsFrom() time.Time { return time.Unix(r.keys[0].NotBefore, 0) }

// Only is the ring of the keys with these ids, in that order.
func (r Ring) Only(ids ...string) Ring {
	var out Ring
	for _, id := range ids {
		for _, key := range r.keys {
			if key.ID == id {
				out.keys = append(out.keys, key)
			}
		}
	}
	return out
}

// JSON is the ring as LIMPET_KEYS and key files hold it.
func (r Ring) JSON(t testing.TB) string {
	t.Helper()
	type key struct {
		ID     string `json:"id"`
		Secret string `json:"secret"`
	}
	ring := struct {
		Keys []key `json:"keys"`
	}{}
	for _, k := range r.keys {
		ring.Keys = append(ring.Keys, key{k.ID, base64.RawURLEncoding.EncodeToString(k.Secret)})
	}
	text, err := json.Marshal(ring)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Config is the ring as it stands in a plugin configuration.
func (r Ring) Config() *policyconfig.KeyRing {
	ring := &policyconfig.KeyRing{}
	for _, k := range r.keys {
		ring.Keys = append(ring.Keys, policyconfig.Key{ID: k.ID, Secret: policyconfig.Secret(k.Secret)})
	}
	return ring
}

// Fingerprint is what the ring's proxies show of it.
func (r Ring) Fingerprint(t testing.TB) uint64 {
	t.Helper()
	return uint64(r.ring(t).Fingerprint())
}

// ring is what Envoy makes of the text.
func (r Ring) ring(t testing.TB) *token.Ring {
	t.Helper()
	ring, err := token.NewRing(r.keys)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// KeyFingerprint is that of the first key.
func (r Ring) KeyFingerprint() string { return r.keys[0].Fingerprint().String() }

// Secrets are the ring's keys in every spelling in which they might leak.
func (r Ring) Secrets() []string {
	var all []string
	for _, k := range r.keys {
		all = append(all, Spellings(k.Secret)...)
	}
	return all
}

// CartScope is that of CookieRule("cart", ...), a rule without a name, in the route default/app.
const CartScope = "HTTPRoute/default/app/matches/948581af88c3785d"

// Scope opens the ring for one policy's scope.
func (r Ring) Scope(t testing.TB, scope string) *token.Scope {
	t.Helper()
	return r.ring(t).Scope(scope)
}

// TokenLen is the length of a token of a session on an IPv4 host that has an id and nothing else.
const TokenLen = 107

// Mint makes a token for a backend's address.
func (r Ring) Mint(t testing.TB, scope, address string, dates Dates) string {
	t.Helper()
	return Mint(t, r.Scope(t, scope), address, dates)
}

// Mint makes a token with the keys of a scope, wherever these are from.
func Mint(t testing.TB, scope *token.Scope, address string, dates Dates) string {
	t.Helper()
	host, err := token.ParseHost(address)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	session := token.Session{
		Host:     host,
		IssuedAt: now.Add(dates.Issued).Unix(),
		LastSeen: now.Add(dates.Seen).Unix(),
		Epoch:    dates.Epoch,
		Parts:    token.Parts{ID: 1 + binary.BigEndian.Uint64(randomBytes(8))>>1}, // as Envoy's own have one
	}
	minting := token.Minting{Now: now.Unix(), Nonce: [12]byte(randomBytes(12))}
	text, err := scope.Append(nil, session, minting)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Dates place a token's times relative to now; the zero value is a token minted now.
type Dates struct {
	Issued, Seen time.Duration
	Epoch        uint32
}

// NewRoot makes a random root secret for Envoy.
func NewRoot() token.Root { return token.Root{Target: "envoy", Secret: randomBytes(32)} }

// Environment are a root secret's variables, for Envoy and for limpet.
func Environment(root token.Root) []string { return []string{"LIMPET_ROOT=" + root.Text()} }

// Spellings are the ways in which a secret might be printed: both base64 alphabets, hex, Go's decimal list
// of bytes, and as it is.
func Spellings(secret []byte) []string {
	return []string{
		string(secret),
		base64.RawURLEncoding.EncodeToString(secret),
		base64.RawStdEncoding.EncodeToString(secret),
		hex.EncodeToString(secret),
		strings.ToUpper(hex.EncodeToString(secret)),
		strings.Trim(fmt.Sprintf("%d", secret), "[]"),
	}
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
