package session

import (
	"strings"

	"github.com/limpet-proxy/limpet/token"
)

// envelopes is what an engine needs for policies with envelopes: the memory in which they are made and opened.
type envelopes struct {
	token.Envelope
	tok  [token.MaxLen]byte
	idle *held
}

// held is what a client's envelope held, from the request to its response: the cookie's attributes and the
// application's value, of an envelope that we signed.
type held struct {
	next       *held
	text       [token.MaxEnvelope]byte
	value, end int
}

func (h *held) attributes() string { return stringOf(h.text[:h.value]) }

func (h *held) valueText() string { return stringOf(h.text[h.value:h.end]) }

// prepareEnvelopes makes the memory, before the first use.
func (e *Engine) prepareEnvelopes() {
	if e.envelopes == nil {
		e.proxy.lasting(true)
		e.envelopes = &envelopes{}
		e.proxy.lasting(false)
	}
}

// hold keeps what the envelope at hand holds.
func (x *Exchange) hold() {
	e := x.policy.engine
	if x.held == nil {
		if x.held = e.envelopes.idle; x.held != nil {
			e.envelopes.idle = x.held.next
		} else {
			e.proxy.lasting(true)
			x.held = &held{}
			e.proxy.lasting(false)
		}
	}
	h := x.held
	h.value = copy(h.text[:], e.envelopes.Attributes())
	h.end = h.value + copy(h.text[h.value:], e.envelopes.Value())
}

// Drop gives back what an exchange holds whose response does not come. It may be called again.
func (x *Exchange) Drop() {
	if h := x.held; h != nil {
		e := x.policy.engine.envelopes
		x.held, h.next, e.idle = nil, e.idle, h
	}
}

// unwrapCookies takes the application's values out of their envelopes, whatever becomes of the tokens: what a client
// says that its value is the backend sees, as it would without limpet. The first good token counts.
func (x *Exchange) unwrapCookies(h Request, now int64) {
	s, e := search{x: x, now: now}, x.policy.engine
	all := h.All()
	e.grow(all)
	for _, kv := range all {
		if kv[0] == "cookie" {
			start := len(e.buf)
			e.buf = s.unwrapLine(e.buf, kv[1])
			e.lines = append(e.lines, stringOf(e.buf[start:]))
		}
	}
	if s.seen > 0 {
		h.Remove("cookie")
		for _, line := range e.lines {
			h.Add("cookie", line)
		}
	}
	s.finish(h)
}

// unwrapLine appends a Cookie line with the values in the place of their envelopes. All else keeps every byte.
func (s *search) unwrapLine(dst []byte, line string) []byte {
	for rest := line; rest != ""; {
		name, value, after := nextCookie(rest)
		pair := rest[:len(rest)-len(after)]
		rest = after
		if name != s.x.policy.cfg.SessionName || !s.unwrap(value) {
			dst = append(dst, pair...)
			continue
		}
		at := strings.LastIndex(pair, value)
		dst = append(dst, pair[:at]...)
		dst = append(dst, s.x.policy.engine.envelopes.Value()...)
		dst = append(dst, pair[at+len(value):]...)
	}
	return dst
}

// unwrapHeader is unwrapCookies for a header. Of several values, which no client of a header session sends, the first
// that is an envelope is left.
func (x *Exchange) unwrapHeader(h Request, now int64) {
	s, name := search{x: x, now: now}, x.policy.headerName
	line, ok := h.Get(name)
	if ok && !s.unwrapElement(line) {
		for _, kv := range h.All() {
			if kv[0] == name && s.seen == 0 {
				s.unwrapElement(kv[1])
			}
		}
	}
	if s.seen > 0 {
		h.Set(name, stringOf(x.policy.engine.envelopes.Value()))
	}
	s.finish(h)
}

// unwrapElement opens the first envelope among the elements of a header's value.
func (s *search) unwrapElement(line string) bool {
	for line != "" {
		var one string
		one, line, _ = strings.Cut(line, ",")
		if s.unwrap(trim(one)) {
			return true
		}
	}
	return false
}

// unwrap opens an envelope, whose value is in the engine's memory then, and looks whether its token is good. It says
// false of what is no envelope: that is the application's own.
func (s *search) unwrap(text string) bool {
	p := s.x.policy
	tok, body, ok := token.CutEnvelope(text)
	e := p.engine.envelopes
	if !ok || !e.Decode(tok, body) || !sendable(e.Value(), p.cfg.Cookie != nil) || !sendable(e.Attributes(), false) {
		return false
	}
	s.seen++
	if s.entry != nil || s.tried == maxSignatures {
		return true
	}
	entry, verdict := p.authenticate(tok, s.now)
	switch verdict {
	case token.Malformed, token.UnknownKey, token.WrongScope:
	default:
		s.tried++
	}
	if verdict == token.Valid && !e.Signed(p.scope, entry.session, s.now) {
		verdict = token.BadSignature
	}
	if verdict != token.Valid {
		s.refuse(outcomeOf(verdict))
		return true
	}
	s.x.hold()
	s.x.written = entry.session.LastSeen
	s.takeAuthentic(entry)
	return true
}

// sendable tells whether bytes may stand in a header, or in a cookie's value: they may have come from anywhere.
func sendable(text []byte, cookie bool) bool {
	for _, c := range text {
		if c < ' ' && c != '\t' || c == 0x7f || cookie && c == ';' {
			return false
		}
	}
	return true
}
