package token

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
)

// The policy of the cases, unless they say otherwise.
const (
	absolute = 8 * 3600
	idle     = 1800
	skew     = 60
)

// vectorCase is a vector to be made. change starts from a case that is valid: see newDraft.
type vectorCase struct {
	name    string
	change  func(*draft)
	verdict Verdict
	reason  problem
}

func same(*draft) {}

func host(text string) func(*draft) { return func(d *draft) { d.host = text } }

var validCases = []vectorCase{
	{"hidden IPv4", same, Valid, 0},
	{"hidden IPv6", host("[2001:db8::1]:8080"), Valid, 0},
	{"revealed IPv4", func(d *draft) { d.reveal = true }, Valid, 0},
	{"revealed IPv6", func(d *draft) { d.host = "[2001:db8::1]:8080"; d.reveal = true }, Valid, 0},
	{"lowest IPv4 and port", host("0.0.0.0:1"), Valid, 0},
	{"highest IPv4 and port", host("255.255.255.255:65535"), Valid, 0},
	{"IPv6 unspecified", host("[::]:80"), Valid, 0},
	{"IPv6 loopback", host("[::1]:80"), Valid, 0},
	{"IPv6 highest below the embedded ones", host("[::ffff]:80"), Valid, 0},
	{"IPv6 just above the IPv4-mapped ones", host("[::1:0:0:0]:80"), Valid, 0},
	{"IPv6 highest", host("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"), Valid, 0},
	{"IPv6 first of two equal runs of zeros", host("[2001:db8::1:0:0:1]:80"), Valid, 0},
	{"IPv6 longer of two runs of zeros", host("[2001:0:0:1::1]:80"), Valid, 0},
	{"IPv6 single zero group", host("[2001:db8:0:1:1:1:1:1]:80"), Valid, 0},
	{"IPv6 zeros at the end", host("[2001:db8::]:80"), Valid, 0},
	{"scope outside of ASCII", func(d *draft) { d.setScope("HTTPRoute/défaut/車/rule/0") }, Valid, 0},
	{"scope of 512 bytes", func(d *draft) { d.setScope(strings.Repeat("a", 512)) }, Valid, 0},
	{"secret of one block", func(d *draft) { d.setRing("block") }, Valid, 0},
	{"secret longer than a block", func(d *draft) { d.setRing("long") }, Valid, 0},
}

var timeCases = []vectorCase{
	{"seen when issued", func(d *draft) { d.seen = d.issued }, Valid, 0},
	{"no timeouts, ten years later", func(d *draft) { d.now += 10 * 365 * 86400; d.noTimeouts() }, Valid, 0},
	{"absolute timeout, one second before", func(d *draft) { d.now = noon + absolute - 1; d.seen = d.now }, Valid, 0},
	{"absolute timeout, exactly", func(d *draft) { d.now = noon + absolute; d.seen = d.now - 1 }, ExpiredAbsolute, 0},
	{"absolute timeout, a year later", func(d *draft) { d.now += 365 * 86400; d.rules.IdleTimeout = 0 }, ExpiredAbsolute, 0},
	{"idle timeout, one second before", func(d *draft) { d.now = d.seen + idle - 1 }, Valid, 0},
	{"idle timeout, exactly", func(d *draft) { d.now = d.seen + idle }, ExpiredIdle, 0},
	{"idle timeout alone", func(d *draft) { d.now = d.seen + idle; d.rules.AbsoluteTimeout = 0 }, ExpiredIdle, 0},
	{"idle timeout is counted from last seen", func(d *draft) { d.now = noon + 2*idle; d.seen = d.now - idle + 1 }, Valid, 0},
	{"both timeouts", func(d *draft) { d.now += 365 * 86400 }, ExpiredAbsolute, 0},
	{"skew, exactly", func(d *draft) { d.now = d.seen - skew }, Valid, 0},
	{"skew, one second beyond", func(d *draft) { d.now = d.seen - skew - 1 }, NotYetValid, 0},
	{"skew, issued in the future", func(d *draft) { d.now = noon - skew; d.seen = noon }, Valid, 0},
	{"skew, issued beyond it", func(d *draft) { d.now = noon - skew - 1; d.seen = noon }, NotYetValid, 0},
	{"no skew, same second", func(d *draft) { d.now = d.seen; d.rules.Skew = 0 }, Valid, 0},
	{"no skew, one second ahead", func(d *draft) { d.now = d.seen - 1; d.rules.Skew = 0 }, NotYetValid, 0},
	{"future token does not expire early", func(d *draft) { d.now = noon - 30; d.seen = noon; d.shortTimeouts(10) }, Valid, 0},
	{"future token beyond both timeouts from issue", func(d *draft) { d.now = noon + 10; d.seen = noon + 100; d.shortTimeouts(10) }, NotYetValid, 0},
	{"times zero", func(d *draft) { d.issued, d.seen, d.now = 0, 0, 0 }, Valid, 0},
	{"last second of 32 bits", func(d *draft) { d.issued, d.seen, d.now = math.MaxUint32, math.MaxUint32, math.MaxUint32 }, Valid, 0},
	{"timeout beyond 32 bits, one second before", func(d *draft) { d.last32(math.MaxUint32 + 9) }, Valid, 0},
	{"timeout beyond 32 bits, exactly", func(d *draft) { d.last32(math.MaxUint32 + 10) }, ExpiredAbsolute, 0},
	{"the least now", func(d *draft) { d.now = math.MinInt64 }, NotYetValid, 0},
	{"the least now without timeouts", func(d *draft) { d.now = math.MinInt64; d.noTimeouts() }, NotYetValid, 0},
}

var revocationCases = []vectorCase{
	{"same epoch", func(d *draft) { d.epoch, d.rules.Epoch = 7, 7 }, Valid, 0},
	{"highest epoch", func(d *draft) { d.epoch, d.rules.Epoch = math.MaxUint32, math.MaxUint32 }, Valid, 0},
	{"older epoch", func(d *draft) { d.epoch, d.rules.Epoch = 6, 7 }, Revoked, 0},
	{"newer epoch", func(d *draft) { d.epoch, d.rules.Epoch = 8, 7 }, Revoked, 0},
	{"rules notBefore, begun then", func(d *draft) { d.rules.NotBefore = noon }, Valid, 0},
	{"rules notBefore, begun one second before", func(d *draft) { d.rules.NotBefore = noon + 1 }, Revoked, 0},
	{"revoked and expired", func(d *draft) { d.epoch = 1; d.now += 365 * 86400 }, Revoked, 0},
	{"revoked and from the future", func(d *draft) { d.epoch = 1; d.now -= 86400 }, Revoked, 0},
}

var keyCases = []vectorCase{
	{"old key verifies", func(d *draft) { d.ring = "rotating" }, Valid, 0},
	{"new key verifies before it signs", func(d *draft) { d.signedIn, d.ring = "next", "rotating" }, Valid, 0},
	{"new key verifies when it signs", func(d *draft) { d.setRing("rotating"); d.issueAt(keyStarts) }, Valid, 0},
	{"key retires, one second before", func(d *draft) { d.ring = "rotating"; d.issueAt(keyRetires - 1) }, Valid, 0},
	{"key retires, exactly", func(d *draft) { d.ring = "rotating"; d.issueAt(keyRetires) }, UnknownKey, 0},
	{"key retired and session expired", func(d *draft) { d.ring = "rotating"; d.now = keyRetires }, UnknownKey, 0},
	{"key of another ring", func(d *draft) { d.signedIn = "next" }, UnknownKey, 0},
	{"unknown key and wrong scope", func(d *draft) { d.signedIn, d.scope = "next", "other" }, UnknownKey, 0},
	{"same id, another secret", func(d *draft) { d.signedIn = "impostor" }, BadSignature, 0},
	{"tag of another key of the ring", func(d *draft) {
		d.ring = "rotating"
		d.tamper = func(raw []byte) { putTag(raw[offKeyTag:], makeTag(labelKeyID, "2026-12")) }
	}, BadSignature, 0},
}

var scopeCases = []vectorCase{
	{"moved to another scope", func(d *draft) { d.scope = "HTTPRoute/default/cart/rule/1" }, WrongScope, 0},
	{"scope in another case", func(d *draft) { d.scope = strings.ToLower(cartScope) }, WrongScope, 0},
	{"wrong scope and bad signature", func(d *draft) { d.scope = "other"; d.tamper = flip(offBody, 0) }, WrongScope, 0},
	{"scope tag replaced and not signed again", func(d *draft) {
		d.scope = "other"
		d.tamper = func(raw []byte) { putTag(raw[offScopeTag:], makeTag(labelScope, "other")) }
	}, BadSignature, 0},
	{"scope tag replaced and signed for the old scope", func(d *draft) {
		d.scope = "other"
		d.forge = func(raw []byte) { putTag(raw[offScopeTag:], makeTag(labelScope, "other")) }
	}, BadSignature, 0},
}

var encodingCases = []vectorCase{
	{"empty", text(func(string) string { return "" }), Malformed, badLength},
	{"one character", text(func(s string) string { return s[:1] }), Malformed, badLength},
	{"one character short", text(func(s string) string { return s[:len(s)-1] }), Malformed, badLength},
	{"one character more", text(func(s string) string { return s + "A" }), Malformed, badLength},
	{"a byte more, with spare bits", text(func(s string) string { return s + "AB" }), Malformed, badLength},
	{"IPv6, one character short", func(d *draft) { d.host = "[::1]:80"; d.text = func(s string) string { return s[:111] } }, Malformed, badLength},
	{"IPv6, one character more", func(d *draft) { d.host = "[::1]:80"; d.text = func(s string) string { return s + "A" } }, Malformed, badLength},
	{"padding added", text(func(s string) string { return s + "=" }), Malformed, badLength},
	{"quoted", text(func(s string) string { return `"` + s + `"` }), Malformed, badLength},
	{"space before", text(func(s string) string { return " " + s }), Malformed, badLength},
	{"line break after", text(func(s string) string { return s + "\n" }), Malformed, badLength},
	{"96 characters in 97 bytes", text(func(s string) string { return s[:95] + "é" }), Malformed, badLength},
	{"96 bytes in 95 characters", text(func(s string) string { return s[:94] + "é" }), Malformed, badAlphabet},
	{"padding in place of the last character", text(func(s string) string { return s[:95] + "=" }), Malformed, badAlphabet},
	{"padding in place of the last two characters", text(func(s string) string { return s[:94] + "==" }), Malformed, badAlphabet},
	{"line break inside", text(func(s string) string { return s[:50] + "\n" + s[51:] }), Malformed, badAlphabet},
	{"four line breaks at the end", text(func(s string) string { return s[:92] + "\r\n\r\n" }), Malformed, badAlphabet},
	{"space inside", text(func(s string) string { return s[:50] + " " + s[51:] }), Malformed, badAlphabet},
	{"zero byte inside", text(func(s string) string { return s[:50] + "\x00" + s[51:] }), Malformed, badAlphabet},
	{"standard alphabet, plus", text(func(s string) string { return s[:50] + "+" + s[51:] }), Malformed, badAlphabet},
	{"standard alphabet, slash", text(func(s string) string { return s[:50] + "/" + s[51:] }), Malformed, badAlphabet},
	{"percent sign", text(func(s string) string { return s[:50] + "%" + s[51:] }), Malformed, badAlphabet},
	{"IPv6 cut to the length of IPv4", func(d *draft) { d.host = "[::1]:80"; d.text = func(s string) string { return s[:Len4] } }, Malformed, badHostSize},
	{"IPv4 drawn out to the length of IPv6", text(func(s string) string { return s + strings.Repeat("A", Len6-Len4) }), Malformed, badHostSize},
}

// layoutCases are signed with the right key: the signature alone is no excuse.
var layoutCases = []vectorCase{
	{"signed version 0", forge(func(raw []byte) { raw[offVersion] = 0 }), Malformed, badVersion},
	{"signed version 2", forge(func(raw []byte) { raw[offVersion] = 2 }), Malformed, badVersion},
	{"signed flag bit 2, without its part", forge(func(raw []byte) { raw[offFlags] |= 1 << 2 }), Malformed, badHostSize},
	{"signed flag bit 3, without its part", forge(func(raw []byte) { raw[offFlags] |= 1 << 3 }), Malformed, badHostSize},
	{"signed flag bit 4, without its part", forge(func(raw []byte) { raw[offFlags] |= 1 << 4 }), Malformed, badHostSize},
	{"signed flag bit 5", forge(func(raw []byte) { raw[offFlags] |= 1 << 5 }), Malformed, badFlags},
	{"signed flag bit 6", forge(func(raw []byte) { raw[offFlags] |= 1 << 6 }), Malformed, badFlags},
	{"signed flag bit 7", forge(func(raw []byte) { raw[offFlags] |= 1 << 7 }), Malformed, badFlags},
	{"signed IPv6 flag with IPv4", forge(func(raw []byte) { raw[offFlags] |= flagIPv6 }), Malformed, badHostSize},
	{"signed IPv4 flag with IPv6", func(d *draft) { d.host = "[::1]:80"; d.forge = func(raw []byte) { raw[offFlags] &^= flagIPv6 } }, Malformed, badHostSize},
	{"signed, last seen one second before issued", func(d *draft) { d.seen = d.issued - 1 }, Malformed, badTimes},
	{"signed, last seen 0", func(d *draft) { d.seen = 0 }, Malformed, badTimes},
	{"signed, hidden port 0", rawHost(10, 0, 0, 1, 0, 0), Malformed, badHost},
	{"signed, revealed port 0", revealed(rawHost(10, 0, 0, 1, 0, 0)), Malformed, badHost},
	{"signed, hidden IPv6 port 0", rawHost6(net6(0, 0, 0, 0, 0, 0, 0, 1), 0), Malformed, badHost},
	{"signed, hidden IPv4-mapped", rawHost6(net6(0, 0, 0, 0, 0, 0xffff, 0x0a00, 1), 80), Malformed, badHost},
	{"signed, revealed IPv4-mapped", revealed(rawHost6(net6(0, 0, 0, 0, 0, 0xffff, 0x0a00, 1), 80)), Malformed, badHost},
	{"signed, IPv4-mapped zero", rawHost6(net6(0, 0, 0, 0, 0, 0xffff, 0, 0), 80), Malformed, badHost},
	{"signed, lowest IPv4-compatible", rawHost6(net6(0, 0, 0, 0, 0, 0, 1, 0), 80), Malformed, badHost},
	{"signed, IPv4-compatible", rawHost6(net6(0, 0, 0, 0, 0, 0, 0x0a00, 1), 80), Malformed, badHost},
	{"port 0 and revoked", func(d *draft) { rawHost(10, 0, 0, 1, 0, 0)(d); d.epoch = 1 }, Malformed, badHost},
	{"port 0 and bad signature", func(d *draft) { revealed(rawHost(10, 0, 0, 1, 0, 0))(d); d.tamper = flip(offEpoch, 0) }, BadSignature, 0},
	{"times in disorder and unknown key", func(d *draft) { d.seen = 0; d.signedIn = "next" }, Malformed, badTimes},
}

// flippedCases change one bit after signing.
var flippedCases = []vectorCase{
	{"flipped version bit", tamper(flip(offVersion, 1)), Malformed, badVersion},
	{"flipped hidden flag", tamper(flip(offFlags, 0)), BadSignature, 0},
	{"flipped IPv6 flag", tamper(flip(offFlags, 1)), Malformed, badHostSize},
	{"flipped id flag", tamper(flip(offFlags, 2)), Malformed, badHostSize},
	{"flipped unknown flag", tamper(flip(offFlags, 6)), Malformed, badFlags},
	{"flipped key tag bit", tamper(flip(offKeyTag, 7)), UnknownKey, 0},
	{"flipped scope tag bit", tamper(flip(offScopeTag+3, 0)), WrongScope, 0},
	{"flipped issued-at bit", tamper(flip(offIssuedAt+3, 0)), BadSignature, 0},
	{"flipped last-seen bit", tamper(flip(offLastSeen+3, 0)), BadSignature, 0},
	{"flipped high bit of last seen", tamper(flip(offLastSeen, 6)), Malformed, badTimes},
	{"flipped epoch bit", tamper(flip(offEpoch+3, 0)), BadSignature, 0},
	{"flipped nonce bit", tamper(flip(offNonce, 0)), BadSignature, 0},
	{"flipped address bit", tamper(flip(offBody, 0)), BadSignature, 0},
	{"flipped address bit, revealed", revealed(tamper(flip(offBody+3, 0))), BadSignature, 0},
	{"flipped port bit", tamper(flip(offBody+5, 0)), BadSignature, 0},
	{"flipped first bit of the MAC", tamper(flip(rawLen4-macLen, 7)), BadSignature, 0},
	{"flipped last bit of the MAC", tamper(flip(rawLen4-1, 0)), BadSignature, 0},
	{"MAC of zeros", tamper(func(raw []byte) { clear(raw[rawLen4-macLen:]) }), BadSignature, 0},
	{"flipped bit and expired", func(d *draft) { d.tamper = flip(offNonce, 0); d.now += 365 * 86400 }, BadSignature, 0},
}

func text(f func(string) string) func(*draft) { return func(d *draft) { d.text = f } }

func forge(f func([]byte)) func(*draft) { return func(d *draft) { d.forge = f } }

func tamper(f func([]byte)) func(*draft) { return func(d *draft) { d.tamper = f } }

func flip(offset, bit int) func([]byte) { return func(raw []byte) { raw[offset] ^= 1 << bit } }

func putTag(dst []byte, t tag) { binary.BigEndian.PutUint32(dst, uint32(t)) }

// rawHost gives the bytes of the host, which ParseHost would refuse.
func rawHost(raw ...byte) func(*draft) { return func(d *draft) { d.rawHost = raw } }

func rawHost6(addr []byte, port byte) func(*draft) {
	return func(d *draft) {
		d.host = "[::1]:80"
		d.rawHost = append(bytes.Clone(addr), 0, port)
	}
}

func net6(groups ...uint16) (addr []byte) {
	for _, g := range groups {
		addr = binary.BigEndian.AppendUint16(addr, g)
	}
	return addr
}

func revealed(f func(*draft)) func(*draft) { return func(d *draft) { f(d); d.reveal = true } }
