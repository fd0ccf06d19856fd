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

// Len4 and Len6 are the lengths of a token, in characters, for a session on an IPv4 and on an IPv6 host.
// There are no others. Both stand for a multiple of three bytes, so base64 leaves no spare bits.
const (
	Len4   = 96
	Len6   = 112
	MaxLen = Len6
)

// Where the fields lie in a token's bytes. The host starts at offHost and the MAC follows it.
const (
	offVersion  = 0
	offFlags    = 1
	offKeyTag   = 2
	offScopeTag = 6
	offIssuedAt = 10
	offLastSeen = 14
	offEpoch    = 18
	offNonce    = 22
	offHost     = offNonce + nonceLen

	nonceLen = 12
	macLen   = 32
	rawLen4  = offHost + hostLen4 + macLen
	rawLen6  = offHost + hostLen6 + macLen
	rawMax   = rawLen6
)

// version is the first byte of every token.
const version = 0x01

// The bits of the flags byte. All others are zero.
const (
	flagHidden = 1 << 0 // the host is encrypted
	flagIPv6   = 1 << 1 // the host is an IPv6 address
	flagsKnown = flagHidden | flagIPv6
)

// Plausible reports whether tok has the length and the leading characters that every token has.
// It costs next to nothing; where it says false, [Scope.Open] says Malformed.
func Plausible(tok string) bool {
	// Version 1 and flags below 4 are the 12 bits 000000 010000, "AQ"; the third character starts with the
	// low four bits of the flags, whose IPv6 bit goes with the length.
	switch len(tok) {
	case Len4:
		return tok[0] == 'A' && tok[1] == 'Q' && 'A' <= tok[2] && tok[2] <= 'H'
	case Len6:
		return tok[0] == 'A' && tok[1] == 'Q' && 'I' <= tok[2] && tok[2] <= 'P'
	}
	return false
}
