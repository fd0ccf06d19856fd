package token

import (
	"encoding/binary"
	"errors"
	"math"
)

// Minting is how a token is made.
type Minting struct {
	// Now, in Unix seconds, chooses the key.
	Now int64
	// Nonce must be random and new for every token: it is what keeps equal hosts from showing as equal tokens.
	Nonce [nonceLen]byte
	// Reveal leaves the host readable in the token, for people who debug.
	Reveal bool
}

var (
	errNoKey  = errors.New("no key of the ring signs at this time")
	errHosts  = errors.New("the session has no host")
	errTimes  = errors.New("the session's times must be from 1970 to 2106, and last seen not before issued")
	errOwner  = errors.New("the session names whose tag its owner's is, and has none")
	errTicket = errors.New("a ticket ends later than now, ten minutes later at the most, and before 2106")
)

// Append appends a token for the session to dst, signed with the first key for which notBefore <= m.Now < notAfter.
// It fails if there is no such key, and for a session that no token can carry: without a host, with times outside of
// 0 to 2^32-1, with LastSeen before IssuedAt, or Named without an Owner. Then it returns dst as it was.
func (s *Scope) Append(dst []byte, sess Session, m Minting) ([]byte, error) {
	i := s.dates.signer(m.Now)
	switch {
	case i < 0:
		return dst, errNoKey
	case !sess.Host.usable():
		return dst, errHosts
	case sess.IssuedAt < 0 || sess.LastSeen < sess.IssuedAt || sess.LastSeen > math.MaxUint32:
		return dst, errTimes
	case sess.Parts.Named && sess.Parts.Owner == 0:
		return dst, errOwner
	}
	key := &s.keys[i]
	raw := s.appendClear(s.memory().raw[:0], sess, m, s.dates[i].tag)
	if !m.Reveal {
		key.cryptBody(raw[offBody:], m.Nonce[:])
	}
	mac := key.mac.mac(raw)
	raw = append(raw, mac[:]...)
	return base64URL.AppendEncode(dst, raw), nil
}

// appendClear appends all that is signed, with parts and host not hidden yet.
func (s *Scope) appendClear(raw []byte, sess Session, m Minting, key tag) []byte {
	flags := sess.Parts.flags()
	if !m.Reveal {
		flags |= flagHidden
	}
	if sess.Host.ipv6() {
		flags |= flagIPv6
	}
	raw = append(raw, version, flags)
	raw = binary.BigEndian.AppendUint32(raw, uint32(key))
	raw = binary.BigEndian.AppendUint32(raw, uint32(s.tag))
	raw = binary.BigEndian.AppendUint32(raw, uint32(sess.IssuedAt))
	raw = binary.BigEndian.AppendUint32(raw, uint32(sess.LastSeen))
	raw = binary.BigEndian.AppendUint32(raw, sess.Epoch)
	raw = append(raw, m.Nonce[:]...)
	return sess.Host.appendRaw(sess.Parts.appendRaw(raw))
}
