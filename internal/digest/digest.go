// Package digest has what limpet knows of SHA-256 sums as people and registries write them.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// OfBytes is the SHA-256 of data, as [IsHex] wants it.
func OfBytes(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// IsHex tells whether text is a SHA-256: 64 hexadecimal digits in lower case.
func IsHex(text string) bool {
	return len(text) == 2*sha256.Size && strings.Trim(text, "0123456789abcdef") == ""
}

// Mark stands between a reference and the SHA-256 of its content.
const Mark = "@sha256:"

// FromReference gives what a reference to an image pins its content by, NAME@sha256:DIGEST; false where it pins
// nothing.
func FromReference(reference string) (sum string, pinned bool) {
	_, sum, pinned = strings.Cut(reference, Mark)
	return sum, pinned
}
