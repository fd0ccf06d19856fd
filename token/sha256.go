package token

import (
	"encoding/binary"
	"math/bits"
)

// chain is SHA-256's chain value between two blocks (FIPS 180-4 §6.2.2: the words H0 to H7).
//
// The standard library's SHA-256 can only start from a saved state by way of bytes and an interface, and TinyGo puts
// its memory on the heap; compress takes half of its instructions in the filter (docs/performance.md).
type chain [8]uint32

const (
	blockLen = 64
	hashLen  = 32
)

// firstChain is the chain value before the first block (FIPS 180-4 §5.3.3).
var firstChain = chain{
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
}

// roundKeys are the constants of FIPS 180-4 §4.2.2.
var roundKeys = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

// hashFrom returns the SHA-256 of a message whose first bytes, before of them and whole blocks, made c.
func hashFrom(c chain, before int, message []byte) (hash [hashLen]byte) {
	length := before + len(message)
	for len(message) >= blockLen {
		c.compress(message)
		message = message[blockLen:]
	}
	var last [blockLen]byte
	n := copy(last[:], message)
	last[n] = 0x80
	if n >= blockLen-8 { // no room for the length
		c.compress(last[:])
		last = [blockLen]byte{}
	}
	binary.BigEndian.PutUint64(last[blockLen-8:], uint64(length)*8)
	c.compress(last[:])
	for i, word := range c {
		binary.BigEndian.PutUint32(hash[4*i:], word)
	}
	return hash
}

// compress takes in one block. Sixteen rounds stand side by side, so that no variable has to move and no place in the
// message schedule has to be computed.
func (ch *chain) compress(block []byte) {
	var w [16]uint32
	for i := range w {
		w[i] = binary.BigEndian.Uint32(block[4*i:])
	}
	a, b, c, d, e, f, g, h := ch[0], ch[1], ch[2], ch[3], ch[4], ch[5], ch[6], ch[7]
	for i := 0; i < 64; i += 16 {
		if i > 0 {
			schedule(&w)
		}
		k := roundKeys[i : i+16 : i+16]
		d, h = round(a, b, c, d, e, f, g, h, k[0]+w[0])
		c, g = round(h, a, b, c, d, e, f, g, k[1]+w[1])
		b, f = round(g, h, a, b, c, d, e, f, k[2]+w[2])
		a, e = round(f, g, h, a, b, c, d, e, k[3]+w[3])
		h, d = round(e, f, g, h, a, b, c, d, k[4]+w[4])
		g, c = round(d, e, f, g, h, a, b, c, k[5]+w[5])
		f, b = round(c, d, e, f, g, h, a, b, k[6]+w[6])
		e, a = round(b, c, d, e, f, g, h, a, k[7]+w[7])
		d, h = round(a, b, c, d, e, f, g, h, k[8]+w[8])
		c, g = round(h, a, b, c, d, e, f, g, k[9]+w[9])
		b, f = round(g, h, a, b, c, d, e, f, k[10]+w[10])
		a, e = round(f, g, h, a, b, c, d, e, k[11]+w[11])
		h, d = round(e, f, g, h, a, b, c, d, k[12]+w[12])
		g, c = round(d, e, f, g, h, a, b, c, k[13]+w[13])
		f, b = round(c, d, e, f, g, h, a, b, k[14]+w[14])
		e, a = round(b, c, d, e, f, g, h, a, k[15]+w[15])
	}
	ch[0] += a
	ch[1] += b
	ch[2] += c
	ch[3] += d
	ch[4] += e
	ch[5] += f
	ch[6] += g
	ch[7] += h
}

// schedule makes the next sixteen words of the message schedule in place of the last ones.
func schedule(w *[16]uint32) {
	w[0] = next(w[0], w[1], w[9], w[14])
	w[1] = next(w[1], w[2], w[10], w[15])
	w[2] = next(w[2], w[3], w[11], w[0])
	w[3] = next(w[3], w[4], w[12], w[1])
	w[4] = next(w[4], w[5], w[13], w[2])
	w[5] = next(w[5], w[6], w[14], w[3])
	w[6] = next(w[6], w[7], w[15], w[4])
	w[7] = next(w[7], w[8], w[0], w[5])
	w[8] = next(w[8], w[9], w[1], w[6])
	w[9] = next(w[9], w[10], w[2], w[7])
	w[10] = next(w[10], w[11], w[3], w[8])
	w[11] = next(w[11], w[12], w[4], w[9])
	w[12] = next(w[12], w[13], w[5], w[10])
	w[13] = next(w[13], w[14], w[6], w[11])
	w[14] = next(w[14], w[15], w[7], w[12])
	w[15] = next(w[15], w[0], w[8], w[13])
}

// next is the word behind sixteen others, of which it takes the first, the second, the tenth and the fifteenth.
func next(w0, w1, w9, w14 uint32) uint32 {
	sigma0 := bits.RotateLeft32(w1, -7) ^ bits.RotateLeft32(w1, -18) ^ w1>>3
	sigma1 := bits.RotateLeft32(w14, -17) ^ bits.RotateLeft32(w14, -19) ^ w14>>10
	return w0 + sigma0 + w9 + sigma1
}

// round is one step; it returns the new values of d and h. kw is the round's constant plus its word of the message.
func round(a, b, c, d, e, f, g, h, kw uint32) (uint32, uint32) {
	t := h + (bits.RotateLeft32(e, -6) ^ bits.RotateLeft32(e, -11) ^ bits.RotateLeft32(e, -25)) + (g ^ e&(f^g)) + kw
	return d + t, t + (bits.RotateLeft32(a, -2) ^ bits.RotateLeft32(a, -13) ^ bits.RotateLeft32(a, -22)) + (a&b | c&(a|b))
}
