package session

import (
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// maxSignatures is how many values of the session's name have their signature checked in one request. A browser sends
// two or three at the most (several paths); more are an attack on the worker's time.
const maxSignatures = 4

// Exchange is what must be remembered of a request until its response comes. The zero value is ready; it may
// be used again after the stream has ended.
type Exchange struct {
	policy *Policy
	// session is what the token said, where pinned.
	session token.Session
	pinned  bool
	// followed says that the session's pod is at another address than the token says: session has it.
	followed bool
	// kept says that the request goes to the session's backend, on its host or on another one.
	kept bool
	// led is the tag of the backend that it was led to: the cluster there may be one that leads do not name, which several
	// routes share.
	led uint32
	// outcome of the request phase: None, or why the client's token is void.
	outcome Outcome
	// mayIssue is whether the request is one that tokens are issued for.
	mayIssue bool
	// now is when the request came, in seconds since the Unix epoch.
	now int64
	// cacheableMethod is whether the method is GET or HEAD, whose responses caches store; known where the policy asks.
	cacheableMethod bool
	// debug is whether the client has a ticket and so gets headers that say what becomes of the session.
	debug bool
	// badTicket is whether the client has one that can't be verified.
	badTicket bool
	// held is what the client's envelope held, nil for none; written is when that was made.
	held    *held
	written int64
	// insecure is whether a Secure cookie would be lost on the client, which came over plain HTTP.
	insecure bool
	// atSocket is whether a Unix socket answered.
	atSocket bool
	// id is that of the session that the response leaves the client in, if it has one.
	id uint64
}

// Request looks for the session's token, pins its host and prepares what the backend sees. now is in seconds
// since the Unix epoch. It returns the outcome as far as it is known: why a token is void, or None.
func (x *Exchange) Request(p *Policy, h Request, now int64) Outcome {
	*x = Exchange{policy: p, now: now}
	if !p.warm {
		p.heat()
	}
	switch {
	case p.cfg.Envelope:
		x.unwrap(h, now)
	case p.cfg.Cookie != nil:
		x.fromCookies(h, now)
	default:
		x.fromHeader(h, now)
	}
	if p.leads != nil && !x.kept {
		h.Lead("")
	}
	if !x.pinned {
		h.Balance()
		x.insecure = p.secure && insecure(h)
	}
	if p.engine.tickets {
		x.readTicket(h)
	}
	x.mayIssue = x.issuing(h)
	return x.outcome
}

// issuing tells whether the response to this request may carry a token. A header that is not there costs a tenth of one
// that is, so it looks at the method last.
func (x *Exchange) issuing(h Headers) bool {
	cfg := x.policy.cfg
	if !x.pinned && preflight(h) {
		return false
	}
	if cfg.Cache.SkipCacheable || cfg.Cache.UnsafeMethodsOnly {
		method, _ := h.Get(":method")
		x.cacheableMethod = method == "GET" || method == "HEAD"
		if cfg.Cache.UnsafeMethodsOnly && safeMethod(method) {
			return false
		}
	}
	if cfg.IssueOn == policyconfig.IssueOnTLS {
		proto, _ := h.Get("x-forwarded-proto")
		return proto == "https"
	}
	return true
}

// preflight recognises a CORS preflight: it carries no credentials, and so no token, and its response reaches no
// application, so a session begun by it would be lost at once.
func preflight(h Headers) bool {
	if !hasHeader(h, "access-control-request-method") || !hasHeader(h, "origin") {
		return false
	}
	method, _ := h.Get(":method")
	return method == "OPTIONS"
}

// safeMethod is RFC 9110 §9.2.1.
func safeMethod(m string) bool {
	return m == "GET" || m == "HEAD" || m == "OPTIONS" || m == "TRACE"
}

// fromCookies looks for the token among the cookies.
func (x *Exchange) fromCookies(h Request, now int64) {
	s := search{x: x, now: now}
	s.header(h, "cookie")
	if !x.policy.cfg.Forward && s.seen > 0 {
		x.policy.engine.stripCookies(h, x.policy)
	}
	if x.policy.cfg.Mirrored {
		x.policy.engine.leaveCookies(h, x.policy)
	}
}

// unwrap looks for the token in envelopes.
func (x *Exchange) unwrap(h Request, now int64) {
	x.policy.engine.prepareEnvelopes()
	if x.policy.cfg.Cookie != nil {
		x.unwrapCookies(h, now)
	} else {
		x.unwrapHeader(h, now)
	}
}

// fromHeader looks for the token in the session header. Proxies may join lines of one name with commas (RFC 9110 §5.3),
// and empty elements are none (§5.6.1).
func (x *Exchange) fromHeader(h Request, now int64) {
	s := search{x: x, now: now}
	if s.header(h, x.policy.headerName) && !x.policy.cfg.Forward {
		h.Remove(x.policy.headerName)
	}
}

// search goes through the values that may be the session's token; the first valid one counts.
type search struct {
	x     *Exchange
	now   int64
	seen  int // values of the session's name
	tried int // of those, the ones whose signature was looked at
	entry *cacheEntry
	host  token.Host // where the session of the entry goes on
	void  Outcome
	// backend is that of a session whose host is another pod's by now, 0 for none.
	backend uint32
}

// header tries the first line of that name, where nearly every client has its token, and the others only when that
// one holds none: HTTP/1.1 clients may send several, and reading all lines is expensive. It tells whether there is one.
func (s *search) header(h Request, name string) bool {
	line, ok := h.Get(name)
	if !ok {
		return false
	}
	s.line(line)
	if s.entry == nil {
		s.otherLines(h, name)
	}
	s.finish(h)
	return true
}

func (s *search) otherLines(h Headers, name string) {
	first := true
	for _, kv := range h.All() {
		if kv[0] != name {
			continue
		}
		if !first {
			s.line(kv[1])
		}
		first = false
	}
}

func (s *search) line(value string) {
	if s.x.policy.cfg.Cookie != nil {
		s.cookieLine(value)
	} else {
		s.headerLine(value)
	}
}

func (s *search) cookieLine(line string) {
	p := s.x.policy
	for line != "" && s.entry == nil {
		var value string
		var found bool
		if value, line, found = findCookie(line, p.cfg.SessionName, p.crossSite); found {
			s.candidate(value)
		}
	}
}

func (s *search) headerLine(value string) {
	for value != "" && s.entry == nil {
		var one string
		one, value, _ = strings.Cut(value, ",")
		if one = trim(one); one != "" {
			s.candidate(one)
		}
	}
}

// candidate verifies one value. What is no token of this scope and these keys is seen without cryptography, and any
// number of such values is skipped: a cookie that a neighbouring site plants ends no session. Signatures are checked of
// the first few others. What was verified before counts as if it were not, so that no answer depends on the cache.
func (s *search) candidate(value string) {
	s.seen++
	if !token.Plausible(value) || s.tried == maxSignatures {
		s.refuse(Malformed)
		return
	}
	p := s.x.policy
	entry, verdict := p.authenticate(value, s.now)
	switch verdict {
	case token.Malformed, token.UnknownKey, token.WrongScope:
	default:
		s.tried++
	}
	if verdict != token.Valid {
		s.refuse(outcomeOf(verdict))
		return
	}
	s.takeAuthentic(entry)
}

// takeAuthentic takes an authentic token, unless the policy's rules, or whose its host is by now, make it void.
func (s *search) takeAuthentic(entry *cacheEntry) {
	p := s.x.policy
	host, verdict := p.judge.Judge(p.scope, &entry.session, s.now)
	switch verdict {
	case token.Valid:
		s.entry, s.host = entry, host
		return
	case token.HostReused:
		s.backend = entry.session.Parts.Backend
	}
	s.refuse(outcomeOf(verdict))
}

// refuse keeps the most telling reason: a token that is too old says more than rubbish in the same request.
func (s *search) refuse(o Outcome) {
	if s.void == None || s.void == Malformed {
		s.void = o
	}
}

// finish pins the host of the valid token, or records why there is none.
func (s *search) finish(h Request) {
	if s.entry == nil {
		s.x.outcome = s.void
		if s.void == HostReused && s.x.policy.within {
			s.x.stayWithin(h, s.backend)
		}
		return
	}
	s.x.pinned = true
	s.x.session = s.entry.session
	pin := s.entry.pinText()
	if s.host != s.x.session.Host {
		s.x.session.Host, s.x.followed, pin = s.host, true, s.x.policy.engine.pinText(s.host)
	}
	h.Pin(pin, s.x.policy.strict)
	if s.x.policy.within {
		s.x.stayWithin(h, s.entry.session.Parts.Backend)
	}
}

// authenticate opens a token, or finds it among those opened before.
func (p *Policy) authenticate(tok string, now int64) (*cacheEntry, token.Verdict) {
	if e := p.engine.cache.get(p.scopeID, tok); e != nil {
		return e, token.Valid
	}
	sess, verdict := p.scope.Open(tok, now)
	if verdict != token.Valid {
		return nil, verdict
	}
	return p.engine.cache.put(p.scopeID, tok, sess), token.Valid
}
