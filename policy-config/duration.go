package policyconfig

import (
	"errors"
	"strconv"
)

// Duration is a span of time in whole seconds, from 0 to MaxDuration. Its text is that of GEP-2257, such as "1h30m".
type Duration int64

// MaxDuration is ten years of 365 days, the longest that the plugin configuration takes.
const MaxDuration Duration = 10 * 365 * 24 * hour

const (
	second Duration = 1
	minute          = 60 * second
	hour            = 60 * minute
)

var (
	errDurationText = errors.New("must be a GEP-2257 duration, such as 1h30m: " +
		"one to four parts, each of one to five digits and h, m, s or ms")
	errDurationSeconds = errors.New("must be whole seconds")
	errDurationLong    = errors.New("must be at most " + MaxDuration.String())
)

// DurationPattern is what GEP-2257 text matches.
const DurationPattern = "^([0-9]{1,5}(h|m|s|ms)){1,4}$"

// ParseMilliseconds reads GEP-2257 text: it matches DurationPattern and is the sum of its parts, in any order, repeated
// ones too.
func ParseMilliseconds(text string) (int64, error) {
	if text == "" {
		return 0, errDurationText
	}
	var milliseconds int64
	for parts := 0; text != ""; parts++ {
		part, rest, ok := durationPart(text)
		if !ok || parts == 4 {
			return 0, errDurationText
		}
		milliseconds += part
		text = rest
	}
	return milliseconds, nil
}

// ParseDuration reads GEP-2257 text. Beyond the GEP, it must be whole seconds and at most MaxDuration.
func ParseDuration(text string) (Duration, error) {
	milliseconds, err := ParseMilliseconds(text)
	if err != nil {
		return 0, err
	}
	if milliseconds%1000 != 0 {
		return 0, errDurationSeconds
	}
	d := Duration(milliseconds / 1000)
	if d > MaxDuration {
		return 0, errDurationLong
	}
	return d, nil
}

// durationPart reads one number with its unit, in milliseconds.
func durationPart(text string) (milliseconds int64, rest string, ok bool) {
	n := 0
	for n < len(text) && digit(text[n]) {
		milliseconds = milliseconds*10 + int64(text[n]-'0')
		n++
		if n > 5 {
			return 0, "", false
		}
	}
	unit, rest := durationUnit(text[n:])
	return milliseconds * unit, rest, n > 0 && unit > 0
}

// durationUnit reads a unit's name; the unit is in milliseconds, 0 for none.
func durationUnit(text string) (unit int64, rest string) {
	switch {
	case len(text) >= 2 && text[:2] == "ms":
		return 1, text[2:]
	case text == "":
		return 0, ""
	case text[0] == 'h':
		return int64(hour) * 1000, text[1:]
	case text[0] == 'm':
		return int64(minute) * 1000, text[1:]
	case text[0] == 's':
		return int64(second) * 1000, text[1:]
	}
	return 0, ""
}

// String writes the standard form of GEP-2257: largest units first, none repeated, zero as "0s".
func (d Duration) String() string {
	if d <= 0 {
		return strconv.FormatInt(int64(d), 10) + "s"
	}
	var b []byte
	for _, unit := range [...]struct {
		length Duration
		name   byte
	}{{hour, 'h'}, {minute, 'm'}, {second, 's'}} {
		if n := d / unit.length; n > 0 {
			b = append(strconv.AppendInt(b, int64(n), 10), unit.name)
			d %= unit.length
		}
	}
	return string(b)
}

// MarshalText writes the duration as String does; encoding/json makes a JSON string of it.
func (d Duration) MarshalText() ([]byte, error) {
	if d < 0 || d > MaxDuration {
		return nil, errors.New(
			"duration of " + strconv.FormatInt(int64(d), 10) + " seconds: must be 0s to " + MaxDuration.String(),
		)
	}
	return []byte(d.String()), nil
}
