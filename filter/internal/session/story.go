package session

import (
	"strconv"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Why a session is not on the host that its token names. The outcome says why a token is void.
const (
	hostGone     = "host-gone"     // it is not there, or not healthy, or takes no such requests
	hostRefused  = "host-refused"  // it was tried, and took no connection or reset it
	hostSilent   = "host-timeout"  // it did not answer in time
	hostDeclined = "host-declined" // it answered 503
)

// reason tells why the session moved, or had to end.
func (x *Exchange) reason(o Outcome, h Reply) string {
	switch o {
	case Moved:
		if h.Attempts() > 1 {
			return hostRefused
		}
		return hostGone
	case Failed:
		return failure(h.CodeDetails())
	}
	return ""
}

func failure(details string) string {
	switch {
	case details == viaUpstream:
		return hostDeclined
	case details == "response_timeout" || details == "upstream_per_try_timeout":
		return hostSilent
	case hostLost(details) && details[0] == 'n':
		return hostGone
	}
	return hostRefused
}

// readTicket looks for a ticket, which no backend sees.
func (x *Exchange) readTicket(h Headers) {
	ticket, ok := h.Get(policyconfig.TicketHeader)
	if ok {
		x.debug = x.policy.scope.Ticket(ticket, x.now, x.policy.judge.Rules.Skew)
		x.badTicket = !x.debug
		h.Remove(policyconfig.TicketHeader)
	}
}

// answer tells a client with a ticket what became of the session. No cache keeps it.
func (x *Exchange) answer(h Reply, o Outcome) {
	e := x.policy.engine
	reason := x.reason(o, h)
	b := append(append(e.buf[:0], "outcome="...), o.String()...)
	if reason != "" {
		b = append(append(b, "; reason="...), reason...)
	}
	b = append(append(b, "; policy="...), x.policy.Name...)
	if x.pinned {
		b = strconv.AppendInt(append(b, "; age="...), x.age(), 10)
	}
	h.Set(policyconfig.AnswerHeader, stringOf(b))
	h.Set("cache-control", "no-store")
}

// badTicketAnswer is the whole answer to a ticket that can't be verified: no reason, no key and no policy.
const badTicketAnswer = "ticket=invalid"

// answerBadTicket says so, lest it look as if nobody read tickets.
func (x *Exchange) answerBadTicket(h Reply) {
	h.Set(policyconfig.AnswerHeader, badTicketAnswer)
	h.Set("cache-control", "no-store")
}

// age is how long ago the session of a good token began, in seconds.
func (x *Exchange) age() int64 { return max(0, x.now-x.session.IssuedAt) }

// Publish sets a request's values for access logs and traces. Unknown ones are left out.
func (x *Exchange) Publish(o Outcome, h Reply, digest bool, publish func(key, value string)) {
	p := x.policy
	publish(policyconfig.NameFilterState, o.String())
	publish(policyconfig.PolicyFilterState, p.Name)
	if reason := x.reason(o, h); reason != "" {
		publish(policyconfig.ReasonFilterState, reason)
	}
	buffer := p.engine.buf[:0]
	if x.pinned {
		publish(policyconfig.AgeFilterState, stringOf(strconv.AppendInt(buffer, x.age(), 10)))
		publish(policyconfig.HostFilterState, stringOf(x.session.Host.AppendText(buffer)))
	}
	if id := x.sessionID(); digest && id != 0 {
		publish(policyconfig.SessionFilterState, stringOf(p.scope.AppendDigest(buffer, id, x.now)))
	}
}

// sessionID is that of the session that the request leaves the client in; 0 if there is none, or it has no id.
func (x *Exchange) sessionID() uint64 {
	if x.id == 0 && x.pinned {
		return x.session.Parts.ID
	}
	return x.id
}
