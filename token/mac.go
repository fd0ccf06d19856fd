package token

// macKey is a key of HMAC-SHA256 (RFC 2104) with its first two blocks, the padded key, already hashed.
// It is 64 bytes where a hash.Hash from crypto/hmac takes 576, and a filter holds a few for each of up to
// 10,000 scopes; and a MAC over a token hashes two blocks instead of four.
type macKey struct{ inner, outer chain }

// newMACKey prepares a key of any length.
func newMACKey(key []byte) macKey {
	if len(key) > blockLen {
		short := hashFrom(firstChain, 0, key)
		key = short[:]
	}
	return macKey{inner: padded(key, 0x36), outer: padded(key, 0x5c)}
}

// padded returns the chain value after the first block: the key, filled up with zeros, each byte XORed with pad.
func padded(key []byte, pad byte) chain {
	var block [blockLen]byte
	copy(block[:], key)
	for i := range block {
		block[i] ^= pad
	}
	c := firstChain
	c.compress(block[:])
	return c
}

// mac returns HMAC-SHA256(k, message).
func (k *macKey) mac(message []byte) [hashLen]byte {
	inner := hashFrom(k.inner, blockLen, message)
	return hashFrom(k.outer, blockLen, inner[:])
}
