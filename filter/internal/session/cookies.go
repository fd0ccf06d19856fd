package session

import (
	"encoding/binary"
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// nextCookie cuts the first cookie-pair off a Cookie header's value. It trims white space around name and value
// and one pair of quotes around the value, as servers do (RFC 6265 §5.4 is what user agents send; odd
// clients send more).
func nextCookie(line string) (name, value, rest string) {
	pair, rest := line, ""
	if end := indexSemicolon(line); end >= 0 {
		pair, rest = line[:end], line[end+1:]
	}
	name, value, _ = strings.Cut(pair, "=")
	return trim(name), unquote(trim(value)), rest
}

// findCookie cuts a Cookie header's value behind the first cookie of that name, or of the other, which begins with it
// and is empty for none. Most cookies of a browser are other applications', and long: of those it reads the start of
// the name and then looks for the next.
func findCookie(line, want, other string) (value, rest string, found bool) {
	for line != "" {
		line = trimLeft(line)
		if !strings.HasPrefix(line, want) {
			end := indexSemicolon(line)
			if end < 0 {
				return "", "", false
			}
			line = line[end+1:]
			continue
		}
		var name string
		if name, value, line = nextCookie(line); name == want || other != "" && name == other {
			return value, line, true
		}
	}
	return "", "", false
}

// indexSemicolon is strings.IndexByte for a semicolon, eight bytes at a time.
func indexSemicolon(s string) int {
	const c, ones, tops = ';', 0x0101010101010101, 0x8080808080808080
	i, b := 0, bytesOf(s)
	for ; i+8 <= len(b); i += 8 {
		// A byte that is c becomes 0, and subtracting 1 from 0 sets its top bit.
		if word := binary.LittleEndian.Uint64(b[i:]) ^ ones*uint64(c); (word-ones)&^word&tops != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if b[i] == c {
			return i
		}
	}
	return -1
}

// trim removes spaces and tabs at both ends.
func trim(s string) string {
	s = trimLeft(s)
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

func trimLeft(s string) string {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	return s
}

func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// appendWithoutTokens appends the Cookie line to dst without the policy's cookies that look like a token, or without
// any session's, and tells whether there were any. The other cookies keep every byte. A backend's own cookie of the
// same name is not a token and stays.
func (p *Policy) appendWithoutTokens(dst []byte, line string, others bool) (_ []byte, found bool) {
	start := len(dst)
	for rest := line; rest != ""; {
		n, value, after := nextCookie(rest)
		if p.hasCookie(n) && token.Plausible(value) || others && hasSessionForm(value) {
			found = true
		} else {
			dst = append(dst, rest[:len(rest)-len(after)]...)
		}
		rest = after
	}
	if !found {
		return dst, false
	}
	kept := strings.TrimRight(trim(stringOf(dst[start:])), "; ")
	return append(dst[:start], kept...), true
}

// hasSessionForm tells whether a cookie's value is that of a session of limpet's, whichever: a token, or an envelope.
func hasSessionForm(value string) bool {
	_, _, envelope := token.CutEnvelope(value)
	return envelope || token.Plausible(value)
}

// hasCookie tells whether the policy's token may be in a cookie of that name.
func (p *Policy) hasCookie(name string) bool {
	return name == p.cfg.SessionName || p.crossSite != "" && name == p.crossSite
}

// stripCookies takes the session's tokens out of every Cookie line before the backend sees them. Where nothing
// else is left the backend gets no Cookie header at all.
func (e *Engine) stripCookies(h Headers, p *Policy) {
	if !e.collectCookies(h.All(), p, false) {
		return
	}
	h.Remove("cookie")
	for _, line := range e.lines {
		h.Add("cookie", line)
	}
}

// leaveCookies leaves the cookies without tokens where mirrors' requests get them from: without those of other rules'
// sessions too, whose cookies come with a request wherever its path is below theirs.
func (e *Engine) leaveCookies(h Request, p *Policy) {
	e.collectCookies(h.All(), p, true)
	h.Publish(policyconfig.MirrorFilterState, strings.Join(e.lines, "; "))
}

// collectCookies puts the Cookie lines without the session's tokens, or any session's, into lines, and tells whether
// there were any.
func (e *Engine) collectCookies(all [][2]string, p *Policy, others bool) (found bool) {
	e.grow(all)
	for _, kv := range all {
		if kv[0] != "cookie" {
			continue
		}
		start, had := len(e.buf), false
		if e.buf, had = p.appendWithoutTokens(e.buf, kv[1], others); len(e.buf) > start {
			e.lines = append(e.lines, stringOf(e.buf[start:]))
		}
		found = found || had
	}
	return found
}

// grow empties buf and lines and makes sure that they hold all Cookie lines, so that they never grow as they are
// filled.
func (e *Engine) grow(all [][2]string) { e.growFor(all, "cookie", 0) }

// growFor allocates for the lines of that name, and for some more bytes for each line and once.
func (e *Engine) growFor(all [][2]string, name string, more int) {
	bytes, lines := more, 0
	for _, kv := range all {
		if kv[0] == name {
			bytes, lines = bytes+len(kv[1])+more, lines+1
		}
	}
	if bytes > cap(e.buf) || lines > cap(e.lines) {
		e.proxy.lasting(true)
		e.buf = make([]byte, 0, max(cap(e.buf), 2*bytes))
		e.lines = make([]string, 0, max(cap(e.lines), 2*lines))
		e.proxy.lasting(false)
	}
	e.buf, e.lines = e.buf[:0], e.lines[:0]
}
