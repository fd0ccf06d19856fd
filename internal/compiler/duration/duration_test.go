package duration

import (
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "250ms": 250 * time.Millisecond, "1h30m": 90 * time.Minute, "1s500ms1s": 2500 * time.Millisecond,
		"99999h99999h99999h99999h": 4 * 99999 * time.Hour,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1.5h", "-1h", "+1h", "1us", "1d", "100000s", "1h1m1s1ms1h", "0"} { // Go reads most of these
		if got, err := Parse(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
