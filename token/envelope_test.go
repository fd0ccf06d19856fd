package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
)

// specified is HMAC(K_mac, message) for cart's scope, as docs/token-format.md has it, from the standard library.
func specified(secret []byte, message string) []byte {
	sum := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	return sum(sum(secret, "limpet.dev/v1 mac\x00"+cartScope), message)
}

// TestEnvelopeIsAsSpecified builds one by hand.
func TestEnvelopeIsAsSpecified(t *testing.T) {
	scope, sess := cart(t)
	tok := mustMint(t, scope, sess, Minting{Now: noon})
	const attributes, value = "; Path=/app", "node1.\x80\"abc"
	var e Envelope
	got, err := e.Append(nil, scope, tok, attributes, value, noon, MaxEnvelope)
	if err != nil {
		t.Fatal(err)
	}
	body := string(binary.BigEndian.AppendUint16(nil, uint16(len(attributes)))) + attributes + value
	body += string(specified(countUp(0, 32), "E"+tok+body))
	if want := tok + "." + base64.RawURLEncoding.EncodeToString([]byte(body)); string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	cut, rest, ok := CutEnvelope(string(got))
	if !ok || cut != tok || !e.Decode(cut, rest) || string(e.Attributes()) != attributes || string(e.Value()) != value {
		t.Fatalf("%t %q %q %q", ok, cut, e.Attributes(), e.Value())
	}
	opened, _ := scope.Open(tok, noon)
	if !e.Signed(scope, opened, noon) {
		t.Error("the signature does not hold")
	}
}

// TestChangedEnvelopes: no text but the one that was made is signed, whatever character is another.
func TestChangedEnvelopes(t *testing.T) {
	scope, sess := cart(t)
	tok := mustMint(t, scope, sess, Minting{Now: noon})
	opened, _ := scope.Open(tok, noon)
	var e Envelope
	text, err := e.Append(nil, scope, tok, "; Path=/", "abc", noon, MaxEnvelope)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(tok) + 1; i < len(text); i++ {
		for _, c := range []byte("AZaz09-_=+/.\n ") {
			changed := append([]byte(nil), text...)
			if changed[i] = c; string(changed) == string(text) {
				continue
			}
			if cut, body, ok := CutEnvelope(string(changed)); ok && e.Decode(cut, body) && e.Signed(scope, opened, noon) {
				t.Errorf("character %d may be %q", i, c)
			}
		}
	}
	for _, other := range []string{"", ".", tok, tok + ".", tok + "." + strings.Repeat("A", 45), tok + "." + strings.Repeat("/", 60), strings.Repeat("A", 5000)} {
		if cut, body, ok := CutEnvelope(other); ok && e.Decode(cut, body) {
			t.Errorf("%.120q is an envelope", other)
		}
	}
	long := strings.Repeat("v", MaxEnvelope)
	if got, err := e.Append([]byte("x"), scope, tok, "", long, noon, MaxEnvelope); err == nil || string(got) != "x" {
		t.Errorf("a value that is too long: %d bytes, %v", len(got), err)
	}
}

// TestTicketIsAsSpecified builds one by hand, and holds when it is good.
func TestTicketIsAsSpecified(t *testing.T) {
	scope, _ := cart(t)
	got, err := scope.AppendTicket(nil, noon, noon+TicketLife)
	if err != nil || len(got) != TicketLen {
		t.Fatal(string(got), err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(string(got))
	if err != nil {
		t.Fatal(err)
	}
	if mac := specified(countUp(0, 32), string(raw[:13])); raw[0] != 'T' || !hmac.Equal(mac, raw[13:]) {
		t.Errorf("%x is not signed with %x", raw, mac)
	}
	for now, good := range map[int64]bool{
		noon - 61: false, noon - 60: true, noon: true, noon + TicketLife - 1: true, noon + TicketLife: false, noon + 1e6: false,
	} {
		if scope.Ticket(string(got), now, 60) != good {
			t.Errorf("%d seconds after it was made it is %t", now-noon, !good)
		}
	}
	for _, ends := range []int64{noon, noon - 1, noon + TicketLife + 1} {
		if _, err := scope.AppendTicket(nil, noon, ends); err == nil {
			t.Errorf("a ticket ends %d seconds after it is made", ends-noon)
		}
	}
}

// TestDigestIsAsSpecified: it depends on the key, and is nothing without an id.
func TestDigestIsAsSpecified(t *testing.T) {
	scope, _ := cart(t)
	want := hex.EncodeToString(specified(countUp(0, 32), "S\x01\x02\x03\x04\x05\x06\x07\x08")[:8])
	if got := string(scope.AppendDigest(nil, 0x0102030405060708, noon)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := scope.AppendDigest(nil, 0, noon); len(got) != 0 {
		t.Errorf("a session without an id has the digest %s", got)
	}
}

// TestEnvelopesDoNotAllocate: nor do tickets and digests.
func TestEnvelopesDoNotAllocate(t *testing.T) {
	scope, sess := cart(t)
	tok := mustMint(t, scope, sess, Minting{Now: noon})
	opened, _ := scope.Open(tok, noon)
	var e Envelope
	text, _ := e.Append(nil, scope, tok, "; Path=/", "abc", noon, MaxEnvelope)
	ticket, _ := scope.AppendTicket(nil, noon, noon+1)
	envelope, pass, dst := string(text), string(ticket), make([]byte, 0, MaxEnvelope)
	if n := testing.AllocsPerRun(100, func() {
		cut, body, _ := CutEnvelope(envelope)
		_ = e.Decode(cut, body) && e.Signed(scope, opened, noon) && scope.Ticket(pass, noon, 0)
		dst, _ = e.Append(dst[:0], scope, tok, "; Path=/", "abc", noon, MaxEnvelope)
		dst = scope.AppendDigest(dst[:0], 7, noon)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
