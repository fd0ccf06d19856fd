package policyconfig

import (
	"encoding/base64"
	"errors"
	"fmt"
)

// Secret is key material. It prints as [secret] under every verb of package fmt and in every text encoding,
// so that no log and no stray encoding of a Config can give it away. Only Marshal and MarshalKeyRing write it out.
type Secret []byte

const redacted = "[secret]"

// Format prints [secret], whatever the verb and the flags. Only two mistakes pass it by, as package fmt then
// calls no methods at all: %w of what is not an error, and %p of a struct. go vet, and so go test, refuses both.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// String is [secret].
func (s Secret) String() string { return redacted }

// GoString is [secret].
func (s Secret) GoString() string { return redacted }

// MarshalText is [secret], so that encoding/json and its like reveal nothing.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

var errBase64 = errors.New("must be URL-safe base64 without padding")

// decodeBase64 is strict: one text for each byte string, so no padding, no line breaks (which package base64
// would skip) and no spare bits.
func decodeBase64(text string) ([]byte, error) {
	for i := range len(text) {
		if c := text[i]; !alphanumeric(c) && c != '-' && c != '_' {
			return nil, errBase64
		}
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errBase64 // the package's own error says where in the secret it stopped
	}
	return raw, nil
}
