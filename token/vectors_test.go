package token

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"
)

const vectorsPath = "testdata/vectors.json"

// The types of testdata/vectors.json. Its rings have the form of LIMPET_KEYS.
type (
	vectorFile struct {
		Rings     map[string]ringJSON `json:"rings"`
		Tokens    []vector            `json:"tokens"`
		Envelopes []envelopeVector    `json:"envelopes"`
		Tickets   []ticketVector      `json:"tickets"`
		Digests   []digestVector      `json:"digests"`
		// Fingerprints are those of all rings.
		Fingerprints []fingerprintVector `json:"fingerprints"`
		Sealed       []sealVector        `json:"sealed"`
	}
	ringJSON struct {
		Keys []keyJSON `json:"keys"`
	}
	keyJSON struct {
		ID        string    `json:"id"`
		Secret    string    `json:"secret"`
		NotBefore time.Time `json:"notBefore,omitzero"`
		NotAfter  time.Time `json:"notAfter,omitzero"`
	}
	vector struct {
		Name    string       `json:"name"`
		Ring    string       `json:"ring"`
		Scope   string       `json:"scope"`
		Rules   rulesJSON    `json:"rules"`
		Now     int64        `json:"now"`
		Token   string       `json:"token"`
		Verdict string       `json:"verdict,omitempty"`
		Reason  string       `json:"reason,omitempty"`
		Session *sessionJSON `json:"session,omitempty"`
	}
	rulesJSON struct {
		AbsoluteTimeout int64  `json:"absoluteTimeout"`
		IdleTimeout     int64  `json:"idleTimeout"`
		Skew            int64  `json:"skew"`
		Epoch           uint32 `json:"epoch"`
		NotBefore       int64  `json:"notBefore"`
	}
	sessionJSON struct {
		Host     string `json:"host"`
		IssuedAt int64  `json:"issuedAt"`
		LastSeen int64  `json:"lastSeen"`
		Epoch    uint32 `json:"epoch"`
		Key      string `json:"key"`
		Hidden   bool   `json:"hidden"`
		// Parts is there for tokens with parts.
		Parts *partsJSON `json:"parts,omitempty"`
	}
	// partsJSON has each part in hexadecimal digits.
	partsJSON struct {
		ID      string `json:"id,omitempty"`
		Backend string `json:"backend,omitempty"`
		Owner   string `json:"owner,omitempty"`
		Named   bool   `json:"named,omitempty"`
	}
	envelopeVector struct {
		Name     string    `json:"name"`
		Ring     string    `json:"ring"`
		Scope    string    `json:"scope"`
		Rules    rulesJSON `json:"rules"`
		Now      int64     `json:"now"`
		Envelope string    `json:"envelope"`
		envelopeAnswer
	}
	// envelopeAnswer has value and attributes in base64, for they may be any bytes.
	envelopeAnswer struct {
		Form       bool   `json:"form"`
		Value      string `json:"value,omitempty"`
		Signed     bool   `json:"signed"`
		Attributes string `json:"attributes,omitempty"`
		Verdict    string `json:"verdict,omitempty"`
	}
	ticketVector struct {
		Name   string `json:"name"`
		Ring   string `json:"ring"`
		Scope  string `json:"scope"`
		Now    int64  `json:"now"`
		Skew   int64  `json:"skew"`
		Ticket string `json:"ticket"`
		Good   *bool  `json:"good,omitempty"`
	}
	digestVector struct {
		Name   string `json:"name"`
		Ring   string `json:"ring"`
		Scope  string `json:"scope"`
		Now    int64  `json:"now"`
		ID     string `json:"id"`
		Digest string `json:"digest,omitempty"`
	}
	fingerprintVector struct {
		Name  string   `json:"name"` // the ring's
		Keys  []string `json:"keys"`
		Whole string   `json:"whole"`
	}
	sealVector struct {
		Name   string `json:"name"`
		Root   string `json:"root"`
		Sealed string `json:"sealed"`
		Opens  *bool  `json:"opens,omitempty"`
		Plain  string `json:"plain,omitempty"`
	}
)

func (r ringJSON) ring(t testing.TB) *Ring {
	t.Helper()
	var keys []Key
	for _, k := range r.Keys {
		secret, err := base64.RawURLEncoding.DecodeString(k.Secret)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, Key{ID: k.ID, Secret: secret, NotBefore: unix(k.NotBefore), NotAfter: unix(k.NotAfter)})
	}
	return mustRing(t, keys...)
}

// scopes gives a scope of a proxy that has the ring, and of one that has the scope's keys alone.
func (r ringJSON) scopes(t testing.TB, name string) []*Scope {
	t.Helper()
	ring := r.ring(t)
	return []*Scope{ring.Scope(name), travelled(t, ring, name)}
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func readVectors(t testing.TB) vectorFile {
	t.Helper()
	data, err := os.ReadFile(vectorsPath)
	if err != nil {
		t.Fatal(err)
	}
	var file vectorFile
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestVectorsAreCurrent makes the vectors again from the cases and compares the bytes.
func TestVectorsAreCurrent(t *testing.T) {
	compareGolden(t, vectorsPath, encodeVectors(t, makeVectors(t)))
}

// encodeVectors writes one vector a line.
func encodeVectors(t *testing.T, file vectorFile) []byte {
	var out bytes.Buffer
	out.WriteString("{\n\"rings\": {\n")
	separator := ""
	for _, name := range ringNames {
		out.WriteString(separator + `"` + name + `": `)
		out.Write(oneLine(t, file.Rings[name]))
		separator = ",\n"
	}
	out.WriteString("\n},\n\"tokens\": [")
	writeLines(t, &out, file.Tokens)
	out.WriteString("\n],\n\"envelopes\": [")
	writeLines(t, &out, file.Envelopes)
	out.WriteString("\n],\n\"tickets\": [")
	writeLines(t, &out, file.Tickets)
	out.WriteString("\n],\n\"digests\": [")
	writeLines(t, &out, file.Digests)
	out.WriteString("\n],\n\"fingerprints\": [")
	writeLines(t, &out, file.Fingerprints)
	out.WriteString("\n],\n\"sealed\": [")
	writeLines(t, &out, file.Sealed)
	out.WriteString("\n]\n}\n")
	return out.Bytes()
}

func writeLines[V any](t *testing.T, out *bytes.Buffer, vectors []V) {
	for i, v := range vectors {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.Write(oneLine(t, v))
	}
}

func oneLine(t *testing.T, v any) []byte {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(out.Bytes())
}

// TestVectors judges every token of the file through the API, with the ring and with the keys of its scope alone.
func TestVectors(t *testing.T) {
	file := readVectors(t)
	for _, v := range file.Tokens {
		t.Run(v.Name, func(t *testing.T) {
			for _, scope := range file.Rings[v.Ring].scopes(t, v.Scope) {
				sess, verdict := scope.Verify(v.Token, Rules(v.Rules), v.Now)
				if verdict.String() != v.Verdict {
					t.Errorf("verdict %s, want %s", verdict, v.Verdict)
				}
				if _, _, why := scope.open(v.Token, v.Now); why != wellFormed && why.String() != v.Reason || (why == wellFormed) != (v.Reason == "") {
					t.Errorf("malformed because of %d, want %q", why, v.Reason)
				}
				wantSession(t, v, sess)
				if !Plausible(v.Token) && verdict != Malformed {
					t.Error("not plausible, but not malformed either")
				}
			}
		})
	}
}

// wantSession compares the session with the vector's; without one it must be zero.
func wantSession(t *testing.T, v vector, sess Session) {
	t.Helper()
	if v.Session == nil {
		if sess != (Session{}) {
			t.Errorf("a session came with verdict %s", v.Verdict)
		}
		return
	}
	if got := partsOf(sess.Parts); !reflect.DeepEqual(got, v.Session.Parts) {
		t.Errorf("parts %+v, want %+v", got, v.Session.Parts)
	}
	want := Session{
		Parts:    sess.Parts,
		Host:     mustHost(t, v.Session.Host),
		IssuedAt: v.Session.IssuedAt,
		LastSeen: v.Session.LastSeen,
		Epoch:    v.Session.Epoch,
		key:      makeTag(labelKeyID, v.Session.Key),
	}
	if sess != want {
		t.Errorf("session %+v, want %+v", sess, want)
	}
	if raw, err := base64.RawURLEncoding.DecodeString(v.Token); err != nil || v.Session.Hidden != (raw[offFlags]&flagHidden != 0) {
		t.Errorf("hidden is not %v (%v)", v.Session.Hidden, err)
	}
}

// TestEnvelopeVectors opens every envelope of the file.
func TestEnvelopeVectors(t *testing.T) {
	file := readVectors(t)
	for _, v := range file.Envelopes {
		for _, scope := range file.Rings[v.Ring].scopes(t, v.Scope) {
			if got := openEnvelope(scope, v); got != v.envelopeAnswer {
				t.Errorf("%s: %+v, want %+v", v.Name, got, v.envelopeAnswer)
			}
		}
	}
}

func openEnvelope(scope *Scope, v envelopeVector) (got envelopeAnswer) {
	var e Envelope
	tok, body, ok := CutEnvelope(v.Envelope)
	if got.Form = ok && e.Decode(tok, body); got.Form {
		got.Value = b64(e.Value())
		sess, verdict := scope.Open(tok, v.Now)
		if got.Signed = verdict == Valid && e.Signed(scope, sess, v.Now); got.Signed {
			got.Attributes, got.Verdict = b64(e.Attributes()), scope.Check(sess, Rules(v.Rules), v.Now).String()
		}
	}
	return got
}

// TestTicketVectors judges every ticket of the file, and makes every digest.
func TestTicketVectors(t *testing.T) {
	file := readVectors(t)
	for _, v := range file.Tickets {
		for _, scope := range file.Rings[v.Ring].scopes(t, v.Scope) {
			if got := scope.Ticket(v.Ticket, v.Now, v.Skew); got != *v.Good {
				t.Errorf("%s: good is %t", v.Name, got)
			}
		}
	}
	for _, v := range file.Digests {
		id, err := strconv.ParseUint(v.ID, 16, 64)
		for _, scope := range file.Rings[v.Ring].scopes(t, v.Scope) {
			if got := scope.AppendDigest(nil, id, v.Now); err != nil || string(got) != v.Digest {
				t.Errorf("%s: %s, %v, want %s", v.Name, got, err, v.Digest)
			}
		}
	}
}

// TestSealVectors unseals every sealed text of the file.
func TestSealVectors(t *testing.T) {
	for _, v := range readVectors(t).Sealed {
		roots, err := ParseRoots(v.Root)
		var plain []byte
		if err == nil {
			plain, err = Unseal(roots, v.Sealed)
		}
		if (err == nil) != *v.Opens || string(plain) != v.Plain {
			t.Errorf("%s: %q, %v; want %q", v.Name, plain, err, v.Plain)
		}
	}
}

// TestVectorsCoverEverything holds the file to what issue 4 asks of it.
func TestVectorsCoverEverything(t *testing.T) {
	file := readVectors(t)
	if n := len(file.Tokens); n < 60 {
		t.Errorf("%d tokens, want at least 60", n)
	}
	if n := len(file.Sealed); n < 12 {
		t.Errorf("%d sealed texts, want at least 12", n)
	}
	if len(file.Envelopes) < 30 || len(file.Tickets) < 15 || len(file.Digests) < 4 {
		t.Errorf("%d envelopes, %d tickets and %d digests, want at least 30, 15 and 4", len(file.Envelopes), len(file.Tickets), len(file.Digests))
	}
	seen := map[string]int{}
	for _, v := range file.Tokens {
		seen["verdict "+v.Verdict]++
		seen["reason "+v.Reason]++
		seen["name "+v.Name]++
		if seen["name "+v.Name] > 1 {
			t.Errorf("two vectors are named %q", v.Name)
		}
	}
	for _, verdict := range verdictNames[Valid:HostReused] {
		if seen["verdict "+verdict] < 2 {
			t.Errorf("fewer than two vectors with verdict %s", verdict)
		}
	}
	for _, reason := range problemNames[badLength:] {
		if seen["reason "+reason] < 2 {
			t.Errorf("fewer than two vectors with reason %s", reason)
		}
	}
}
