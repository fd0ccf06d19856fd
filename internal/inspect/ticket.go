package inspect

import "github.com/limpet-proxy/limpet/token"

// ticketSkew is the filter's tolerance where a configuration does not say otherwise, in seconds.
const ticketSkew = 60

func (x *inspector) inspectTicket(f *Finding, text string) {
	peeked, _ := token.PeekTicket(text)
	ends, now := unixTime(peeked.Ends), x.At.Unix()
	f.Ends = &ends
	known := x.name(f, peeked)
	switch {
	case x.ring == nil || len(known) == 0:
		f.Verdicts = []Verdict{x.judgeUnknown(peeked.Key)}
	case x.scope(f.Scope.Name).Ticket(text, now, ticketSkew):
		f.Verified = true
		f.Verdicts = []Verdict{{Outcome: "answered", Reason: "its requests are told of sessions of its scope"}}
	case x.scope(f.Scope.Name).Ticket(text, peeked.Ends-1, ticketSkew):
		f.Verified = true
		f.Verdicts = []Verdict{{Outcome: "invalid", Reason: "it was good until " + formatTime(ends) + ", and for ten minutes before that"}}
	default:
		f.Verdicts = []Verdict{{Outcome: "invalid", Reason: "no key of the ring has signed it"}}
	}
}
