package token

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const docPath = "../docs/token-format.md"

// TestWorkedExamples compares the examples of docs/token-format.md with what the code does.
func TestWorkedExamples(t *testing.T) {
	page, err := os.ReadFile(docPath)
	if err != nil {
		t.Fatal(err)
	}
	want := replaceBlock(t, string(page), "## Worked example", tokenExample(t))
	want = replaceBlock(t, want, "## Sealing", sealExample(t))
	compareGolden(t, docPath, []byte(want))
}

// replaceBlock puts content into the first text block after the heading.
func replaceBlock(t *testing.T, page, heading, content string) string {
	t.Helper()
	before, section, ok := strings.Cut(page, "\n"+heading+"\n")
	intro, rest, opened := strings.Cut(section, "```text\n")
	_, after, closed := strings.Cut(rest, "```\n")
	if !ok || !opened || !closed || strings.Contains(intro, "\n## ") {
		t.Fatalf("no text block under %q", heading)
	}
	return before + "\n" + heading + "\n" + intro + "```text\n" + content + "```\n" + after
}

// listing lines up names and values; long hex takes several lines.
type listing struct{ strings.Builder }

func (l *listing) add(name, value string) {
	const width = 96
	for len(value) > width {
		fmt.Fprintf(l, "%-13s %s\n", name, value[:width])
		name, value = "", value[width:]
	}
	fmt.Fprintf(l, "%-13s %s\n", name, value)
}

func (l *listing) hex(name string, value []byte) { l.add(name, hex.EncodeToString(value)) }

func tokenExample(t *testing.T) string {
	scope, sess := cart(t)
	short := sess
	sess.Parts = allParts
	m := Minting{Now: sess.LastSeen, Nonce: [nonceLen]byte(countUp(0xa0, nonceLen))}
	tok := mustMint(t, scope, sess, m)
	secret := countUp(0, 32)
	ringKey := newMACKey(secret)
	kMAC, kHost := ringKey.mac([]byte(labelMAC+cartScope)), ringKey.mac([]byte(labelHost+cartScope))

	var l listing
	l.add("key id", "2026-11")
	l.hex("secret", secret)
	l.add("scope", cartScope)
	l.add("issued at", exampleTime(sess.IssuedAt))
	l.add("last seen", exampleTime(sess.LastSeen))
	l.add("epoch", "0")
	l.add("session id", hexOf(sess.Parts.ID, idLen))
	l.add("backend", "Service/default/cart/8080")
	l.add("pod", "5f0c2d9e-4a51-4c1b-9d0e-2f6b1a7c3e48")
	l.add("host", sess.Host.String())
	l.WriteByte('\n')
	l.hex("K_mac", kMAC[:])
	l.hex("K_host", kHost[:])
	l.add("backend tag", hexOf(uint64(sess.Parts.Backend), backendLen))
	l.add("owner tag", hexOf(sess.Parts.Owner, ownerLen))
	l.hex("host bytes", sess.Host.appendRaw(nil))
	stream := make([]byte, idLen+backendLen+ownerLen+hostLen4)
	scope.keys[0].cryptBody(stream, m.Nonce[:])
	l.hex("key stream", stream)
	l.WriteByte('\n')
	addFields(&l, decodeB64(t, tok))
	l.WriteByte('\n')
	reveal := Minting{Now: m.Now, Nonce: m.Nonce, Reveal: true}
	l.add("token", tok)
	l.add("revealed", mustMint(t, scope, sess, reveal))
	l.add("short form", mustMint(t, scope, short, m))
	return l.String()
}

func addFields(l *listing, raw []byte) {
	fields := []struct {
		name  string
		start int
	}{
		{"version", offVersion},
		{"flags", offFlags},
		{"key tag", offKeyTag},
		{"scope tag", offScopeTag},
		{"issued at", offIssuedAt},
		{"last seen", offLastSeen},
		{"epoch", offEpoch},
		{"nonce", offNonce},
		{"hidden", offBody},
		{"MAC", len(raw) - macLen},
		{"", len(raw)},
	}
	for i, f := range fields[:len(fields)-1] {
		l.hex(f.name, raw[f.start:fields[i+1].start])
	}
}

func exampleTime(seconds int64) string {
	return fmt.Sprintf("%d (%s)", seconds, time.Unix(seconds, 0).UTC().Format(time.RFC3339))
}

func sealExample(t *testing.T) string {
	root, plain := forEnvoy(countUp(0, 32)), `{"keys":[]}`
	key, nonces := root.sealing(&sealedRing)
	nonce := nonces.nonce(root.Target, []byte(plain))
	var l listing
	l.hex("root", root.Secret)
	l.add("target", root.Target)
	l.add("LIMPET_ROOT", root.Text())
	l.add("plain", plain)
	l.hex("K_seal", key)
	l.hex("nonce", nonce)
	l.add("sealed", mustSeal(t, root, plain))
	return l.String()
}
