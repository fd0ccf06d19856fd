package session

import (
	"strconv"
	"strings"

	"github.com/limpet-proxy/limpet/token"
)

// wrap has the response give the client an envelope for the session, with what the backend sets or, where it sets
// nothing, with what the client's last one held. It tells whether there is one.
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

// wrapCookies puts the backend's values of the session's cookie into envelopes. Those that are too long for one, or
// that take the cookie away, stay as they are.
func (p *Policy) wrapCookies(h Reply, tok string, now int64) (wrapped bool) {
	e, all := p.engine, h.All()
	e.growFor(all, "set-cookie", token.MaxEnvelope)
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
	dst, err := p.engine.envelopes.Append(
		dst,
		p.scope,
		tok,
		attributes,
		value,
		now,
		token.MaxEnvelope-len(p.cfg.SessionName),
	)
	return append(dst, attributes...), err == nil
}

// renewCookie sets the client's last envelope again with another token. A cookie that lives for some time does not live
// longer for that.
func (x *Exchange) renewCookie(h Reply, tok string, now int64) bool {
	p, e := x.policy, x.policy.engine
	e.growFor(nil, "", 3*token.MaxEnvelope)
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

// appendAged appends a cookie's attributes as they are some seconds later; not alive if the client has no such cookie
// any more.
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
	e.growFor(nil, "", token.MaxEnvelope)
	line, err := e.envelopes.Append(e.buf, p.scope, tok, "", value, now, token.MaxEnvelope)
	if err != nil {
		return false
	}
	h.Set(p.headerName, stringOf(line))
	exposeHeader(h, p.cfg.SessionName)
	return true
}

// unpin gives the client its application's value without a pin: the host is lost, and the application's session need
// not be.
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
	e.growFor(nil, "", 2*token.MaxEnvelope)
	line := append(append(e.buf, p.cookieHead...), x.held.valueText()...)
	if line, alive := appendAged(line, x.held.attributes(), x.now-x.written); alive {
		h.Add("set-cookie", stringOf(line))
	}
}

// appendRemoval appends what has the client forget the cookie of its last envelope, with the attributes that say which
// it is.
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
