package token

import (
	"encoding/binary"
	"errors"
)

// A proxy need not have the ring: the two keys of each scope that it serves, for each key of the ring, are all that it
// uses. They travel sealed, under a root secret of the Gateway's own, so that who has that one can open nothing but
// what this Gateway serves.

// sealedScope is the keys of a scope.
var sealedScope = sealed{
	"limpet.dev/v1 scope seal key", "limpet.dev/v1 scope seal nonce", "limpet.dev/v1 scope keys sealed for\x00",
	errors.New("sealed under another root secret, for another Gateway or for another scope, or altered"),
}

const labelGatewayRoot = "limpet.dev/v1 gateway root\x00"

// GatewayID names a Gateway, and no other one, even of the same name later: neither namespaces nor names have slashes.
func GatewayID(namespace, name, uid string) string { return namespace + "/" + name + "/" + uid }

// ForGateway derives the root secret of a Gateway by its [GatewayID]. It says nothing of r, and nothing of other
// Gateways' roots.
func (r *Root) ForGateway(id string) Root {
	key := newMACKey(r.Secret)
	secret := key.mac([]byte(labelGatewayRoot + id))
	return Root{Target: r.Target, Secret: secret[:]}
}

// GatewayRoots are the root secrets that may open what is sealed for a Gateway: a proxy has the Gateway's own, or those
// from which that one is derived.
func GatewayRoots(roots []Root, id string) []Root {
	all := make([]Root, 0, 2*len(roots))
	all = append(all, roots...)
	for i := range roots {
		all = append(all, roots[i].ForGateway(id))
	}
	return all
}

// The keys of a scope in bytes: the ring's fingerprint, then for each key of the ring its tag, when it signs from and
// when it ends, K_mac and K_host.
const (
	offNotBefore   = 4
	offNotAfter    = offNotBefore + 8
	offMACKey      = offNotAfter + 8
	offHostKey     = offMACKey + hashLen
	sealedKeyBytes = offHostKey + hashLen
)

// SealScope seals the keys of a scope under the root secret of a Gateway. Equal rings, roots and scopes give equal
// texts.
func (r *Ring) SealScope(root *Root, scope string) (string, error) {
	plain := append(make([]byte, 0, fingerprintSize+len(r.dates)*sealedKeyBytes), r.Fingerprint().bytes()...)
	from := derivationOf(scope)
	for i, k := range r.dates {
		mac, host := r.secrets[i].derive(&from)
		plain = binary.BigEndian.AppendUint32(plain, uint32(k.tag))
		plain = binary.BigEndian.AppendUint64(plain, uint64(k.notBefore))
		plain = binary.BigEndian.AppendUint64(plain, uint64(k.notAfter))
		plain = append(append(plain, mac[:]...), host[:]...)
	}
	return root.seal(&sealedScope, sealedScopeFor(root, scope), plain)
}

// sealedScopeFor is whom the keys of a scope are for. A target has no zero byte.
func sealedScopeFor(root *Root, scope string) string { return root.Target + "\x00" + scope }

var errSealedScope = errors.New("not the keys of a scope")

// OpenScope undoes [Ring.SealScope] with whichever of the roots it was sealed under: the scope is the one that the ring
// gives, which has that fingerprint.
func OpenScope(roots []Root, name, text string) (*Scope, Fingerprint, error) {
	plain, err := unseal(roots, text, &sealedScope, func(r *Root) string { return sealedScopeFor(r, name) })
	if err != nil {
		return nil, 0, err
	}
	count := (len(plain) - fingerprintSize) / sealedKeyBytes
	if count <= 0 || fingerprintSize+count*sealedKeyBytes != len(plain) {
		return nil, 0, errSealedScope
	}
	s := &Scope{dates: make(dates, count), tag: makeTag(labelScope, name), keys: make([]scopeKey, count)}
	for i := range count {
		one := plain[fingerprintSize+i*sealedKeyBytes:][:sealedKeyBytes]
		s.dates[i] = keyDates{
			tagAt(one, 0), int64(binary.BigEndian.Uint64(one[offNotBefore:])), int64(binary.BigEndian.Uint64(one[offNotAfter:])),
		}
		s.keys[i] = scopeKey{newMACKey(one[offMACKey:offHostKey]), [hashLen]byte(one[offHostKey:])}
	}
	return s, fingerprintFrom(plain), nil
}
