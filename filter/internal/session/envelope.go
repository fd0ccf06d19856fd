package session

import (
	"strconv"
	"strings"

	"github.com/limpet-proxy/limpet/token"
)

// envelopes is what an engine needs for policies with envelopes: the memory in which they are made and opened.
type envelopes struct {
	token.Envelope
	tok  [token.MaxLen]byte
	idle *held
}

// held is what a client's envelope held, from the request to its response: the cookie's attributes and the application's
// value, of an envelope that we signed.
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

// unwrapCookies takes the application's values out of their envelopes, whatever becomes of the tokens: what a client says
// that its value is the backend sees, as it would without limpet. The first good token counts.
func (x *Exchange) unwrapCookies(h Request, now int64) {
	s, e := search{x: x, now: now}, x.policy.engine
	all := h.All()
	e.room(all)
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

// unwrapHeader is unwrapCookies for a header. Of several values, which no client of a header session sends, the first that is
// an envelope is left.
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

// unwrap opens an envelope, whose value is in the engine's memory then, and looks whether its token is good. It says false of
// what is no envelope: that is the application's own.
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

// wrap has the response give the client an envelope for the session, with what the backend sets or, where it sets nothing,
// with what the client's last one held. It tells whether there is one.
func (x *Exchange) wrap(h Reply, sess token.Session, now int64) bool {
	p := x.policy
	spoke := p.backendSpoke(h)
	if !spoke && x.held == nil {
		return false
	}
	e := p.engine.envelopes
	x.describeHost(h, &sess)
	tok, ok := p.mint(e.tok[:0], &sess, now)
	if !ok {
		return false
	}
	x.id = sess.Parts.ID
	switch {
	case p.cfg.Cookie != nil && spoke:
		ok = p.wrapCookies(h, stringOf(tok), now)
	case p.cfg.Cookie != nil:
		ok = x.renewCookie(h, stringOf(tok), now)
	default:
		ok = x.wrapHeader(h, stringOf(tok), now)
	}
	if ok {
		limitCaching(h, p.cfg.Cache.Control)
	}
	return ok
}

// wrapCookies puts the backend's values of the session's cookie into envelopes. Those that are too long for one, or that take
// the cookie away, stay as they are.
func (p *Policy) wrapCookies(h Reply, tok string, now int64) (wrapped bool) {
	e, all := p.engine, h.All()
	e.roomFor(all, "set-cookie", token.MaxEnvelope)
	for _, kv := range all {
		if kv[0] != "set-cookie" {
			continue
		}
		start, done := len(e.buf), false
		if e.buf, done = p.wrapLine(e.buf, kv[1], tok, now); !done {
			e.buf = append(e.buf[:start], kv[1]...)
		}
		wrapped = wrapped || done
		e.lines = append(e.lines, stringOf(e.buf[start:]))
	}
	if !wrapped {
		return false
	}
	h.Remove("set-cookie")
	for _, line := range e.lines {
		h.Add("set-cookie", line)
	}
	return true
}

// wrapLine appends a Set-Cookie line with its value in an envelope, and its attributes as they are.
func (p *Policy) wrapLine(dst []byte, line, tok string, now int64) ([]byte, bool) {
	pair, attributes := line, ""
	if end := indexSemicolon(line); end >= 0 {
		pair, attributes = line[:end], line[end:]
	}
	name, value, _ := strings.Cut(pair, "=")
	value = trim(value)
	if trim(name) != p.cfg.SessionName || value == "" || !sendable(bytesOf(line), false) {
		return dst, false
	}
	if seconds, ok := maxAge(attributes); ok && seconds <= 0 {
		return dst, false
	}
	return p.appendEnvelope(dst, tok, attributes, value, now)
}

// appendEnvelope appends a Set-Cookie line.
func (p *Policy) appendEnvelope(dst []byte, tok, attributes, value string, now int64) ([]byte, bool) {
	dst = append(dst, p.cookieHead...)
	dst, err := p.engine.envelopes.Append(dst, p.scope, tok, attributes, value, now, token.MaxEnvelope-len(p.cfg.SessionName))
	return append(dst, attributes...), err == nil
}

// renewCookie sets the client's last envelope anew with another token. A cookie that lives for some time does not live longer
// for that.
func (x *Exchange) renewCookie(h Reply, tok string, now int64) bool {
	p, e := x.policy, x.policy.engine
	e.roomFor(nil, "", 3*token.MaxEnvelope)
	attributes, alive := appendAged(e.buf, x.held.attributes(), now-x.written)
	if !alive {
		return false
	}
	line, ok := p.appendEnvelope(attributes[len(attributes):], tok, stringOf(attributes), x.held.valueText(), now)
	if ok {
		h.Add("set-cookie", stringOf(line))
	}
	return ok
}

// appendAged appends a cookie's attributes as they are some seconds later; not alive if the client has no such cookie any more.
func appendAged(dst []byte, attributes string, seconds int64) (_ []byte, alive bool) {
	for rest := attributes; rest != ""; {
		var one string
		one, rest = nextAttribute(rest)
		if left, ok := maxAge(one); ok {
			if left -= seconds; left <= 0 {
				return dst, false
			}
			dst = strconv.AppendInt(append(dst, "; Max-Age="...), left, 10)
			continue
		}
		dst = append(dst, one...)
	}
	return dst, true
}

// nextAttribute cuts the first attribute off, with the semicolon before it.
func nextAttribute(attributes string) (one, rest string) {
	end := indexSemicolon(attributes[1:])
	if end < 0 {
		return attributes, ""
	}
	return attributes[:end+1], attributes[end+1:]
}

// maxAge is the last Max-Age among attributes, which counts.
func maxAge(attributes string) (seconds int64, found bool) {
	for rest := attributes; rest != ""; {
		var one string
		one, rest = nextAttribute(rest)
		name, value, _ := strings.Cut(one[1:], "=")
		if !strings.EqualFold(trim(name), "max-age") {
			continue
		}
		if n, err := strconv.ParseInt(trim(value), 10, 64); err == nil {
			seconds, found = n, true
		}
	}
	return seconds, found
}

// wrapHeader puts the backend's value of the session's header, or that of the client's last envelope, into an envelope.
func (x *Exchange) wrapHeader(h Reply, tok string, now int64) bool {
	p, e := x.policy, x.policy.engine
	value, spoke := h.Get(p.headerName)
	if !spoke {
		value = x.held.valueText()
	}
	if value == "" || !sendable(bytesOf(value), false) {
		return false
	}
	e.roomFor(nil, "", token.MaxEnvelope)
	line, err := e.envelopes.Append(e.buf, p.scope, tok, "", value, now, token.MaxEnvelope)
	if err != nil {
		return false
	}
	h.Set(p.headerName, stringOf(line))
	exposeHeader(h, p.cfg.SessionName)
	return true
}

// unpin gives the client its application's value without a pin: the host is lost, and the application's session need not be.
func (x *Exchange) unpin(h Reply) {
	p, e := x.policy, x.policy.engine
	if x.held == nil || p.backendSpoke(h) {
		return
	}
	limitCaching(h, forgetting(p.cfg.Cache.Control))
	if p.cfg.Cookie == nil {
		h.Set(p.headerName, x.held.valueText())
		exposeHeader(h, p.cfg.SessionName)
		return
	}
	e.roomFor(nil, "", 2*token.MaxEnvelope)
	line := append(append(e.buf, p.cookieHead...), x.held.valueText()...)
	if line, alive := appendAged(line, x.held.attributes(), x.now-x.written); alive {
		h.Add("set-cookie", stringOf(line))
	}
}

// appendRemoval appends what has the client forget the cookie of its last envelope, with the attributes that say which it is.
func (x *Exchange) appendRemoval(dst []byte) []byte {
	dst = append(dst, x.policy.cookieHead...)
	for rest := x.held.attributes(); rest != ""; {
		var one string
		one, rest = nextAttribute(rest)
		name, _, _ := strings.Cut(one[1:], "=")
		if name = trim(name); !strings.EqualFold(name, "max-age") && !strings.EqualFold(name, "expires") {
			dst = append(dst, one...)
		}
	}
	return append(dst, removal...)
}
