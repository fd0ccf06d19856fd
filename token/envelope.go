package token

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"strings"
)

// MaxEnvelope is the length of the longest envelope, in characters: what browsers take of a cookie's name and value
// together (RFC 6265bis section 5.6).
const MaxEnvelope = 4096

// The first bytes of what a scope's MAC keys sign besides tokens, which begin with their version. So no signature is
// good for two things.
const (
	signsEnvelope = 'E'
	signsTicket   = 'T'
	signsDigest   = 'S'
)

const (
	// envelopeMark stands between the token and the rest; it is in neither.
	envelopeMark = '.'
	// attributesLen is the size of the number that says how long the attributes are.
	attributesLen = 2
	// envelopeMin is the least length of what stands behind the mark, without attributes and value.
	envelopeMin = ((attributesLen+macLen)*8 + 5) / 6
)

var errEnvelope = errors.New("the application's value and attributes are too long for an envelope")

// CutEnvelope parts an envelope into its token and its body. It costs next to nothing, and says false for all that is
// no envelope by its form.
func CutEnvelope(text string) (tok, body string, ok bool) {
	if len(text) > MaxEnvelope || len(text) < Len4+1+envelopeMin {
		return "", "", false
	}
	tok, body, ok = strings.Cut(text, string(rune(envelopeMark)))
	return tok, body, ok && Plausible(tok)
}

// Envelope is the working memory in which envelopes are made and opened. An envelope is a token and, signed together
// with it, what an application gave its client: the value of a cookie or header, and the cookie's attributes.
type Envelope struct {
	text [MaxEnvelope]byte
	// raw is what is signed: the label, the token, the length of the attributes, the attributes, the value; and the MAC.
	raw [1 + MaxLen + MaxEnvelope]byte
	// signed and end are where in raw the MAC begins and ends, body is where the attributes' length stands.
	body, signed, end int
}

// Append appends the envelope of a token that the scope has just made at now. It fails, and returns dst as it was,
// where no key signs or where the envelope would be longer than limit, at most MaxEnvelope.
func (e *Envelope) Append(dst []byte, s *Scope, tok, attributes, value string, now int64, limit int) ([]byte, error) {
	i := s.dates.signer(now)
	if i < 0 {
		return dst, errNoKey
	}
	size := attributesLen + len(attributes) + len(value) + macLen
	if len(tok) > MaxLen || len(tok)+1+textLen(size) > min(limit, MaxEnvelope) {
		return dst, errEnvelope
	}
	raw := e.begin(tok)
	raw = binary.BigEndian.AppendUint16(raw, uint16(len(attributes)))
	raw = append(raw, attributes...)
	raw = append(raw, value...)
	mac := s.keys[i].mac.mac(raw)
	raw = append(raw, mac[:]...)
	dst = append(append(dst, tok...), envelopeMark)
	return base64URL.AppendEncode(dst, raw[e.body:]), nil
}

func (e *Envelope) begin(tok string) []byte {
	raw := append(append(e.raw[:0], signsEnvelope), tok...)
	e.body = len(raw)
	return raw
}

// Decode reads what CutEnvelope gave, unless it is no envelope after all. Nothing of it is verified yet.
func (e *Envelope) Decode(tok, body string) bool {
	e.begin(tok)
	n, err := base64URL.Decode(e.raw[e.body:], e.text[:copy(e.text[:], body)])
	if err != nil || textLen(n) != len(body) || n < attributesLen+macLen {
		return false // the decoder skips line breaks, which leaves it short of bytes
	}
	e.end = e.body + n
	e.signed = e.end - macLen
	return e.value() <= e.signed
}

// value is where in raw the value begins.
func (e *Envelope) value() int {
	return e.body + attributesLen + int(binary.BigEndian.Uint16(e.raw[e.body:]))
}

// Attributes are what was decoded; they are valid until the next use of e.
func (e *Envelope) Attributes() []byte { return e.raw[e.body+attributesLen : e.value()] }

// Value is as Attributes.
func (e *Envelope) Value() []byte { return e.raw[e.value():e.signed] }

// Signed tells whether what was decoded is signed with the key that signed the session's token, which the scope opened.
func (e *Envelope) Signed(s *Scope, sess Session, now int64) bool {
	i := s.dates.findKey(sess.key, now)
	if i < 0 {
		return false
	}
	want := s.keys[i].mac.mac(e.raw[:e.signed])
	return subtle.ConstantTimeCompare(want[:], e.raw[e.signed:e.end]) == 1
}
