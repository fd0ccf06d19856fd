package session

import (
	"cmp"
	"encoding/binary"
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// issue puts a token for the session on the response, unless the policy or the backend is against it.
// It tells whether it did.
func (x *Exchange) issue(h Reply, sess token.Session, now int64) bool {
	p := x.policy
	if !x.mayIssue || x.meetsCaches(h) {
		return false
	}
	if p.cfg.Envelope {
		return x.wrap(h, sess, now)
	}
	if p.backendSpoke(h) {
		return false
	}
	x.describeHost(h, &sess)
	line, ok := p.mint(append(p.engine.buf[:0], p.cookieHead...), &sess, now)
	if !ok {
		return false
	}
	x.id = sess.Parts.ID
	if p.cfg.Cookie != nil {
		p.setCookies(h, line, sess, now)
	} else {
		h.Set(p.headerName, stringOf(line))
		exposeHeader(h, p.cfg.SessionName)
	}
	limitCaching(h, p.cfg.Cache.Control)
	return true
}

// describeHost notes in a session what else its policy goes by: the backend of its host, and whose address that is.
func (x *Exchange) describeHost(h Reply, sess *token.Session) {
	p := x.policy
	sess.Parts.Backend = 0
	if p.within {
		sess.Parts.Backend = cmp.Or(p.backendOf(h), x.led)
	}
	if p.judge.Owners != nil {
		p.judge.Owners.Mark(sess)
	}
}

// meetsCaches tells whether a shared cache may get hold of the response, and of a token on it, against the policy.
func (x *Exchange) meetsCaches(h Reply) bool {
	c := &x.policy.cfg.Cache
	return c.SkipCacheable && x.cacheableMethod && storable(h) || c.Control == policyconfig.CacheControlKeep && shared(h)
}

// setCookies sets the cookie whose line is begun with its name and token, and the second one with the same.
func (p *Policy) setCookies(h Reply, line []byte, sess token.Session, now int64) {
	size := len(line)
	h.Add("set-cookie", stringOf(p.appendAttributes(line, p.cookieTail, sess, now)))
	if p.crossSite == "" {
		return
	}
	head := len(p.cookieHead)
	shift := len(p.crossSite) + 1 - head
	line = line[:size+shift]
	copy(line[head+shift:], line[head:size])
	copy(line, p.crossSite)
	line[len(p.crossSite)] = '='
	h.Add("set-cookie", stringOf(p.appendAttributes(line, p.crossSiteTail, sess, now)))
}

// mint appends a token to dst, gives the session what that has and it lacked, and remembers it, for its next stop is
// very likely this worker. It fails only when every key of the ring has been retired; then requests are balanced as if
// there were no policy.
func (p *Policy) mint(dst []byte, sess *token.Session, now int64) ([]byte, bool) {
	e := p.engine
	e.proxy.Random(e.nonce[:])
	p.complete(&sess.Parts)
	start := len(dst)
	dst, err := p.scope.Append(dst, *sess, token.Minting{Now: now, Nonce: e.nonce, Reveal: p.cfg.RevealHost})
	if err != nil {
		return dst, false
	}
	e.cache.put(p.scopeID, stringOf(dst[start:]), p.scope.Signed(*sess, now))
	return dst, true
}

// complete gives the session its id.
func (p *Policy) complete(parts *token.Parts) {
	if parts.ID == 0 {
		id := p.engine.id[:]
		p.engine.proxy.Random(id)
		parts.ID = max(1, binary.BigEndian.Uint64(id)) // never zero, which is none
	}
}

// backendSpoke tells whether the backend set the session's cookie or header itself: then its word stands. A
// token in the session's header is only an echo of what the request carried.
func (p *Policy) backendSpoke(h Reply) bool {
	if p.cfg.Cookie == nil {
		value, ok := h.Get(p.headerName)
		return ok && (p.cfg.Envelope || !token.Plausible(value))
	}
	if !hasHeader(h, "set-cookie") {
		return false
	}
	for _, kv := range h.All() {
		if kv[0] == "set-cookie" {
			if name, _, _ := nextCookie(kv[1]); name == p.cfg.SessionName {
				return true
			}
		}
	}
	return false
}

// exposeHeader lets scripts of another origin read the session header, where the response allows them to read
// anything (Fetch, Access-Control-Expose-Headers). A "*" there does not hold for requests with credentials.
func exposeHeader(h Reply, name string) {
	if !hasHeader(h, "access-control-allow-origin") {
		return
	}
	exposed, ok := h.Get("access-control-expose-headers")
	for rest := exposed; rest != ""; {
		var one string
		one, rest, _ = strings.Cut(rest, ",")
		if strings.EqualFold(trim(one), name) {
			return
		}
	}
	if ok && exposed != "" {
		name = exposed + ", " + name
	}
	h.Set("access-control-expose-headers", name)
}

// limitCaching keeps shared caches from handing one client's token to another.
func limitCaching(h Reply, control policyconfig.CacheControl) {
	switch control {
	case policyconfig.CacheControlNoStore:
		h.Set("cache-control", "no-store")
	case policyconfig.CacheControlPrivate:
		current, _ := h.Get("cache-control")
		h.Set("cache-control", privately(current))
	}
}
