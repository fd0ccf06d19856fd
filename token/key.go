package token

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// MinSecret is the least length of a key's secret, and of the root secret of [Seal], in bytes.
const MinSecret = 32

// Key is one signing key of a ring.
type Key struct {
	// ID names the key: 1 to 64 characters of A-Z a-z 0-9 . _ -, unique in the ring. Tokens carry a hash of it.
	ID string
	// Secret is at least MinSecret bytes, from a random source.
	Secret []byte
	// NotBefore is when the key starts to sign, in Unix seconds; 0 is at once. It verifies from the start.
	NotBefore int64
	// NotAfter is when the key stops to sign and to verify, in Unix seconds; 0 is never.
	NotAfter int64
}

// tag is a short public name: the first four bytes of a hash.
type tag uint32

// The labels keep apart everything that is hashed or derived. Each ends with a zero byte, so that a label and a
// name together never read as another label and name.
const (
	labelKeyID = "limpet.dev/v1 key id\x00"
	labelScope = "limpet.dev/v1 scope\x00"
	labelMAC   = "limpet.dev/v1 mac\x00"
	labelHost  = "limpet.dev/v1 host\x00"
)

func makeTag(label, name string) tag {
	sum := hashFrom(firstChain, 0, []byte(label+name))
	return tag(binary.BigEndian.Uint32(sum[:]))
}

// validate returns every fault of k, each with its path.
func (k *Key) validate(path string) error {
	return errors.Join(
		k.validateID(path+".id"),
		k.validateSecret(path+".secret"),
		k.validateTimes(path),
	)
}

func (k *Key) validateID(path string) error {
	if k.ID == "" {
		return errors.New(path + ": Required value")
	}
	for i := range len(k.ID) {
		if !isIDChar(k.ID[i]) {
			return errors.New(path + ": Invalid value: " + strconv.Quote(k.ID) + ": must consist of A-Z a-z 0-9 . _ -")
		}
	}
	if len(k.ID) > 64 {
		return errors.New(path + ": Too long: may not be more than 64 bytes")
	}
	return nil
}

func isIDChar(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

// validateSecret tells the secret's length and nothing else of it.
func (k *Key) validateSecret(path string) error {
	if len(k.Secret) == 0 {
		return errors.New(path + ": Required value")
	}
	if len(k.Secret) < MinSecret {
		return errors.New(path + `: Invalid value: "[secret]": must be at least ` +
			strconv.Itoa(MinSecret) + " bytes, not " + strconv.Itoa(len(k.Secret)))
	}
	return nil
}

func (k *Key) validateTimes(path string) error {
	if k.NotBefore < 0 || k.NotAfter < 0 {
		return errors.New(path + ": Invalid value: notBefore and notAfter must not be before 1970")
	}
	if k.NotAfter != 0 && k.NotAfter <= k.NotBefore {
		return errors.New(
			path + ".notAfter: Invalid value: " + strconv.FormatInt(k.NotAfter, 10) + ": must be later than notBefore",
		)
	}
	return nil
}
