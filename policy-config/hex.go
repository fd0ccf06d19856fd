package policyconfig

import (
	"strconv"
	"strings"
)

// The lengths of a tag of 32 bits, and of a session's id and a tag of 64, in hexadecimal digits.
const (
	tagDigits = 8
	idDigits  = 16
)

// formatHex writes a number in so many hexadecimal digits.
func formatHex(number uint64, digits int) string {
	text := strconv.FormatUint(number, 16)
	return strings.Repeat("0", digits-len(text)) + text
}

// parseHex reads a number of so many hexadecimal digits in lower case; false for 0, which no tag and no id is, and for
// what is none.
func parseHex(s string, digits int) (number uint64, ok bool) {
	if len(s) != digits || strings.Trim(s, "0123456789abcdef") != "" {
		return 0, false
	}
	number, err := strconv.ParseUint(s, 16, 64)
	return number, err == nil && number != 0
}
