package token

// Verdict is what became of a token. The zero Verdict is none of the constants, so that a forgotten
// assignment never reads as Valid.
type Verdict uint8

// The verdicts, in the order of docs/token-format.md, and last the one that is no matter of the format. Only with Valid
// may the session be used.
const (
	Valid           Verdict = iota + 1
	ExpiredAbsolute         // older than the absolute timeout
	ExpiredIdle             // not seen for the idle timeout
	NotYetValid             // from the future, by more than the skew
	BadSignature            // the MAC is wrong
	UnknownKey              // signed with a key that is not in the ring, or retired
	WrongScope              // made for another scope
	Revoked                 // of another epoch, or begun before the policy's notBefore
	Malformed               // no token that this package could have made
	HostReused              // its host is another's by now: a [Judge] alone says so
)

var verdictNames = [...]string{
	Valid:           "valid",
	ExpiredAbsolute: "expired-absolute",
	ExpiredIdle:     "expired-idle",
	NotYetValid:     "not-yet-valid",
	BadSignature:    "bad-signature",
	UnknownKey:      "unknown-key",
	WrongScope:      "wrong-scope",
	Revoked:         "revoked",
	Malformed:       "malformed",
	HostReused:      "host-reused",
}

// String returns the verdict's name as counters, logs and test vectors spell it; "none" for the zero Verdict.
func (v Verdict) String() string {
	if v == 0 || int(v) >= len(verdictNames) {
		return "none"
	}
	return verdictNames[v]
}

// problem is why a token is malformed. Callers need one verdict only; the vectors name the reason, so that
// a second implementation refuses each of them for the same one.
type problem uint8

const (
	wellFormed  problem = iota
	badLength           // a number of characters that no token has
	badAlphabet         // not URL-safe base64
	badVersion          // a first byte that is no version
	badFlags            // a flag bit that has no meaning, or a named owner without the owner
	badHostSize         // the flags disagree with the length
	badTimes            // last seen before issued
	badHost             // port 0, or an address that has no canonical text
	badParts            // a part that is there and zero
)

var problemNames = [...]string{
	badLength:   "length",
	badAlphabet: "alphabet",
	badVersion:  "version",
	badFlags:    "flags",
	badHostSize: "host-size",
	badTimes:    "times",
	badHost:     "host",
	badParts:    "parts",
}

func (p problem) String() string { return problemNames[p] }
