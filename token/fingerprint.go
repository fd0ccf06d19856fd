package token

import "encoding/binary"

// Fingerprint tells keys and rings apart and reveals nothing of them. It has 48 bits, which Prometheus' numbers keep
// exactly.
type Fingerprint uint64

const (
	labelFingerprint = "limpet.dev/v1 fingerprint\x00"
	fingerprintSize  = 6
)

// String is 12 hexadecimal digits.
func (f Fingerprint) String() string {
	const digits = "0123456789abcdef"
	var text [2 * fingerprintSize]byte
	for i := range text {
		text[i] = digits[f>>(4*(len(text)-1-i))&0xf]
	}
	return string(text[:])
}

func (f Fingerprint) bytes() []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(f)<<(64-8*fingerprintSize))[:fingerprintSize]
}

// Fingerprint is equal for keys that make the same tokens.
func (k *Key) Fingerprint() Fingerprint {
	secret := newMACKey(k.Secret)
	return secret.fingerprint(k.ID)
}

func (k *macKey) fingerprint(id string) Fingerprint {
	sum := k.mac([]byte(labelFingerprint + id))
	return fingerprintFrom(sum[:])
}

// fingerprintFrom reads a fingerprint at the beginning of eight bytes or more.
func fingerprintFrom(raw []byte) Fingerprint {
	return Fingerprint(binary.BigEndian.Uint64(raw) >> (64 - 8*fingerprintSize))
}

// Fingerprint is equal for rings of the same keys in the same order, whenever these sign and verify.
func (r *Ring) Fingerprint() Fingerprint { return r.fingerprint }

// fingerprintOf makes the ring's fingerprint of those of its keys.
func (r *Ring) fingerprintOf(keys []Key) Fingerprint {
	all := []byte(labelFingerprint)
	for i := range keys {
		all = append(all, r.secrets[i].fingerprint(keys[i].ID).bytes()...)
	}
	sum := hashFrom(firstChain, 0, all)
	return fingerprintFrom(sum[:])
}
