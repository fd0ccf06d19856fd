package inspect

import (
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

func (x *inspector) inspectTicket(f *Finding, text string) {
	peeked, _ := token.PeekTicket(text)
	ends, now := unixTime(peeked.Ends), x.At.Unix()
	skew := int64(policyconfig.DefaultConfig().ClockSkew) // the judge's of tokens, too
	f.Ends = &ends
	known := x.name(f, peeked)
	switch {
	case x.ring == nil || len(known) == 0:
		f.Verdicts = []Verdict{x.judgeUnknown(peeked.Key)}
	case x.scope(f.Scope.Name).Ticket(text, now, skew):
		f.Verified = true
		f.Verdicts = []Verdict{{Outcome: "answered", Reason: "its requests are told of sessions of its scope"}}
	case x.scope(f.Scope.Name).Ticket(text, peeked.Ends-1, skew):
		f.Verified = true
		f.Verdicts = []Verdict{
			{Outcome: "invalid", Reason: "it was good until " + formatTime(ends) + ", and for ten minutes before that"},
		}
	default:
		f.Verdicts = []Verdict{{Outcome: "invalid", Reason: "no key of the ring has signed it"}}
	}
}
