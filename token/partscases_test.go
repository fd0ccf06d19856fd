package token

import (
	"math"
	"strings"
)

// allParts are what the vectors with parts say, unless they say otherwise.
var allParts = Parts{
	ID:      0x0102030405060708,
	Backend: BackendTag("Service/default/cart/8080"),
	Owner:   PodTag("5f0c2d9e-4a51-4c1b-9d0e-2f6b1a7c3e48"),
}

func parts(p Parts) func(*draft) { return func(d *draft) { d.parts = p } }

// with makes a case of a token with all parts, and then changes it.
func with(f func(*draft)) func(*draft) { return func(d *draft) { d.parts = allParts; f(d) } }

func inside(f func(body []byte)) func(*draft) { return with(func(d *draft) { d.inside = f }) }

func named(p Parts) Parts {
	p.Owner, p.Named = NameTag("StatefulSet/default/cart/cart-0"), true
	return p
}

// partsCases are parts as they should be, and how tokens with them are judged by dates, keys and rules.
var partsCases = []vectorCase{
	{"session id", parts(Parts{ID: allParts.ID}), Valid, 0},
	{"session id, lowest", parts(Parts{ID: 1}), Valid, 0},
	{"session id, highest", parts(Parts{ID: math.MaxUint64}), Valid, 0},
	{"session id, IPv6", with(func(d *draft) { d.parts = Parts{ID: allParts.ID}; d.host = "[2001:db8::1]:8080" }), Valid, 0},
	{"backend tag", parts(Parts{Backend: allParts.Backend}), Valid, 0},
	{"owner tag of a pod", parts(Parts{Owner: allParts.Owner}), Valid, 0},
	{"owner tag of a name", parts(named(Parts{})), Valid, 0},
	{"session id and backend tag", parts(Parts{ID: allParts.ID, Backend: allParts.Backend}), Valid, 0},
	{"session id and owner tag", parts(Parts{ID: allParts.ID, Owner: allParts.Owner}), Valid, 0},
	{"backend tag and owner tag", parts(Parts{Backend: allParts.Backend, Owner: allParts.Owner}), Valid, 0},
	{"all parts", with(same), Valid, 0},
	{"all parts, named", parts(named(allParts)), Valid, 0},
	{"all parts, revealed", with(func(d *draft) { d.reveal = true }), Valid, 0},
	{"all parts, IPv6", with(host("[2001:db8::1]:8080")), Valid, 0},
	{"all parts, IPv6, revealed", with(func(d *draft) { d.host = "[2001:db8::1]:8080"; d.reveal = true }), Valid, 0},
	{"all parts, key rotated", with(func(d *draft) { d.ring = "rotating" }), Valid, 0},
	{"all parts, idle timeout, exactly", with(func(d *draft) { d.now = d.seen + idle }), ExpiredIdle, 0},
	{"all parts, absolute timeout, exactly", with(func(d *draft) { d.now = noon + absolute; d.seen = d.now - 1 }), ExpiredAbsolute, 0},
	{"all parts, skew, one second beyond", with(func(d *draft) { d.now = d.seen - skew - 1 }), NotYetValid, 0},
	{"all parts, older epoch", with(func(d *draft) { d.epoch, d.rules.Epoch = 6, 7 }), Revoked, 0},
	{"all parts, another scope", with(func(d *draft) { d.scope = "other" }), WrongScope, 0},
	{"all parts, key of another ring", with(func(d *draft) { d.signedIn = "next" }), UnknownKey, 0},
	{"all parts, same id of the key, another secret", with(func(d *draft) { d.signedIn = "impostor" }), BadSignature, 0},
}

// partsLayoutCases are parts as they must not be; most of them are signed with the right key.
var partsLayoutCases = []vectorCase{
	{"version 2 with parts, signed", with(forge(func(raw []byte) { raw[offVersion] = 2 })), Malformed, badVersion},
	{"named without an owner, signed", func(d *draft) {
		d.parts = Parts{ID: 1}
		d.forge = func(raw []byte) { raw[offFlags] |= flagNamed }
	}, Malformed, badFlags},
	{"flag bit 6 with parts, signed", with(forge(func(raw []byte) { raw[offFlags] |= 1 << 6 })), Malformed, badFlags},
	{"flag bit 7 with parts, signed", with(forge(func(raw []byte) { raw[offFlags] |= 1 << 7 })), Malformed, badFlags},
	{"backend flag without its bytes, signed", func(d *draft) {
		d.parts = Parts{ID: 1}
		d.forge = func(raw []byte) { raw[offFlags] |= flagBackend }
	}, Malformed, badHostSize},
	{"IPv4 and all parts under the IPv6 flag, signed", with(forge(func(raw []byte) { raw[offFlags] |= flagIPv6 })), Malformed, badHostSize},
	{"session id of zeros, signed", inside(func(body []byte) { clear(body[:idLen]) }), Malformed, badParts},
	{"backend tag of zeros, signed", inside(func(body []byte) { clear(body[idLen : idLen+backendLen]) }), Malformed, badParts},
	{"owner tag of zeros, signed", inside(func(body []byte) { clear(body[idLen+backendLen : idLen+backendLen+ownerLen]) }), Malformed, badParts},
	{"session id of zeros, revealed, signed", revealed(inside(func(body []byte) { clear(body[:idLen]) })), Malformed, badParts},
	{"session id of zeros and port 0, signed", inside(func(body []byte) { clear(body) }), Malformed, badParts},
	{"port 0 with all parts, signed", with(rawHost(10, 0, 0, 1, 0, 0)), Malformed, badHost},
	{"IPv4-mapped with all parts, signed", with(rawHost6(net6(0, 0, 0, 0, 0, 0xffff, 0x0a00, 1), 80)), Malformed, badHost},
	{"last seen before issued with all parts, signed", with(func(d *draft) { d.seen = d.issued - 1 }), Malformed, badTimes},

	{"version 2 in place of 1", with(tamper(func(raw []byte) { raw[offVersion] = 2 })), Malformed, badVersion},
	{"all parts cut out", func(d *draft) { d.parts = allParts; d.text = cutParts }, BadSignature, 0},
	{"IPv6 in place of two tags", func(d *draft) {
		d.parts = Parts{Backend: 1, Owner: 1}
		d.tamper = func(raw []byte) { raw[offFlags] = flagHidden | flagIPv6 }
	}, BadSignature, 0},
	{"flipped id flag, all parts", with(tamper(flip(offFlags, 2))), Malformed, badHostSize},
	{"flipped named flag", with(tamper(flip(offFlags, 5))), BadSignature, 0},
	{"id and owner flags exchanged", func(d *draft) {
		d.parts = Parts{ID: 1}
		d.tamper = func(raw []byte) { raw[offFlags] ^= flagID | flagOwner }
	}, BadSignature, 0},
	{"flipped bit of the session id", with(tamper(flip(offBody, 0))), BadSignature, 0},
	{"flipped bit of the backend tag", with(tamper(flip(offBody+idLen, 0))), BadSignature, 0},
	{"flipped bit of the owner tag, revealed", revealed(with(tamper(flip(offBody+idLen+backendLen, 0)))), BadSignature, 0},

	{"all parts, one character short", with(text(func(s string) string { return s[:len(s)-1] })), Malformed, badLength},
	{"all parts, one character more", with(text(func(s string) string { return s + "A" })), Malformed, badLength},
	{"all parts, padded", with(text(func(s string) string { return s + "=" })), Malformed, badLength},
	{"all parts, spare bits", with(text(spareBits)), Malformed, badAlphabet},
	{"session id, spare bits", func(d *draft) { d.parts = Parts{ID: 1}; d.text = spareBits }, Malformed, badAlphabet},
	{"backend tag, spare bits", func(d *draft) { d.parts = Parts{Backend: 1}; d.text = spareBits }, Malformed, badAlphabet},
	{"longest length, of an IPv4 token drawn out", with(text(func(s string) string { return s + strings.Repeat("A", MaxLen-len(s)) })), Malformed, badHostSize},
	{"session id, cut to the length without parts", func(d *draft) {
		d.parts = Parts{ID: 1}
		d.text = func(s string) string { return s[:Len4] }
	}, Malformed, badHostSize},
}

// cutParts makes a token with all parts one without, without signing it again.
func cutParts(tok string) string {
	raw, err := base64URL.DecodeString(tok)
	if err != nil {
		panic(err)
	}
	flags := raw[offFlags]
	raw[offFlags] &= flagsHost
	return b64(append(raw[:offBody:offBody], raw[offBody+partsLen(flags):]...))
}
