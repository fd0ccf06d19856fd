package token

import (
	"encoding/binary"
	"math/bits"
)

// cryptBody hides parts and host, or shows them again: XOR with the start of ChaCha20's block 0 (RFC 8439 §2.3), which
// is all that they need. x/crypto's cipher does the same on the heap, in three times as many instructions.
func (k *scopeKey) cryptBody(body, nonce []byte) {
	stream := chachaBlock(&k.host, nonce)
	for i := range body {
		body[i] ^= stream[i]
	}
}

// chachaBlock is block 0 of the key stream.
func chachaBlock(key *[32]byte, nonce []byte) (stream [64]byte) {
	start := [16]uint32{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574} // "expand 32-byte k"; word 12, the counter, is 0
	for i := range 8 {
		start[4+i] = binary.LittleEndian.Uint32(key[4*i:])
	}
	for i := range 3 {
		start[13+i] = binary.LittleEndian.Uint32(nonce[4*i:])
	}
	s := start
	for range 10 {
		s[0], s[4], s[8], s[12] = quarterRound(s[0], s[4], s[8], s[12])
		s[1], s[5], s[9], s[13] = quarterRound(s[1], s[5], s[9], s[13])
		s[2], s[6], s[10], s[14] = quarterRound(s[2], s[6], s[10], s[14])
		s[3], s[7], s[11], s[15] = quarterRound(s[3], s[7], s[11], s[15])
		s[0], s[5], s[10], s[15] = quarterRound(s[0], s[5], s[10], s[15])
		s[1], s[6], s[11], s[12] = quarterRound(s[1], s[6], s[11], s[12])
		s[2], s[7], s[8], s[13] = quarterRound(s[2], s[7], s[8], s[13])
		s[3], s[4], s[9], s[14] = quarterRound(s[3], s[4], s[9], s[14])
	}
	for i := range s {
		binary.LittleEndian.PutUint32(stream[4*i:], s[i]+start[i])
	}
	return stream
}

// quarterRound is RFC 8439 §2.1.
func quarterRound(a, b, c, d uint32) (uint32, uint32, uint32, uint32) {
	a += b
	d = bits.RotateLeft32(d^a, 16)
	c += d
	b = bits.RotateLeft32(b^c, 12)
	a += b
	d = bits.RotateLeft32(d^a, 8)
	c += d
	b = bits.RotateLeft32(b^c, 7)
	return a, b, c, d
}
