package session

import (
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// Response issues, renews or takes away the client's token and returns the request's outcome. On the steady
// path (a pinned host answered, nothing is due) it reads two headers, one of them present, and writes none.
func (x *Exchange) Response(h Reply) Outcome {
	outcome := x.respond(h)
	switch {
	case x.debug:
		x.answer(h, outcome)
	case x.badTicket:
		x.answerBadTicket(h)
	}
	if x.held != nil {
		x.Drop()
	}
	return outcome
}

func (x *Exchange) respond(h Reply) Outcome {
	p := x.policy
	if !x.pinned {
		h.Prefetch()
	}
	host, chosen := x.chosen(h)
	status, _ := h.Get(":status")
	if (chosen || x.pinned || x.kept) && (status == p.failStatus || mayBeOwn(chosen, status, h)) &&
		h.CodeDetails() != viaUpstream {
		return x.notFromUpstream(h)
	}
	if p.cfg.OnHostLost != policyconfig.Fail && declined(status, h) {
		return x.leave(h)
	}
	if name := p.cfg.EndSessionHeader; name != "" {
		if _, ok := h.Get(name); ok {
			return x.end(h)
		}
	}
	if chosen {
		return x.begin(h, host)
	}
	if x.pinned {
		return x.keep(h)
	}
	if h.CodeDetails() != viaUpstream {
		return x.outcome
	}
	return x.unpinned(h, NoPin)
}

// mayBeOwn tells whether a response may be the proxy's own: only then are the code details worth their price. A strict
// policy's own status, which may be any from 400 on, is such a sign besides. Where a host
// was chosen the proxy may also blame the client (408, 413), before that host has said a word. Envoy answers gRPC
// with status 200 and headers alone.
func mayBeOwn(chosen bool, status string, h Reply) bool {
	return status >= "500" || chosen && status >= "400" || h.HeadersOnly() && hasHeader(h, "grpc-status")
}

// declined tells whether the host itself says that it can't serve: 503 (RFC 9110 section 15.6.4), as the sidecar of a
// dead application does too. With Retry-After it asks its clients to come back instead.
func declined(status string, h Reply) bool {
	return status == "503" && !hasHeader(h, "retry-after")
}

// leave ends the session on a host that can't serve; the next request is balanced again. No session begins there. A
// void token that kept the request in a backend goes too, or the next one would be sent there again.
func (x *Exchange) leave(h Reply) Outcome {
	if !x.pinned && !x.kept {
		return x.outcome
	}
	if x.policy.cfg.Envelope {
		x.unpin(h)
	} else {
		x.forget(h)
	}
	if !x.pinned {
		return x.outcome
	}
	return Failed
}

func hasHeader(h Headers, name string) bool {
	_, ok := h.Get(name)
	return ok
}

// notFromUpstream handles the proxy's own replies. None of them issues a token, for the host they name has not
// answered. Where the pinned host is the reason, the session can't go on: a strict policy answers its status,
// the others take the token away so that the next request is balanced again.
func (x *Exchange) notFromUpstream(h Reply) Outcome {
	if !x.pinned && !x.kept {
		return x.outcome
	}
	details := h.CodeDetails()
	misled := x.misled(details)
	if !hostFailed(details) && !misled {
		return x.outcome
	}
	if x.policy.cfg.OnHostLost == policyconfig.Fail {
		if (hostLost(details) || misled) && !hasHeader(h, "grpc-status") {
			h.Set(":status", x.policy.failStatus)
		}
		return Failed
	}
	return x.leave(h)
}

// hostFailed tells whether Envoy gave up on the upstream: no usable host, a reset, a time-out of the route
// ("response_timeout") or of one try ("upstream_per_try_timeout"). Replies of other filters (authorization, rate
// limits) do not end a session.
func hostFailed(details string) bool {
	return hostLost(details) || details == "response_timeout" || strings.HasPrefix(details, "upstream_")
}

// hostLost tells whether the host is gone, unhealthy or refuses, as opposed to too slow.
func hostLost(details string) bool {
	return strings.HasPrefix(details, "no_healthy_upstream") ||
		strings.HasPrefix(details, "upstream_reset_before_response_started")
}

// end is the backend's logout: the client's token is taken away. A void token had no session to end.
func (x *Exchange) end(h Reply) Outcome {
	x.forget(h)
	if x.outcome.Void() {
		return x.outcome
	}
	return Ended
}

// begin gives the client a token for the host that Envoy chose: it had none, a void one, or one whose host did
// not serve. A session that moves begins again, for whatever the lost host knew of it is lost; but its id stays.
func (x *Exchange) begin(h Reply, host token.Host) Outcome {
	if host == (token.Host{}) {
		if !x.atSocket {
			return x.outcome
		}
		return x.unpinned(h, UnixSocket)
	}
	now := h.Now()
	sess := token.Session{Host: host, IssuedAt: now, LastSeen: now, Epoch: x.policy.judge.Rules.Epoch}
	if x.pinned {
		sess.Parts.ID = x.session.Parts.ID
	}
	issued := x.issue(h, sess, now)
	if x.pinned {
		x.explainMove(h, host)
		return Moved
	}
	if issued && x.insecure {
		x.warn(h, InsecureCookie)
	}
	if x.outcome == None && issued {
		return NewSession
	}
	return x.outcome
}

// keep renews the token of a session that stays, when that was due as the request came, or when the token does not say
// all that the policy wants to know.
func (x *Exchange) keep(h Reply) Outcome {
	p := x.policy
	idle := p.renewAfter > 0 && x.now-x.session.LastSeen >= p.renewAfter
	due := idle || p.scope.Stale(x.session, x.now) || x.lacksParts(h)
	if !due && (!p.cfg.Envelope || !p.backendSpoke(h)) {
		return Pinned
	}
	now, sess := h.Now(), x.session
	sess.LastSeen = max(now, sess.LastSeen)
	if !x.issue(h, sess, now) {
		return Pinned
	}
	return Renewed
}

// chosen is the host that the proxy chose; no host, and true, where it has no name that a token can carry.
func (x *Exchange) chosen(h Reply) (host token.Host, ok bool) {
	text, ok := h.Chosen()
	if !ok {
		return token.Host{}, false
	}
	host, _ = token.ParseHostIn(x.policy.engine.host[:0], text) // no host where it fails
	x.atSocket = len(text) > 0 && (text[0] == '/' || text[0] == '@')
	return host, true
}
