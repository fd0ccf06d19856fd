package session

import "unsafe"

// stringOf shows bytes as a string without copying; the bytes must not change while the string is used.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf shows a string as bytes without copying; they must not be written to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
