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
