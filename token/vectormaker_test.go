package token

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// When the ring "rotating" begins to sign with its first key, and when its second one retires.
const (
	keyStarts  = noon + 86400
	keyRetires = noon + 2*86400
)

var ringNames = []string{"one", "rotating", "next", "impostor", "block", "long"}

// vectorRings are the rings of the vectors, by name.
func vectorRings() map[string]ringJSON {
	november := keyJSON{ID: "2026-11", Secret: b64(countUp(0, 32))}
	december := keyJSON{ID: "2026-12", Secret: b64(countUp(32, 32))}
	starting, retiring := december, november
	starting.NotBefore = time.Unix(keyStarts, 0).UTC()
	retiring.NotAfter = time.Unix(keyRetires, 0).UTC()
	return map[string]ringJSON{
		"one":      {[]keyJSON{november}},
		"rotating": {[]keyJSON{starting, retiring}},
		"next":     {[]keyJSON{december}},
		"impostor": {[]keyJSON{{ID: "2026-11", Secret: b64(countUp(100, 32))}}},
		"block":    {[]keyJSON{{ID: "block", Secret: b64(countUp(1, 64))}}},
		"long":     {[]keyJSON{{ID: "a.b_c-D.9", Secret: b64(countUp(2, 65))}}},
	}
}

func b64(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// draft is a token to be made, perhaps wrongly, and how it is judged.
type draft struct {
	signedIn, signedFor string // ring and scope
	host                string
	rawHost             []byte // in place of host
	parts               Parts
	issued, seen        int64
	epoch               uint32
	reveal              bool
	inside              func(body []byte)   // changes parts and host before they are hidden
	forge               func(raw []byte)    // changes it before it is signed
	tamper              func(raw []byte)    // changes it afterwards
	text                func(string) string // changes the text

	ring, scope string
	rules       Rules
	now         int64
}

// newDraft is a session that began at noon, was seen ten minutes later, and comes back five minutes after that.
func newDraft() *draft {
	return &draft{
		signedIn: "one", signedFor: cartScope, host: "10.0.0.1:8080", issued: noon, seen: noon + 600,
		ring: "one", scope: cartScope, now: noon + 900,
		rules: Rules{AbsoluteTimeout: absolute, IdleTimeout: idle, Skew: skew},
	}
}

func (d *draft) setRing(name string)  { d.signedIn, d.ring = name, name }
func (d *draft) setScope(name string) { d.signedFor, d.scope = name, name }
func (d *draft) noTimeouts()          { d.shortTimeouts(0) }

func (d *draft) shortTimeouts(seconds int64) {
	d.rules.AbsoluteTimeout, d.rules.IdleTimeout = seconds, seconds
}

// issueAt makes the session begin and come back in one second.
func (d *draft) issueAt(when int64) { d.issued, d.seen, d.now = when, when, when }

// last32 makes a session of the last second that a token can say, with a timeout of ten seconds.
func (d *draft) last32(now int64) {
	d.issueAt(math.MaxUint32)
	d.now = now
	d.rules.AbsoluteTimeout = 10
}

// sign makes the token, with a nonce that depends on the name alone.
func (d *draft) sign(t *testing.T, name string) string {
	ring := vectorRings()[d.signedIn].ring(t)
	scope, signer := ring.Scope(d.signedFor), ring.dates.signer(d.issued)
	sum := sha256.Sum256([]byte(name))
	m := Minting{Now: d.issued, Nonce: [nonceLen]byte(sum[:]), Reveal: d.reveal}
	sess := Session{Host: mustHost(t, d.host), IssuedAt: d.issued, LastSeen: d.seen, Epoch: d.epoch, Parts: d.parts}

	key := &scope.keys[signer]
	raw := scope.appendClear(nil, sess, m, ring.dates[signer].tag)
	if d.rawHost != nil {
		raw = append(raw[:offBody+partsLen(raw[offFlags])], d.rawHost...)
	}
	apply(d.inside, raw[offBody:])
	if !d.reveal {
		key.cryptBody(raw[offBody:], m.Nonce[:])
	}
	apply(d.forge, raw)
	mac := key.mac.mac(raw)
	raw = append(raw, mac[:]...)
	apply(d.tamper, raw)
	return b64(raw)
}

func apply(f func([]byte), raw []byte) {
	if f != nil {
		f(raw)
	}
}

func (c vectorCase) vector(t *testing.T) vector {
	d := newDraft()
	c.change(d)
	v := vector{
		Name: c.name, Ring: d.ring, Scope: d.scope, Rules: rulesJSON(d.rules), Now: d.now,
		Token: d.sign(t, c.name), Verdict: c.verdict.String(),
	}
	if d.text != nil {
		v.Token = d.text(v.Token)
	}
	if c.verdict == Malformed {
		v.Reason = c.reason.String()
	}
	if c.verdict == Valid {
		ring := vectorRings()[d.signedIn]
		signer := ring.ring(t).dates.signer(d.issued)
		v.Session = &sessionJSON{d.host, d.issued, d.seen, d.epoch, ring.Keys[signer].ID, !d.reveal, partsOf(d.parts)}
	}
	return v
}

// partsOf writes parts as the vectors have them; nil for a token without.
func partsOf(p Parts) *partsJSON {
	if p == (Parts{}) {
		return nil
	}
	return &partsJSON{hexOf(p.ID, idLen), hexOf(uint64(p.Backend), backendLen), hexOf(p.Owner, ownerLen), p.Named}
}

// hexOf writes a part as hexadecimal digits, one that is not there as nothing.
func hexOf(part uint64, size int) string {
	if part == 0 {
		return ""
	}
	return fmt.Sprintf("%0*x", size*2, part)
}

func makeVectors(t *testing.T) vectorFile {
	file := vectorFile{Rings: vectorRings(), Sealed: makeSealVectors(t)}
	for _, c := range slices.Concat(validCases, timeCases, revocationCases, keyCases, scopeCases, encodingCases, layoutCases, flippedCases,
		partsCases, partsLayoutCases) {
		file.Tokens = append(file.Tokens, c.vector(t))
	}
	for _, c := range envelopeCases {
		file.Envelopes = append(file.Envelopes, c.vector(t))
	}
	for _, c := range ticketCases {
		file.Tickets = append(file.Tickets, c.vector(t))
	}
	file.Digests = makeDigestVectors(t)
	for _, name := range ringNames {
		file.Fingerprints = append(file.Fingerprints, makeFingerprintVector(t, name, file.Rings[name]))
	}
	return file
}

func makeFingerprintVector(t *testing.T, name string, ring ringJSON) fingerprintVector {
	v := fingerprintVector{Name: name, Whole: ring.ring(t).Fingerprint().String()}
	for _, k := range ring.Keys {
		secret, err := base64.RawURLEncoding.DecodeString(k.Secret)
		if err != nil {
			t.Fatal(err)
		}
		v.Keys = append(v.Keys, (&Key{ID: k.ID, Secret: secret}).Fingerprint().String())
	}
	return v
}

func makeSealVectors(t *testing.T) []sealVector {
	const plain = `{"keys":[]}`
	root, other, long := forEnvoy(countUp(200, 32)), forEnvoy(countUp(201, 32)), forEnvoy(countUp(0, 100))
	istio, anywhere := Root{Target: "istio", Secret: root.Secret}, Root{Secret: root.Secret}
	text := root.Text()
	sealed, blocks := mustSeal(t, root, plain), strings.Repeat("sealed text of several blocks ", 10)
	yes, no := true, false
	change := func(i int) string {
		raw := slices.Clone(rawSealed(t, sealed))
		raw[i] ^= 1
		return sealVersion + b64(raw)
	}
	return []sealVector{
		{"sealed", text, sealed, &yes, plain},
		{"sealed empty", text, mustSeal(t, root, ""), &yes, ""},
		{"sealed long", text, mustSeal(t, root, blocks), &yes, blocks},
		{"sealed, long root", long.Text(), mustSeal(t, long, plain), &yes, plain},
		{"sealed for no target", anywhere.Text(), mustSeal(t, anywhere, plain), &yes, plain},
		{"sealed under the first root of two", text + "," + other.Text(), sealed, &yes, plain},
		{"sealed under the second root of two", other.Text() + "," + text, sealed, &yes, plain},
		{"unsealed, three roots", other.Text() + "," + text + "," + text, sealed, &no, ""},
		{"unsealed, another root", other.Text(), sealed, &no, ""},
		{"unsealed, another target", istio.Text(), sealed, &no, ""},
		{"unsealed, no target", anywhere.Text(), sealed, &no, ""},
		{"unsealed, short root", "envoy:" + b64(root.Secret[:31]), sealed, &no, ""},
		{"unsealed, flipped nonce bit", text, change(0), &no, ""},
		{"unsealed, flipped text bit", text, change(24), &no, ""},
		{"unsealed, flipped tag bit", text, change(len(rawSealed(t, sealed)) - 1), &no, ""},
		{"unsealed, cut inside the tag", text, sealed[:54], &no, ""},
		{"unsealed, cut inside the nonce", text, sealed[:10], &no, ""},
		{"unsealed, nothing", text, "", &no, ""},
		{"unsealed, nothing but a version", text, sealVersion, &no, ""},
		{"unsealed, without a version", b64(root.Secret), "8LGB2v0kwIgbMicvD3f0S9nhS391ewCzi8H9IJJJ6t-Lp7MtdxKBmMl2Paw2RzKmddYh", &no, ""},
		{"unsealed, another version", text, "3." + strings.TrimPrefix(sealed, sealVersion), &no, ""},
		{"unsealed, padded", text, mustSeal(t, root, "ab") + "==", &no, ""},
		{"unsealed, spare bits", text, spareBits(mustSeal(t, root, "a")), &no, ""},
		{"unsealed, line break", text, sealed + "\n", &no, ""},
		{"unsealed, a nonce of its own", text, sealWith(t, root, bytes.Repeat([]byte{7}, 24), plain), &no, ""},
	}
}

// spareBits sets the last spare bit of a text that has some.
func spareBits(sealed string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	end := len(sealed) - 1
	return sealed[:end] + string(alphabet[strings.IndexByte(alphabet, sealed[end])|1])
}

// sealWith seals correctly but for the nonce.
func sealWith(t *testing.T, root Root, nonce []byte, plain string) string {
	key, _ := root.sealing(&sealedRing)
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		t.Fatal(err)
	}
	return sealVersion + b64(aead.Seal(nonce, nonce, []byte(plain), []byte(sealedRing.sealedFor+root.Target)))
}

func mustSeal(t testing.TB, root Root, plain string) string {
	t.Helper()
	sealed, err := root.Seal([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func decodeB64(t testing.TB, s string) []byte {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
