package token

import (
	"crypto/subtle"
	"encoding/binary"
	"math"
	"slices"
)

const (
	// TicketLife is for how many seconds a ticket is good, at the most.
	TicketLife = 600
	// TicketLen is the length of a ticket, in characters.
	TicketLen = ticketRaw * 8 / 6

	offTicketKey   = 1
	offTicketScope = 5
	offTicketEnds  = 9
	ticketSigned   = 13
	ticketRaw      = ticketSigned + macLen
)

// AppendTicket appends a ticket that is good in this scope until the time ends, TicketLife after now at the most: who
// has it sees what becomes of the sessions of their own requests.
func (s *Scope) AppendTicket(dst []byte, now, ends int64) ([]byte, error) {
	i := s.dates.signer(now)
	switch {
	case i < 0:
		return dst, errNoKey
	case ends <= now || ends > now+TicketLife || ends > math.MaxUint32:
		return dst, errTicket
	}
	raw := append(s.memory().raw[:0], signsTicket)
	raw = binary.BigEndian.AppendUint32(raw, uint32(s.dates[i].tag))
	raw = binary.BigEndian.AppendUint32(raw, uint32(s.tag))
	raw = binary.BigEndian.AppendUint32(raw, uint32(ends))
	mac := s.keys[i].mac.mac(raw)
	return base64URL.AppendEncode(dst, append(raw, mac[:]...)), nil
}

// Ticket tells whether a text is a ticket of this scope that is good at now. Proxies' clocks may differ by skew
// seconds.
func (s *Scope) Ticket(text string, now, skew int64) bool {
	raw, ok := s.decodeTicket(text)
	if !ok {
		return false
	}
	i := s.dates.findKey(tagAt(raw, offTicketKey), now)
	if i < 0 || tagAt(raw, offTicketScope) != s.tag {
		return false
	}
	want := s.keys[i].mac.mac(raw[:ticketSigned])
	if subtle.ConstantTimeCompare(want[:], raw[ticketSigned:]) != 1 {
		return false
	}
	ends := int64(binary.BigEndian.Uint32(raw[offTicketEnds:]))
	return now < ends && ends <= now+TicketLife+skew
}

// decodeTicket turns the text into bytes, in the working memory, unless it is no ticket by its form.
func (s *Scope) decodeTicket(text string) (raw []byte, ok bool) {
	if len(text) != TicketLen {
		return nil, false
	}
	w := s.memory()
	n, err := base64URL.Decode(w.raw[:], w.text[:copy(w.text[:], text)])
	return w.raw[:ticketRaw], err == nil && n == ticketRaw && w.raw[0] == signsTicket
}

// digestLen is how many bytes a digest has: enough to tell a log's sessions apart.
const digestLen = 8

// AppendDigest appends what stands for a session in logs, in hexadecimal digits: a keyed digest of its id. It follows
// the session, until another key signs, and is no part of any token. It is nothing for a session without an id.
func (s *Scope) AppendDigest(dst []byte, id uint64, now int64) []byte {
	i := s.dates.signer(now)
	if i < 0 || id == 0 {
		return dst
	}
	return s.keys[i].appendDigest(dst, id)
}

func (k *scopeKey) appendDigest(dst []byte, id uint64) []byte {
	message := [1 + idLen]byte{signsDigest}
	binary.BigEndian.PutUint64(message[1:], id)
	mac := k.mac.mac(message[:])
	const digits = "0123456789abcdef"
	for _, b := range mac[:digestLen] {
		dst = append(dst, digits[b>>4], digits[b&15])
	}
	return dst
}

// Digest is what stands for a session in logs while a key signs.
type Digest struct {
	// Key is the place of the key in the ring.
	Key  int
	Text string
}

// Digests lists the digests that a session had from one time to another: one for each key that signed meanwhile, in the
// order in which they began to.
func (s *Scope) Digests(id uint64, from, to int64) (all []Digest) {
	moments := []int64{from}
	for _, k := range s.dates {
		for _, at := range []int64{k.notBefore, k.notAfter} {
			if from < at && at <= to {
				moments = append(moments, at)
			}
		}
	}
	slices.Sort(moments)
	for _, at := range moments {
		i := s.dates.signer(at)
		if i < 0 || id == 0 || slices.ContainsFunc(all, func(d Digest) bool { return d.Key == i }) {
			continue
		}
		all = append(all, Digest{i, string(s.keys[i].appendDigest(nil, id))})
	}
	return all
}
