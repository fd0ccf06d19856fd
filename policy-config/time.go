package policyconfig

import (
	"errors"
	"strconv"
)

// Time is a moment in whole seconds since 1970-01-01T00:00:00Z, leap seconds not counted. 0 means absent.
// Its text is RFC 3339 without fractions, such as "2026-11-21T08:00:00Z".
//
// Reading and writing it here spares limpet.wasm package time's layouts and zones, for which it has no other use.
type Time int64

// maxTime is 9999-12-31T23:59:59Z, the last second that RFC 3339 can write.
const maxTime Time = 253402300799

var errTime = errors.New(
	"must be an RFC 3339 time of whole seconds after 1970-01-01T00:00:00Z, such as 2026-11-21T08:00:00Z",
)

// ParseTime reads RFC 3339 text (section 5.6) in upper case, without fractions of a second and leap seconds.
// The moment must be after 1970-01-01T00:00:00Z and before the year 10000 in UTC.
func ParseTime(text string) (Time, error) {
	const layout = "0000-00-00T00:00:00"
	if len(text) < len(layout)+1 || !fits(text[:len(layout)], layout) {
		return 0, errTime
	}
	year, month, day := number(text[0:4]), number(text[5:7]), number(text[8:10])
	h, m, s := number(text[11:13]), number(text[14:16]), number(text[17:19])
	offset, ok := zone(text[len(layout):])
	if !ok || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || h > 23 || m > 59 || s > 59 {
		return 0, errTime
	}
	t := Time(days(year, month, day)*86400 + h*3600 + m*60 + s - offset)
	if t <= 0 || t > maxTime {
		return 0, errTime
	}
	return t, nil
}

// zone reads "Z" or an offset such as "+01:00", in seconds east of UTC.
func zone(text string) (offset int64, ok bool) {
	if text == "Z" {
		return 0, true
	}
	if !fits(text, "+00:00") && !fits(text, "-00:00") {
		return 0, false
	}
	h, m := number(text[1:3]), number(text[4:6])
	offset = h*3600 + m*60
	if text[0] == '-' {
		offset = -offset
	}
	return offset, h <= 23 && m <= 59
}

// fits reports whether text has a digit wherever the layout has 0, and the layout's own character elsewhere.
func fits(text, layout string) bool {
	if len(text) != len(layout) {
		return false
	}
	for i := range len(text) {
		if layout[i] == '0' && !digit(text[i]) || layout[i] != '0' && text[i] != layout[i] {
			return false
		}
	}
	return true
}

func number(digits string) (n int64) {
	for i := range len(digits) {
		n = n*10 + int64(digits[i]-'0')
	}
	return n
}

func leap(year int64) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func daysIn(year, month int64) int64 {
	if month == 2 && leap(year) {
		return 29
	}
	return [...]int64{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1]
}

// days counts from 1970-01-01 to a date of the years 0 to 9999.
func days(year, month, day int64) int64 {
	n := 365*(year-1970) + leapYearsBefore(year) - leapYearsBefore(1970) + day - 1
	for m := int64(1); m < month; m++ {
		n += daysIn(year, m)
	}
	return n
}

// leapYearsBefore counts the leap years from year 0 on.
func leapYearsBefore(year int64) int64 {
	if year <= 0 {
		return 0
	}
	y := year - 1
	return y/4 - y/100 + y/400 + 1 // year 0 is one
}

// String writes RFC 3339 text in UTC. A moment that ParseTime would not give is written as a number of seconds.
func (t Time) String() string {
	if t <= 0 || t > maxTime {
		return strconv.FormatInt(int64(t), 10)
	}
	left, clock := int64(t)/86400, int64(t)%86400
	year, month := 1970+left/366, int64(1) // never too late, and at most 17 years too early
	left -= days(year, 1, 1)
	for n := daysOf(year); left >= n; n = daysOf(year) {
		left -= n
		year++
	}
	for n := daysIn(year, month); left >= n; n = daysIn(year, month) {
		left -= n
		month++
	}
	b := appendDigits(nil, year, 4, '-')
	b = appendDigits(b, month, 2, '-')
	b = appendDigits(b, left+1, 2, 'T')
	b = appendDigits(b, clock/3600, 2, ':')
	b = appendDigits(b, clock/60%60, 2, ':')
	return string(appendDigits(b, clock%60, 2, 'Z'))
}

func daysOf(year int64) int64 {
	if leap(year) {
		return 366
	}
	return 365
}

func appendDigits(b []byte, n int64, width int, after byte) []byte {
	for at := width - 1; at >= 0; at-- {
		power := int64(1)
		for range at {
			power *= 10
		}
		b = append(b, byte('0'+n/power%10))
	}
	return append(b, after)
}

// MarshalText writes the time as String does; encoding/json makes a JSON string of it.
func (t Time) MarshalText() ([]byte, error) {
	if t <= 0 || t > maxTime {
		return nil, errors.New("time of " + t.String() + " seconds: " + errTime.Error())
	}
	return []byte(t.String()), nil
}
