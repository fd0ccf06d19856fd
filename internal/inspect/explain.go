package inspect

import (
	"fmt"
	"time"

	"github.com/limpet-proxy/limpet/filter/judge"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

const unknownKey = "no key of the ring that verifies then has signed it"

// explain says why the filter comes to an outcome.
func (x *inspector) explain(of *policyconfig.Policy, outcome, host string, kind Kind, session *token.Session) string {
	switch outcome {
	case judge.Pinned:
		return x.explainPinned(of, host, session)
	case token.ExpiredAbsolute.String():
		return explainTimeout("absoluteTimeout", of.AbsoluteTimeout, session.IssuedAt)
	case token.ExpiredIdle.String():
		return explainTimeout("idleTimeout", of.IdleTimeout, session.LastSeen)
	case token.NotYetValid.String():
		return "its times are ahead by more than the clocks of proxies may differ"
	case token.BadSignature.String():
		return "it was changed, or the key of that id is another one"
	case token.UnknownKey.String():
		return unknownKey
	case token.Revoked.String():
		return explainRevoked(of, session)
	case token.HostReused.String():
		return "its host's address has passed to another pod"
	case token.Malformed.String():
		if kind == Envelope {
			return "the policy has no envelopes"
		}
		return "it is none that limpet made"
	}
	return "the policy has envelopes: what is in none is the application's own"
}

func explainTimeout(name string, timeout policyconfig.Duration, since int64) string {
	return fmt.Sprintf("%s %s is over since %s", name, timeout, formatTime(unixTime(since+int64(timeout))))
}

func explainRevoked(of *policyconfig.Policy, session *token.Session) string {
	switch r := of.Revocation; {
	case session.Epoch != r.Epoch:
		return fmt.Sprintf("its epoch is %d, and that of the policy's revocation %d", session.Epoch, r.Epoch)
	case session.IssuedAt < int64(r.NotBefore):
		return fmt.Sprintf("it began before %s, the policy's revocation.notBefore", r.NotBefore)
	}
	return "the policy's revocation has it among its sessions, or its host or backend among those"
}

// explainPinned says where the session goes on, and what becomes of it if its host is not there.
func (x *inspector) explainPinned(of *policyconfig.Policy, host string, session *token.Session) string {
	text := "to " + host
	if host != session.Host.String() {
		text += ", where its pod is by now"
	}
	if x.Sessions == nil || x.hosts.isThere(host) {
		return text
	}
	text += ", which no EndpointSlice of the input has serving: where it is gone "
	if of.OnHostLost == policyconfig.Fail {
		return text + fmt.Sprintf("the request gets %d (host-gone)", of.FailStatus)
	}
	return text + "the session moves (host-gone)"
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
