package token

import (
	"strings"
	"testing"
)

// TestPlausible tries all flags in tokens of every length: those that may be are plausible in one length each.
func TestPlausible(t *testing.T) {
	seen := map[int]bool{}
	for flags := range 256 {
		head := b64([]byte{version, byte(flags), 0xff})
		for n := range MaxLen + 4 {
			if n < len(head) {
				continue
			}
			want := knownFlags(byte(flags)) && n == textLen(rawLen(byte(flags)))
			if got := Plausible(head + strings.Repeat("A", n-len(head))); got != want {
				t.Errorf("flags %08b in %d characters: %v", flags, n, got)
			}
			seen[n] = seen[n] || want
		}
	}
	for n := range MaxLen + 4 {
		if knownLen(n) != seen[n] {
			t.Errorf("a token of %d characters: known %v, possible %v", n, knownLen(n), seen[n])
		}
	}
	for _, tok := range []string{"", "A", "AQ", "AQA", "AQA" + strings.Repeat("A", Len4-4)} {
		if Plausible(tok) {
			t.Errorf("%q is plausible", tok)
		}
	}
}

// TestPlausibleBeginnings tries every character in each of the first three places, at lengths that one set of parts has.
func TestPlausibleBeginnings(t *testing.T) {
	for _, test := range []struct {
		name, second, third string
		length              int
	}{
		{"no parts", "Q", "ABCDEFGH", Len4},
		{"a session id", "Q", "QRSTUVWX", 107},
	} {
		good := "A" + test.second + test.third[:1] + strings.Repeat("A", test.length-3)
		for c := range 256 {
			one := string([]byte{byte(c)})
			for at, want := range []string{"A", test.second, test.third} {
				if got := Plausible(good[:at] + one + good[at+1:]); got != strings.Contains(want, one) {
					t.Errorf("%s: %q in place %d: %v", test.name, one, at, got)
				}
			}
		}
	}
}
