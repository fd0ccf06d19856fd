package token

import (
	"crypto/sha256"
	"encoding"
	"hash"
)

// chain is SHA-256's chain value between two blocks.
type chain [sha256.Size]byte

// macKey is a key of HMAC-SHA256 (RFC 2104) with its first two blocks, the padded key, already hashed.
// It is 64 bytes where a hash.Hash from crypto/hmac takes 576, and a filter holds a few for each of up to
// 10,000 scopes; and a MAC over a token hashes two blocks instead of four.
type macKey struct{ inner, outer chain }

// savable is what crypto/sha256 promises of its hashes: they save and restore their state.
type savable interface {
	hash.Hash
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// A saved state is a magic of four bytes, the chain value, a partial block and the length in bytes.
const (
	chainStart = 4
	chainEnd   = chainStart + sha256.Size
	stateLen   = chainEnd + sha256.BlockSize + 8
)

// hasher computes MACs in its own memory, without allocating. It is not safe for concurrent use.
type hasher struct {
	sha   savable
	state [stateLen]byte // a saved state after one block; resume fills in the chain value
	block [sha256.BlockSize]byte
	sum   [sha256.Size]byte
}

func newHasher() *hasher {
	h := &hasher{sha: sha256.New().(savable)}
	h.first(nil, 0) // leaves the frame of a saved state in h.state
	return h
}

// expand prepares a key of any length.
func (h *hasher) expand(key []byte) macKey {
	if len(key) > sha256.BlockSize {
		short := sha256.Sum256(key)
		key = short[:]
	}
	return macKey{inner: h.first(key, 0x36), outer: h.first(key, 0x5c)}
}

// first returns the chain value after the first block: the key, filled up with zeros, each byte XORed with pad.
func (h *hasher) first(key []byte, pad byte) chain {
	h.block = [sha256.BlockSize]byte{}
	copy(h.block[:], key)
	for i := range h.block {
		h.block[i] ^= pad
	}
	h.sha.Reset()
	h.sha.Write(h.block[:])
	if _, err := h.sha.AppendBinary(h.state[:0]); err != nil {
		panic("token: saving a SHA-256 state: " + err.Error()) // it has no way to fail
	}
	return chain(h.state[chainStart:chainEnd])
}

// mac returns HMAC-SHA256(key, message) in memory that the next call writes to.
// The message must be on the heap already, or it will be put there.
func (h *hasher) mac(key *macKey, message []byte) []byte {
	h.resume(&key.inner)
	h.sha.Write(message)
	inner := h.sha.Sum(h.sum[:0])
	h.resume(&key.outer)
	h.sha.Write(inner)
	return h.sha.Sum(h.sum[:0])
}

func (h *hasher) resume(c *chain) {
	copy(h.state[chainStart:], c[:])
	if err := h.sha.UnmarshalBinary(h.state[:]); err != nil {
		panic("token: restoring a SHA-256 state: " + err.Error()) // only another layout of it could fail
	}
}
