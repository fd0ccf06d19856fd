package token

import (
	"encoding/binary"
	"strings"
	"testing"
)

// envelopeDraft is an envelope to be made, perhaps wrongly. Its token is a draft, whose rules and time are the envelope's.
type envelopeDraft struct {
	draft
	attributes, value string
	label             byte
	length            int                 // of the attributes as the envelope says, where it is not theirs; -1 for theirs
	moved             func(string) string // changes the token after the signature
	raw               func([]byte) []byte // changes the body after the signature
	whole             func(string) string // changes the text
}

// envelopeCase is a vector of an envelope to be made. Without form it is the application's own text. change starts from one that
// is good.
type envelopeCase struct {
	name         string
	change       func(*envelopeDraft)
	form, signed bool
	verdict      Verdict // of a token that is signed together with the rest
}

// makeEnvelope makes the text; the value is what is in it, if it has the form.
func (d *envelopeDraft) makeEnvelope(t *testing.T, name string) (text, attributes, value string) {
	tok := d.sign(t, name)
	if d.text != nil {
		tok = d.text(tok)
	}
	length := len(d.attributes)
	if d.length >= 0 {
		length = d.length
	}
	body := append(binary.BigEndian.AppendUint16(nil, uint16(length)), d.attributes+d.value...)
	ring := vectorRings()[d.signedIn].ring(t)
	mac := ring.Scope(d.signedFor).keys[ring.dates.signer(d.issued)].mac.mac(append(append([]byte{d.label}, tok...), body...))
	body = append(body, mac[:]...)
	if d.moved != nil {
		tok = d.moved(tok)
	}
	if d.raw != nil {
		body = d.raw(body)
	}
	text = tok + "." + b64(body)
	if d.whole != nil {
		text = d.whole(text)
	}
	if len(body) < attributesLen+macLen || len(body)-macLen < attributesLen+int(binary.BigEndian.Uint16(body)) {
		return text, "", ""
	}
	signed := body[attributesLen : len(body)-macLen]
	length = int(binary.BigEndian.Uint16(body))
	return text, string(signed[:length]), string(signed[length:])
}

func (c envelopeCase) vector(t *testing.T) envelopeVector {
	d := envelopeDraft{draft: *newDraft(), attributes: "; Path=/app; HttpOnly", value: "node1.abc", label: signsEnvelope, length: -1}
	if c.change != nil {
		c.change(&d)
	}
	text, attributes, value := d.makeEnvelope(t, c.name)
	v := envelopeVector{Name: c.name, Ring: d.ring, Scope: d.scope, Rules: rulesJSON(d.rules), Now: d.now, Envelope: text}
	v.envelopeAnswer = envelopeAnswer{Form: c.form, Signed: c.signed}
	if c.form {
		v.Value = b64([]byte(value))
	}
	if c.signed {
		v.Attributes, v.Verdict = b64([]byte(attributes)), c.verdict.String()
	}
	return v
}

func flipBody(at int) func(*envelopeDraft) {
	return func(d *envelopeDraft) {
		d.raw = func(body []byte) []byte { body[(at+len(body))%len(body)] ^= 1; return body }
	}
}

func whole(change func(string) string) func(*envelopeDraft) {
	return func(d *envelopeDraft) { d.whole = change }
}

// sized gives the value the length with which the envelope has so many characters, the token of an IPv4 host among them.
func sized(characters int) func(*envelopeDraft) {
	return func(d *envelopeDraft) {
		raw := (characters - Len4 - 1) * 6 / 8
		d.value = strings.Repeat("v", raw-attributesLen-len(d.attributes)-macLen)
	}
}

var envelopeCases = []envelopeCase{
	{"envelope", nil, true, true, Valid},
	{"envelope of a header", func(d *envelopeDraft) { d.attributes = "" }, true, true, Valid},
	{"envelope of nothing", func(d *envelopeDraft) { d.attributes, d.value = "", "" }, true, true, Valid},
	{"envelope of any bytes", func(d *envelopeDraft) { d.value = "\x00\x80\xff\"; .=" }, true, true, Valid},
	{"envelope of an envelope's form", func(d *envelopeDraft) { d.value = strings.Repeat("A", Len4) + "." + strings.Repeat("A", 60) }, true, true, Valid},
	{"envelope with an IPv6 host", func(d *envelopeDraft) { d.host = "[2001:db8::1]:8080" }, true, true, Valid},
	{"envelope with a token with parts", func(d *envelopeDraft) { d.parts = Parts{ID: 7, Owner: 9, Named: true} }, true, true, Valid},
	{"envelope, longest", sized(MaxEnvelope), true, true, Valid},
	{"envelope, old key verifies", func(d *envelopeDraft) { d.ring = "rotating" }, true, true, Valid},
	{"envelope, expired", func(d *envelopeDraft) { d.now += 2 * idle }, true, true, ExpiredIdle},
	{"envelope, revoked", func(d *envelopeDraft) { d.rules.Epoch = 1 }, true, true, Revoked},
	{"envelope, key retired", func(d *envelopeDraft) { d.ring, d.now = "rotating", keyRetires }, true, false, 0},
	{"envelope, key of another ring", func(d *envelopeDraft) { d.signedIn = "next" }, true, false, 0},
	{"envelope, another secret", func(d *envelopeDraft) { d.signedIn = "impostor" }, true, false, 0},
	{"envelope, moved to another scope", func(d *envelopeDraft) { d.scope = "other" }, true, false, 0},
	{"envelope, another good token", func(d *envelopeDraft) {
		d.moved = func(string) string {
			return "AQFKrPozOi_u-GsBh8BrAYoYAAAAAKChoqOkpaanqKmqq4ueld1zXXPaKRucFamopQ4ll0BBmF0jlWFAXVliT1UiAAGwIr-H"
		}
	}, true, false, 0},
	{"envelope, token changed", func(d *envelopeDraft) { d.moved = func(s string) string { return s[:60] + flipped(s[60]) + s[61:] } }, true, false, 0},
	{"envelope, token no base64", func(d *envelopeDraft) { d.moved = func(s string) string { return s[:60] + "+" + s[61:] } }, true, false, 0},
	{"envelope, value changed", flipBody(-macLen - 1), true, false, 0},
	{"envelope, attributes changed", flipBody(attributesLen), true, false, 0},
	{"envelope, a character moved from the attributes to the value", flipBody(1), true, false, 0},
	{"envelope, MAC changed", flipBody(-1), true, false, 0},
	{"envelope, signed as a token is", func(d *envelopeDraft) { d.label = version }, true, false, 0},
	{"envelope, signed as a ticket is", func(d *envelopeDraft) { d.label = signsTicket }, true, false, 0},
	{"envelope, attributes longer than all", func(d *envelopeDraft) { d.length = 31 }, false, false, 0},
	{"envelope, attributes as long as all", func(d *envelopeDraft) { d.length = 30 }, true, true, Valid},
	{"envelope, one character too long", whole(func(s string) string { return s + strings.Repeat("A", MaxEnvelope+1-len(s)) }), false, false, 0},
	{"envelope, padded", whole(func(s string) string { return s + "=" }), false, false, 0},
	{"envelope, spare bits", func(d *envelopeDraft) { d.value = "node1.abcd"; d.whole = spareBits }, false, false, 0},
	{"envelope, line break", whole(func(s string) string { return s[:120] + "\n" + s[120:] }), false, false, 0},
	{"envelope, two dots", whole(func(s string) string { return strings.Replace(s, ".", "..", 1) }), false, false, 0},
	{"envelope, plus", whole(func(s string) string { return s[:120] + "+" + s[121:] }), false, false, 0},
	{"envelope without a body", whole(func(s string) string { return s[:Len4+1] }), false, false, 0},
	{"envelope with a body too short", func(d *envelopeDraft) { d.raw = func(body []byte) []byte { return body[:attributesLen+macLen-1] } }, false, false, 0},
	{"envelope with a body of zeros", func(d *envelopeDraft) { d.raw = func([]byte) []byte { return make([]byte, attributesLen+macLen) } }, true, false, 0},
	{"envelope without a dot", whole(func(s string) string { return strings.ReplaceAll(s, ".", "") }), false, false, 0},
	{"envelope, token's characters of the other family", whole(func(s string) string { return s[:2] + "I" + s[3:] }), false, false, 0},
	{"envelope, token of an unknown version", whole(func(s string) string { return "B" + s[1:] }), false, false, 0},
	{"envelope, token one character short", whole(func(s string) string { return s[1:] }), false, false, 0},
	{"an application's own text", whole(func(string) string { return "abc.def" }), false, false, 0},
	{"an application's own nothing", whole(func(string) string { return "" }), false, false, 0},
}

// flipped is another character of the alphabet.
func flipped(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

// ticketCase is a vector of a ticket to be made, now and then wrongly, at noon.
type ticketCase struct {
	name               string
	signedIn, ring     string
	signedFor, scope   string
	lasts, after, skew int64
	forge              func(raw []byte)
	text               func(string) string
	good               bool
}

func (c ticketCase) vector(t *testing.T) ticketVector {
	ring := vectorRings()[c.signedIn].ring(t)
	scope := ring.Scope(c.signedFor)
	raw := binary.BigEndian.AppendUint32([]byte{signsTicket}, uint32(ring.dates[ring.dates.signer(noon)].tag))
	raw = binary.BigEndian.AppendUint32(raw, uint32(scope.tag))
	raw = binary.BigEndian.AppendUint32(raw, uint32(noon+c.lasts))
	apply(c.forge, raw)
	mac := scope.keys[ring.dates.signer(noon)].mac.mac(raw)
	text := b64(append(raw, mac[:]...))
	if c.text != nil {
		text = c.text(text)
	}
	good := c.good
	return ticketVector{Name: c.name, Ring: c.ring, Scope: c.scope, Now: noon + c.after, Skew: c.skew, Ticket: text, Good: &good}
}

// ticket is a case with what all have.
func ticket(name string, good bool, change func(*ticketCase)) ticketCase {
	c := ticketCase{
		name: name, signedIn: "one", ring: "one", signedFor: cartScope, scope: cartScope, lasts: TicketLife, after: 1, skew: skew, good: good,
	}
	if change != nil {
		change(&c)
	}
	return c
}

var ticketCases = []ticketCase{
	ticket("ticket", true, nil),
	ticket("ticket, its last second", true, func(c *ticketCase) { c.after = TicketLife - 1 }),
	ticket("ticket, ended", false, func(c *ticketCase) { c.after = TicketLife }),
	ticket("ticket, short", true, func(c *ticketCase) { c.lasts = 2 }),
	ticket("ticket, skew exactly", true, func(c *ticketCase) { c.after = -skew }),
	ticket("ticket, one second beyond the skew", false, func(c *ticketCase) { c.after = -skew - 1 }),
	ticket("ticket, no skew", true, func(c *ticketCase) { c.after, c.skew = 0, 0 }),
	ticket("ticket, no skew, one second ahead", false, func(c *ticketCase) { c.after, c.skew = -1, 0 }),
	ticket("ticket, too long a life", false, func(c *ticketCase) { c.lasts, c.after = 2*TicketLife, 1 }),
	ticket("ticket, old key", true, func(c *ticketCase) { c.ring = "rotating" }),
	ticket("ticket, key of another ring", false, func(c *ticketCase) { c.signedIn = "next" }),
	ticket("ticket, another secret", false, func(c *ticketCase) { c.signedIn = "impostor" }),
	ticket("ticket, another scope", false, func(c *ticketCase) { c.scope = "other" }),
	ticket("ticket, another scope's tag", false, func(c *ticketCase) {
		c.scope, c.forge = "other", func(raw []byte) { putTag(raw[5:], makeTag(labelScope, "other")) }
	}),
	ticket("ticket, label of an envelope", false, func(c *ticketCase) { c.forge = func(raw []byte) { raw[0] = signsEnvelope } }),
	ticket("ticket, changed end", false, func(c *ticketCase) { c.text = func(s string) string { return s[:14] + flipped(s[14]) + s[15:] } }),
	ticket("ticket, changed MAC", false, func(c *ticketCase) { c.text = func(s string) string { return s[:59] + flipped(s[59]) } }),
	ticket("ticket, one character short", false, func(c *ticketCase) { c.text = func(s string) string { return s[:59] } }),
	ticket("ticket, one character more", false, func(c *ticketCase) { c.text = func(s string) string { return s + "A" } }),
	ticket("ticket, standard alphabet", false, func(c *ticketCase) { c.text = func(s string) string { return s[:30] + "/" + s[31:] } }),
	ticket("ticket, nothing", false, func(c *ticketCase) { c.text = func(string) string { return "" } }),
}

// makeDigestVectors has digests of one session under the keys that sign in turn, in two scopes.
func makeDigestVectors(t *testing.T) (all []digestVector) {
	for _, c := range []struct {
		name, ring, scope string
		now               int64
		id                uint64
	}{
		{"digest", "one", cartScope, noon, 0x0102030405060708},
		{"digest in another scope", "one", "other", noon, 0x0102030405060708},
		{"digest of another session", "one", cartScope, noon, 1<<64 - 1},
		{"digest before the new key signs", "rotating", cartScope, keyStarts - 1, 0x0102030405060708},
		{"digest under the new key", "rotating", cartScope, keyStarts, 0x0102030405060708},
	} {
		digest := vectorRings()[c.ring].ring(t).Scope(c.scope).AppendDigest(nil, c.id, c.now)
		all = append(all, digestVector{c.name, c.ring, c.scope, c.now, hexOf(c.id, idLen), string(digest)})
	}
	return all
}
