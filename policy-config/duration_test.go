package policyconfig

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The test vectors of GEP-2257, as far as whole seconds go, and the edges of every limit.
func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		text    string
		seconds Duration
		written string
	}{
		{"0h", 0, "0s"},
		{"0s", 0, "0s"},
		{"0h0m0s", 0, "0s"},
		{"0ms", 0, "0s"},
		{"1h", 3600, "1h"},
		{"30m", 1800, "30m"},
		{"10s", 10, "10s"},
		{"2h30m", 9000, "2h30m"},
		{"150m", 9000, "2h30m"},
		{"7230s", 7230, "2h30s"},
		{"1h30m10s", 5410, "1h30m10s"},
		{"10s30m1h", 5410, "1h30m10s"},
		{"1h2h20m10m", 12600, "3h30m"},
		{"01h", 3600, "1h"},
		{"00060m", 3600, "1h"},
		{"1000ms", 1, "1s"},
		{"1s500ms500ms", 2, "2s"},
		{"99999s", 99999, "27h46m39s"},
		{"87600h", MaxDuration, "87600h"},
	} {
		got, err := ParseDuration(c.text)
		if err != nil || got != c.seconds || got.String() != c.written {
			t.Errorf("%q: got %d (%s), %v; want %d (%s)", c.text, int64(got), got, err, int64(c.seconds), c.written)
		}
	}
}

func TestParseDurationRefuses(t *testing.T) {
	for want, texts := range map[error][]string{
		errDurationText: {
			"", " ", "1", "h", "0", "1m1", "1d", "1h30m10s20ms50h", "999999h", "1.5h", "-15m", "+1h", " 1h", "1h ", "1 h",
			"1H", "1us", "1hm", "ms", "1m s", "１h", "1h\n", "1h\x00",
		},
		errDurationSeconds: {"500ms", "1ms", "1s1ms", "100ms200ms300ms"},
		errDurationLong:    {"87600h1s", "99999h", "99999h99999h99999h99999h"},
	} {
		for _, text := range texts {
			if got, err := ParseDuration(text); !errors.Is(err, want) || got != 0 {
				t.Errorf("%q: got %d, %v; want %v", text, int64(got), err, want)
			}
		}
	}
}

// FuzzDuration holds ParseDuration against the GEP's own definition: the pattern, then time.ParseDuration.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"1h30m", "1000ms", "0s", "99999h", "1m1", "1h2h3h4h", "00000s", "5ms"} {
		f.Add(s)
	}
	pattern := regexp.MustCompile(`^([0-9]{1,5}(h|m|s|ms)){1,4}$`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseDuration(text)
		want, wantErr := time.ParseDuration(text)
		if strings.HasSuffix(text, "\n") || !pattern.MatchString(text) || wantErr != nil {
			if !errors.Is(err, errDurationText) {
				t.Fatalf("%q is no GEP-2257 duration: got %v", text, err)
			}
			return
		}
		whole := want%time.Second == 0 && want <= time.Duration(MaxDuration)*time.Second
		if (err == nil) != whole || whole && time.Duration(got)*time.Second != want {
			t.Fatalf("%q: got %d, %v; want %s", text, int64(got), err, want)
		}
		if again, err := ParseDuration(got.String()); err != nil || again != got {
			t.Fatalf("%q: written as %q, which reads as %d, %v", text, got, int64(again), err)
		}
	})
}

func TestDurationMarshalText(t *testing.T) {
	for _, d := range []Duration{-1, MaxDuration + 1} {
		if text, err := d.MarshalText(); err == nil {
			t.Errorf("%d seconds were written as %q", int64(d), text)
		}
	}
}
