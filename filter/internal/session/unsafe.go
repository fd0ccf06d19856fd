package session

import (
	"encoding/binary"
	"unsafe"
)

// stringOf shows bytes as a string without copying; the bytes must not change while the string is used.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf shows a string as bytes without copying; they must not be written to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// equal tells whether two texts are the same, eight bytes at a time. How long it takes depends on their lengths alone.
func equal(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	x, y := bytesOf(a), bytesOf(b)
	var differ uint64
	for len(x) >= 8 && len(y) >= 8 {
		differ |= binary.LittleEndian.Uint64(x) ^ binary.LittleEndian.Uint64(y)
		x, y = x[8:], y[8:]
	}
	for i, c := range x {
		differ |= uint64(c ^ y[i])
	}
	return differ == 0
}
