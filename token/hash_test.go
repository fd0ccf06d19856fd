package token

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"testing"
)

// TestMAC compares with crypto/hmac around the lengths where SHA-256's padding and HMAC's key handling change.
func TestMAC(t *testing.T) {
	h := newHasher()
	for _, keyLen := range []int{0, 1, 32, 63, 64, 65, 200} {
		key := h.expand(countUp(byte(keyLen), keyLen))
		for _, messageLen := range []int{0, 1, 40, 52, 55, 56, 63, 64, 65, 119, 120, 1000} {
			message := countUp(7, messageLen)
			want := hmac.New(sha256.New, countUp(byte(keyLen), keyLen))
			want.Write(message)
			if got := h.mac(&key, message); !bytes.Equal(got, want.Sum(nil)) {
				t.Errorf("key of %d bytes, message of %d: %x, want %x", keyLen, messageLen, got, want.Sum(nil))
			}
		}
	}
}
