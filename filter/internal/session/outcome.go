package session

import "github.com/limpet-proxy/limpet/token"

// Outcome is what became of one request's session. Each request with a policy has at most one.
type Outcome uint8

// The outcomes. Those from ExpiredAbsolute to Malformed mean that the client's token was void: the request was
// balanced like a new one.
const (
	// None: no token came and none was issued.
	None Outcome = iota
	// Fresh: no token came, one was issued ("new" in counters).
	NewSession
	// Pinned: the token held and the response came from its host.
	Pinned
	// Renewed: as Pinned, and the token was written again for its idle timeout or for a newer key.
	Renewed
	// Moved: the token held, but its host did not serve; another did.
	Moved
	// Ended: the backend ended the session (endSessionHeader).
	Ended
	// Failed: the token held, but the proxy itself had to answer for its host.
	Failed
	// Unpinned: no token came, and none could be issued, for the proxy did not say which host answered, or it is a Unix
	// socket.
	Unpinned
	ExpiredAbsolute
	ExpiredIdle
	NotYetValid
	BadSignature
	UnknownKey
	WrongScope
	Revoked
	// HostReused: the host was another pod's when the session came to it.
	HostReused
	Malformed
	// Outcomes is how many there are.
	Outcomes
)

var outcomeNames = [Outcomes]string{
	"none", "new", "pinned", "renewed", "moved", "ended", "failed", "unpinned",
	"expired-absolute", "expired-idle", "not-yet-valid", "bad-signature", "unknown-key", "wrong-scope", "revoked",
	"host-reused", "malformed",
}

// FewPolicies is up to how many policies a host has the proxy show all outcomes of each from the start.
const FewPolicies = 1000

// Counters are one more than the host's numbers of a policy's counters, one for each outcome and then one for each
// warning; 0 where it has none yet.
type Counters [int(Outcomes) + int(Warnings)]uint32

// String is the outcome's name in counters.
func (o Outcome) String() string { return outcomeNames[o] }

var outcomeCodes = [Outcomes]string{
	"-", "new", "pin", "ren", "mov", "end", "fai", "unp",
	"abs", "idl", "fut", "sig", "key", "scp", "rev", "own", "mal",
}

// Code is the outcome's three letters in access logs; "-" for None.
func (o Outcome) Code() string { return outcomeCodes[o] }

// Void tells whether the outcome says that the client's token was not accepted.
func (o Outcome) Void() bool { return o >= ExpiredAbsolute }

// outcomeOf turns the verdict on a refused token into an outcome.
func outcomeOf(v token.Verdict) Outcome {
	switch v {
	case token.ExpiredAbsolute:
		return ExpiredAbsolute
	case token.ExpiredIdle:
		return ExpiredIdle
	case token.NotYetValid:
		return NotYetValid
	case token.BadSignature:
		return BadSignature
	case token.UnknownKey:
		return UnknownKey
	case token.WrongScope:
		return WrongScope
	case token.Revoked:
		return Revoked
	case token.HostReused:
		return HostReused
	default:
		return Malformed
	}
}
