package token

import (
	"strings"
	"testing"
)

// TestPlausible tries every third character: it must be one of those that flags 0 to 3 give, with the IPv6 flag as the length says.
func TestPlausible(t *testing.T) {
	rest4, rest6 := strings.Repeat("A", Len4-3), strings.Repeat("A", Len6-3)
	for c := range 256 {
		third := string([]byte{byte(c)})
		if got, want := Plausible("AQ"+third+rest4), strings.Contains("ABCDEFGH", third); got != want {
			t.Errorf("IPv4 with %q: %v", third, got)
		}
		if got, want := Plausible("AQ"+third+rest6), strings.Contains("IJKLMNOP", third); got != want {
			t.Errorf("IPv6 with %q: %v", third, got)
		}
	}
	for _, tok := range []string{"", "AQA", "AQA" + rest4[1:], "AQA" + rest4 + "A", "BQA" + rest4, "ARA" + rest4, "aQA" + rest4, "BQI" + rest6, "ARI" + rest6} {
		if Plausible(tok) {
			t.Errorf("%q is plausible", tok)
		}
	}
}

// TestPlausibleVersion2 tries all flags in tokens of every length: those that may be are plausible in one length each.
func TestPlausibleVersion2(t *testing.T) {
	seen := map[int]bool{}
	for flags := range 256 {
		head := b64([]byte{version2, byte(flags), 0xff})
		for n := range MaxLen + 4 {
			if n < len(head) {
				continue
			}
			want := flagsOf2(byte(flags)) && n == textLen(rawLen(byte(flags)))
			if got := Plausible(head + strings.Repeat("A", n-len(head))); got != want {
				t.Errorf("flags %08b in %d characters: %v", flags, n, got)
			}
			seen[n] = seen[n] || want
		}
	}
	seen[Len4] = true // of version 1 alone
	for n := range MaxLen + 4 {
		if knownLen(n) != seen[n] {
			t.Errorf("a token of %d characters: known %v, possible %v", n, knownLen(n), seen[n])
		}
	}
	for c := range 256 {
		third := string([]byte{byte(c)})
		if Plausible("Ag"+third+strings.Repeat("A", 107-3)) != strings.Contains("QRSTUVWX", third) {
			t.Errorf("a session id alone with %q", third)
		}
	}
}
