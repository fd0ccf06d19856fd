package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"math/rand/v2"
	"testing"

	"golang.org/x/crypto/chacha20"
)

// TestSHA256 compares with the standard library at every length around the ends of the first four blocks.
func TestSHA256(t *testing.T) {
	for length := range 4*blockLen + 1 {
		message := countUp(byte(length), length)
		if got, want := hashFrom(firstChain, 0, message), sha256.Sum256(message); got != want {
			t.Errorf("%d bytes: %x, want %x", length, got, want)
		}
	}
}

// TestMAC compares with crypto/hmac around the lengths where SHA-256's padding and HMAC's key handling change.
func TestMAC(t *testing.T) {
	for _, keyLen := range []int{0, 1, 32, 63, 64, 65, 200} {
		key := newMACKey(countUp(byte(keyLen), keyLen))
		for _, messageLen := range []int{0, 1, 40, 52, 55, 56, 63, 64, 65, 119, 120, 1000} {
			message := countUp(7, messageLen)
			want := hmac.New(sha256.New, countUp(byte(keyLen), keyLen))
			want.Write(message)
			if got := key.mac(message); !hmac.Equal(got[:], want.Sum(nil)) {
				t.Errorf("key of %d bytes, message of %d: %x, want %x", keyLen, messageLen, got, want.Sum(nil))
			}
		}
	}
}

// TestChaCha20 compares with x/crypto for random keys and nonces, and FuzzPrimitives goes on from there.
func TestChaCha20(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	for range 1000 {
		var seed [32 + nonceLen]byte
		_, _ = random.Read(seed[:]) // it never fails
		compareChaCha20(t, seed)
	}
}

func compareChaCha20(t *testing.T, seed [32 + nonceLen]byte) {
	t.Helper()
	cipher, err := chacha20.NewUnauthenticatedCipher(seed[:32], seed[32:])
	if err != nil {
		t.Fatal(err)
	}
	var want [blockLen]byte
	cipher.XORKeyStream(want[:], want[:])
	if got := chachaBlock((*[32]byte)(seed[:32]), seed[32:]); got != want {
		t.Errorf("key and nonce %x: %x, want %x", seed, got, want)
	}
}

// FuzzPrimitives holds our own SHA-256 and ChaCha20 against the libraries'.
func FuzzPrimitives(f *testing.F) {
	f.Add([]byte{}, []byte{})
	f.Add(countUp(0, 32+nonceLen), countUp(0, 52))
	f.Add(countUp(9, 32+nonceLen), countUp(9, 500))
	f.Fuzz(func(t *testing.T, seed, message []byte) {
		if got, want := hashFrom(firstChain, 0, message), sha256.Sum256(message); got != want {
			t.Errorf("SHA-256 of %x: %x, want %x", message, got, want)
		}
		var block [32 + nonceLen]byte
		copy(block[:], seed)
		compareChaCha20(t, block)
	})
}
