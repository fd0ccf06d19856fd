package policyconfig

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	for text, want := range map[string]Time{
		"1970-01-01T00:00:01Z":      1,
		"2000-02-29T12:00:00Z":      951825600,
		"2026-11-21T08:00:00Z":      1795248000,
		"2026-11-21T08:00:00+01:00": 1795244400,
		"2026-11-21T08:00:00-23:59": 1795334340,
		"2026-11-21T08:00:00-00:00": 1795248000,
		"1969-12-31T23:59:59-01:00": 3599,
		"9999-12-31T23:59:59Z":      maxTime,
	} {
		if got, err := ParseTime(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", text, int64(got), err, int64(want))
		}
	}
}

func TestParseTimeRefuses(t *testing.T) {
	for _, text := range []string{
		"", "2026", "2026-11-21", "2026-11-21T08:00:00", "2026-11-21 08:00:00Z", "2026-11-21t08:00:00Z", "2026-11-21T08:00:00z",
		"2026-11-21T08:00:00.5Z", "2026-11-21T08:00:00.000Z", "2026-11-21T08:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
		"2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-04-00T00:00:00Z", "2026-11-21T24:00:00Z",
		"2026-11-21T23:60:00Z", "2026-11-21T23:59:60Z", "2026-11-21T08:00:00+24:00", "2026-11-21T08:00:00+01:60",
		"2026-11-21T08:00:00+0100", "2026-11-21T08:00:00+01", "2026-11-21T08:00:00ZZ", "+026-11-21T08:00:00Z", " 2026-11-21T08:00:00Z",
		"1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "1970-01-01T00:30:00+01:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-00:01",
	} {
		if got, err := ParseTime(text); err == nil || got != 0 {
			t.Errorf("%q: got %d, want an error", text, int64(got))
		}
	}
}

// Some second of every ninth day from 1970 to 9999, against package time.
func TestTimeAgreesWithPackageTime(t *testing.T) {
	for unix := int64(1); unix <= int64(maxTime); unix += 9*86400 + 7 {
		want := time.Unix(unix, 0).UTC().Format(time.RFC3339)
		if got := Time(unix).String(); got != want {
			t.Fatalf("%d: written as %s, want %s", unix, got, want)
		}
		if got, err := ParseTime(want); err != nil || got != Time(unix) {
			t.Fatalf("%s: got %d, %v; want %d", want, int64(got), err, unix)
		}
	}
}

// FuzzTime holds ParseTime against package time, which takes more: fractions, one digit for the hour, any year.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-11-21T08:00:00Z", "2026-11-21T08:00:00+01:00", "2026-02-29T00:00:00Z", "1970-01-01T00:00:00Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseTime(text)
		want, wantErr := time.Parse(time.RFC3339, text)
		if err == nil && (wantErr != nil || want.Unix() != int64(got)) {
			t.Fatalf("%q: got %d, package time %d, %v", text, int64(got), want.Unix(), wantErr)
		}
		inRange := want.Unix() > 0 && want.Unix() <= int64(maxTime)
		if err != nil && wantErr == nil && inRange && want.Format(time.RFC3339) == text {
			t.Fatalf("%q: refused", text)
		}
	})
}

func TestTimeMarshalText(t *testing.T) {
	for _, timestamp := range []Time{-1, 0, maxTime + 1} {
		if text, err := timestamp.MarshalText(); err == nil {
			t.Errorf("%d was written as %q", int64(timestamp), text)
		}
	}
}
