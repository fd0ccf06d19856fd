package token

import "encoding/binary"

// Peeked is what a token or ticket says to whoever has no key. Nothing of it is verified.
type Peeked struct {
	// Key and Scope are the tags of the key that is said to have signed, and of the scope: [KeyTag] and [ScopeTag] have
	// those of names.
	Key, Scope uint32
	// Session has the host and the parts, unless they are Hidden or no good; it is zero for a ticket.
	Session Session
	Hidden  bool
	// Ends is until when a ticket is good.
	Ends int64
}

// KeyTag is what tokens call a key of that id.
func KeyTag(id string) uint32 { return uint32(makeTag(labelKeyID, id)) }

// ScopeTag is what tokens call a scope.
func ScopeTag(name string) uint32 { return uint32(makeTag(labelScope, name)) }

// Peek reads what is in the clear; it says false where [Scope.Open] says Malformed without a key.
func Peek(tok string) (p Peeked, ok bool) {
	raw, why := (&Scope{}).decode(tok)
	if why != wellFormed {
		return Peeked{}, false
	}
	if p.Hidden = raw[offFlags]&flagHidden != 0; !p.Hidden {
		p.Session, _ = (&scopeKey{}).openBody(raw)
	}
	p.Session.readClear(raw)
	p.Key, p.Scope = uint32(tagAt(raw, offKeyTag)), uint32(tagAt(raw, offScopeTag))
	return p, true
}

// PeekTicket reads a ticket, unless it is none by its form.
func PeekTicket(text string) (p Peeked, ok bool) {
	raw, ok := (&Scope{}).decodeTicket(text)
	if !ok {
		return Peeked{}, false
	}
	p.Key, p.Scope = uint32(tagAt(raw, offTicketKey)), uint32(tagAt(raw, offTicketScope))
	p.Ends = int64(binary.BigEndian.Uint32(raw[offTicketEnds:]))
	return p, true
}
