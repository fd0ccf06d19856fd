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
	sess, why := key.openBody(raw)
	if why != wellFormed {
		return Session{}, Malformed, why
	}
	sess.readClear(raw)
	return sess, Valid, wellFormed
}

// readClear reads what no token hides.
func (s *Session) readClear(raw []byte) {
	s.IssuedAt = int64(binary.BigEndian.Uint32(raw[offIssuedAt:]))
	s.LastSeen = int64(binary.BigEndian.Uint32(raw[offLastSeen:]))
	s.Epoch = binary.BigEndian.Uint32(raw[offEpoch:])
	s.key = tagAt(raw, offKeyTag)
}

// decode turns the text into bytes, in the working memory, and judges what needs no key.
func (s *Scope) decode(tok string) (raw []byte, why problem) {
	if !knownLen(len(tok)) {
		return nil, badLength
	}
	w := s.memory()
	n, err := base64URL.Decode(w.raw[:], w.text[:copy(w.text[:], tok)])
	// The decoder skips line breaks, which leaves it short of bytes.
	if err != nil || n != len(tok)*6/8 {
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
	case !knownFlags(flags):
		return badFlags
	case len(raw) != rawLen(flags):
		return badHostSize
	case binary.BigEndian.Uint32(raw[offLastSeen:]) < binary.BigEndian.Uint32(raw[offIssuedAt:]):
		return badTimes
	}
	return wellFormed
}

// authenticate finds the key that signed and compares the MACs in constant time.
func (s *Scope) authenticate(raw []byte, now int64) (*scopeKey, Verdict) {
	i := s.dates.findKey(tagAt(raw, offKeyTag), now)
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

// openBody reads the parts and the host, decrypting them in place if they are hidden.
func (k *scopeKey) openBody(raw []byte) (sess Session, why problem) {
	flags, body := raw[offFlags], raw[offBody:len(raw)-macLen]
	if flags&flagHidden != 0 {
		k.cryptBody(body, raw[offNonce:offBody])
	}
	var ok bool
	if sess.Parts, ok = partsFromRaw(body, flags); !ok {
		return Session{}, badParts
	}
	if sess.Host, ok = hostFromRaw(body[partsLen(flags):]); !ok {
		return Session{}, badHost
	}
	return sess, wellFormed
}
