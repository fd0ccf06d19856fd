package session

import (
	"strconv"
	"strings"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// cookieAttributes writes the attributes that never change, in the order of RFC 6265bis §4.1.1.
func cookieAttributes(c *policyconfig.Cookie) string {
	var b strings.Builder
	if c.Domain != "" {
		b.WriteString("; Domain=" + c.Domain)
	}
	if c.Path != "" {
		b.WriteString("; Path=" + c.Path)
	}
	if c.Secure {
		b.WriteString("; Secure")
	}
	if c.HTTPOnly {
		b.WriteString("; HttpOnly")
	}
	b.WriteString("; SameSite=" + string(c.SameSite))
	if c.Partitioned {
		b.WriteString("; Partitioned")
	}
	for _, a := range c.Attributes {
		b.WriteString("; " + a)
	}
	return b.String()
}

// crossSiteAttributes are those of the second cookie: what browsers ask of one in a frame of another site.
func crossSiteAttributes(c *policyconfig.Cookie) string {
	own := *c
	own.SameSite, own.Partitioned = policyconfig.SameSiteNone, true
	return cookieAttributes(&own)
}

// appendAttributes completes a Set-Cookie line that ends with the token. A permanent cookie lives as long as the
// session may (GEP-1619: Expires and Max-Age equal the absolute timeout), counted from the session's start.
func (p *Policy) appendAttributes(line []byte, tail string, sess token.Session, now int64) []byte {
	line = append(line, tail...)
	if p.permanent {
		line = appendLifetime(line, sess.IssuedAt+p.judge.Rules.AbsoluteTimeout-now, now)
	}
	return line
}

// forget tells the client to forget its token, unless the backend said something of its own. A cookie is removed; a
// header is sent empty, and a client that sends it back so is balanced like a new one. Shared caches may not store such
// a response, whatever the policy says of others: what they hand out would end the sessions of clients that asked for
// nothing of the kind.
func (x *Exchange) forget(h Reply) {
	p := x.policy
	if !x.pinned && x.outcome == None || p.backendSpoke(h) {
		return
	}
	limitCaching(h, forgetting(p.cfg.Cache.Control))
	if p.cfg.Cookie == nil {
		h.Set(p.headerName, "")
		exposeHeader(h, p.cfg.SessionName)
		return
	}
	if p.cfg.Envelope {
		if x.held != nil {
			p.engine.growFor(nil, "", 2*token.MaxEnvelope)
			h.Add("set-cookie", stringOf(x.appendRemoval(p.engine.buf)))
		}
		return
	}
	p.removeCookie(h, p.cookieHead, p.cookieTail)
	if p.crossSite != "" {
		p.removeCookie(h, p.crossSite+"=", p.crossSiteTail)
	}
}

const removal = "; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT"

// forgetting is what a policy for responses with a token comes to for one that takes the token away.
func forgetting(control policyconfig.CacheControl) policyconfig.CacheControl {
	if control == policyconfig.CacheControlNoStore {
		return control
	}
	return policyconfig.CacheControlPrivate
}

// removeCookie needs the same name, Domain and Path, and Partitioned and Secure where they were set, or browsers keep
// the cookie.
func (p *Policy) removeCookie(h Reply, head, tail string) {
	b := append(p.engine.buf[:0], head...)
	b = append(b, tail...)
	b = append(b, removal...)
	h.Add("set-cookie", stringOf(b))
}

// longestLine is how long a token's line gets at the most, so that none of them needs memory of its own.
func (p *Policy) longestLine() int {
	const lifetime = len("; Max-Age=-9223372036854775808; Expires=Sat, 21 Nov 2026 12:00:00 GMT")
	return max(
		len(p.cookieHead),
		len(p.crossSite)+1,
	) + token.MaxLen + max(
		len(p.cookieTail),
		len(p.crossSiteTail),
	) + lifetime
}

// appendLifetime adds Max-Age and the Expires that agrees with it.
func appendLifetime(b []byte, seconds, now int64) []byte {
	b = append(b, "; Max-Age="...)
	b = strconv.AppendInt(b, seconds, 10)
	b = append(b, "; Expires="...)
	return time.Unix(now+seconds, 0).UTC().AppendFormat(b, "Mon, 02 Jan 2006 15:04:05 GMT")
}
