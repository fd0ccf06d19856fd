// Package token makes and checks limpet's signed session token: which host a client's session lives on,
// when it began and was last seen, bound to one policy scope by HMAC-SHA256. docs/token-format.md
// specifies the bytes; testdata/vectors.json holds examples with their verdicts.
//
// A [Ring] holds the keys, [Ring.Scope] derives a scope's own keys once, and the [Scope] then opens, checks
// and mints tokens. The package is pure: the clock and the randomness are passed in, all times are whole
// seconds of Unix time. It is built into limpet.wasm by TinyGo, so it imports nothing but the standard
// library and x/crypto, and neither checking nor minting a token allocates memory.
//
// No error and no String method of this package contains a secret.
package token

// Len4 and Len6 are the lengths of a token without parts, in characters, for a session on an IPv4 and on an IPv6 host.
// MaxLen is the longest token.
const (
	Len4   = 96
	Len6   = 112
	MaxLen = (rawMax*8 + 5) / 6
)

// Where the fields lie in a token's bytes. The parts and then the host start at offBody; the MAC follows.
const (
	offVersion  = 0
	offFlags    = 1
	offKeyTag   = 2
	offScopeTag = 6
	offIssuedAt = 10
	offLastSeen = 14
	offEpoch    = 18
	offNonce    = 22
	offBody     = offNonce + nonceLen

	nonceLen = 12
	macLen   = 32
	rawLen4  = offBody + hostLen4 + macLen
	rawLen6  = offBody + hostLen6 + macLen
	rawMax   = rawLen6 + idLen + backendLen + ownerLen
)

// version is the first byte of every token.
const version = 0x01

// The bits of the flags byte. All others are zero.
const (
	flagHidden  = 1 << 0 // the host, and what stands before it, is encrypted
	flagIPv6    = 1 << 1 // the host is an IPv6 address
	flagID      = 1 << 2 // there is a session id
	flagBackend = 1 << 3 // there is a backend tag
	flagOwner   = 1 << 4 // there is an owner tag
	flagNamed   = 1 << 5 // the owner tag is that of a name

	flagsHost  = flagHidden | flagIPv6
	flagsParts = flagID | flagBackend | flagOwner
	flagsKnown = flagsHost | flagsParts | flagNamed
)

// The lengths of the parts, which stand before the host in this order.
const (
	idLen      = 8
	backendLen = 4
	ownerLen   = 8
)

// Plausible reports whether tok has the length and the leading characters that every token has.
// It costs next to nothing; where it says false, [Scope.Open] says Malformed.
func Plausible(tok string) bool {
	// The version and the high four bits of the flags are the 12 bits 000000 01ffff, "AQ" to "Af"; the third character
	// starts with the low four bits of the flags, which give the length.
	if len(tok) < Len4 || tok[0] != 'A' {
		return false
	}
	high, ok := sextet(tok[1])
	low, known := sextet(tok[2])
	flags := high<<4 | low>>2
	return ok && known && high>>4 == version && knownFlags(flags) && len(tok) == textLen(rawLen(flags))
}

// sextet is the value of a character of URL-safe base64.
func sextet(c byte) (value byte, ok bool) {
	switch {
	case 'A' <= c && c <= 'Z':
		return c - 'A', true
	case 'a' <= c && c <= 'z':
		return c - 'a' + 26, true
	case '0' <= c && c <= '9':
		return c - '0' + 52, true
	case c == '-':
		return 62, true
	case c == '_':
		return 63, true
	}
	return 0, false
}

// knownFlags reports whether a token may have these flags: it says whose tag the owner tag is only where it has one.
func knownFlags(flags byte) bool {
	return flags&^flagsKnown == 0 && flags&(flagOwner|flagNamed) != flagNamed
}

// rawLen is the length of a token with these flags, in bytes.
func rawLen(flags byte) int { return offBody + partsLen(flags) + hostLen(flags) + macLen }

func hostLen(flags byte) int {
	if flags&flagIPv6 != 0 {
		return hostLen6
	}
	return hostLen4
}

func partsLen(flags byte) (n int) {
	if flags&flagsParts == 0 {
		return 0
	}
	if flags&flagID != 0 {
		n += idLen
	}
	if flags&flagBackend != 0 {
		n += backendLen
	}
	if flags&flagOwner != 0 {
		n += ownerLen
	}
	return n
}

// textLen is how many characters of base64 that many bytes take.
func textLen(raw int) int { return (raw*8 + 5) / 6 }

// knownLen reports whether a token can have that many characters.
func knownLen(n int) bool {
	switch n {
	case Len4, 102, 107, Len6, 118, 123, 128, 134, 139:
		return true
	}
	return false
}
