package token

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
)

// base64URL is URL-safe base64 without padding; it refuses spare bits that are not zero.
var base64URL = base64.RawURLEncoding.Strict()

// Open authenticates a token: Valid, Malformed, UnknownKey, WrongScope or BadSignature. It does not look at times
// other than the keys' own; [Scope.Check] does. The Session is zero unless the verdict is Valid.
func (s *Scope) Open(tok string, now int64) (Session, Verdict) {
	sess, verdict, _ := s.open(tok, now)
	return sess, verdict
}

// open tells, beyond Open, why a token is malformed.
func (s *Scope) open(tok string, now int64) (Session, Verdict, problem) {
	raw, why := s.decode(tok)
	if why != wellFormed {
		return Session{}, Malformed, why
	}
	key, verdict := s.authenticate(raw, now)
	if verdict != Valid {
		return Session{}, verdict, wellFormed
	}
	host, ok := key.openHost(raw)
	if !ok {
		return Session{}, Malformed, badHost
	}
	return Session{
		Host:     host,
		IssuedAt: int64(binary.BigEndian.Uint32(raw[offIssuedAt:])),
		LastSeen: int64(binary.BigEndian.Uint32(raw[offLastSeen:])),
		Epoch:    binary.BigEndian.Uint32(raw[offEpoch:]),
		key:      tagAt(raw, offKeyTag),
	}, Valid, wellFormed
}

// decode turns the text into bytes, in the working memory, and judges what needs no key.
func (s *Scope) decode(tok string) (raw []byte, why problem) {
	if len(tok) != Len4 && len(tok) != Len6 {
		return nil, badLength
	}
	w := s.memory()
	n, err := base64URL.Decode(w.raw[:], w.text[:copy(w.text[:], tok)])
	// The decoder skips line breaks, which leaves it short of bytes.
	if err != nil || n != len(tok)/4*3 {
		return nil, badAlphabet
	}
	raw = w.raw[:n]
	return raw, inspect(raw)
}

// inspect judges the fields that are in the clear.
func inspect(raw []byte) problem {
	flags := raw[offFlags]
	switch {
	case raw[offVersion] != version:
		return badVersion
	case flags&^flagsKnown != 0:
		return badFlags
	case (flags&flagIPv6 != 0) != (len(raw) == rawLen6):
		return badHostSize
	case binary.BigEndian.Uint32(raw[offLastSeen:]) < binary.BigEndian.Uint32(raw[offIssuedAt:]):
		return badTimes
	}
	return wellFormed
}

// authenticate finds the key that signed and compares the MACs in constant time.
func (s *Scope) authenticate(raw []byte, now int64) (*scopeKey, Verdict) {
	i := s.ring.find(tagAt(raw, offKeyTag), now)
	if i < 0 {
		return nil, UnknownKey
	}
	if tagAt(raw, offScopeTag) != s.tag {
		return nil, WrongScope
	}
	signed, mac := raw[:len(raw)-macLen], raw[len(raw)-macLen:]
	want := s.keys[i].mac.mac(signed)
	if subtle.ConstantTimeCompare(want[:], mac) != 1 {
		return nil, BadSignature
	}
	return &s.keys[i], Valid
}

func tagAt(raw []byte, off int) tag { return tag(binary.BigEndian.Uint32(raw[off:])) }

// openHost reads the host, decrypting it in place if it is hidden.
func (k *scopeKey) openHost(raw []byte) (Host, bool) {
	host := raw[offHost : len(raw)-macLen]
	if raw[offFlags]&flagHidden != 0 {
		k.cryptHost(host, raw[offNonce:offHost])
	}
	return hostFromRaw(host)
}
