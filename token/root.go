package token

import (
	"encoding/base64"
	"errors"
	"strings"
)

// MaxRoots is how many root secrets a proxy can have at a time: the one in use, and that which it takes the place of.
const MaxRoots = 2

// Root is a root secret, under which key rings are sealed.
type Root struct {
	// Target is whom the secret is for, such as istio: what is sealed with one opens with no other. It may be empty.
	Target string
	// Secret is at least MinSecret bytes, from a random source.
	Secret []byte
}

// String keeps the secret out of logs.
func (r Root) String() string { return "root for " + r.Target + " [secret]" }

// GoString keeps the secret out of logs.
func (r Root) GoString() string { return r.String() }

// errRoots never holds the text.
var errRoots = errors.New(
	"must be one or two root secrets, with a comma between them: each of at least 32 bytes as URL-safe base64 " +
		"without padding, with its target and a colon in front or without",
)

// ParseRoots reads the root secrets in LIMPET_ROOT: the first seals, and each unseals. A line may end after them, for
// they come from files too.
func ParseRoots(text string) ([]Root, error) {
	var roots []Root
	for part := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), ",") {
		target, encoded, has := strings.Cut(part, ":")
		if !has {
			target, encoded = "", part
		}
		secret, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
		if err != nil || len(secret) < MinSecret || strings.ContainsAny(encoded, "\r\n") || !isTarget(target) ||
			has && target == "" {
			return nil, errRoots
		}
		roots = append(roots, Root{Target: target, Secret: secret})
	}
	if len(roots) > MaxRoots {
		return nil, errRoots
	}
	return roots, nil
}

// Text is r as LIMPET_ROOT has it.
func (r *Root) Text() string {
	secret := base64.RawURLEncoding.EncodeToString(r.Secret)
	if r.Target == "" {
		return secret
	}
	return r.Target + ":" + secret
}

func isTarget(s string) bool {
	for i := range len(s) {
		if !isIDChar(s[i]) {
			return false
		}
	}
	return len(s) <= 64
}

// UnsealText undoes [Root.Seal] with the root secrets that LIMPET_ROOT holds.
func UnsealText(roots, sealed string) (plain string, err error) {
	list, err := ParseRoots(roots)
	if err != nil {
		return "", err
	}
	text, err := Unseal(list, sealed)
	return string(text), err
}
