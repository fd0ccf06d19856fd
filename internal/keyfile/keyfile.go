// Package keyfile reads, checks, makes and seals the key rings that users keep in files, Secrets and the environment.
// No error or warning of it ever shows a key.
package keyfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// maxFile is the size in bytes beyond which a key file is surely something else.
const maxFile = 1 << 20

// Read reads a file with a key ring, or with a Secret that holds one. The warning, if there is one, says that others
// than the file's owner can use it; it comes with an error too.
func Read(path string) (ring policyconfig.KeyRing, warning string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return policyconfig.KeyRing{}, "", err
	}
	defer f.Close()
	ring, err = ReadFrom(path, f)
	return ring, warnOfMode(path, f), err
}

// warnOfMode says that others than its owner can use a file, or put their own in its place, if they can.
func warnOfMode(path string, f *os.File) (warning string) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if info.Mode()&0o077 == 0 {
		return WarnOfFolder(path)
	}
	return fmt.Sprintf("%s: others than its owner can use this key file (mode %04o); run 'chmod 600' on it",
		path, info.Mode().Perm())
}

// WarnOfFolder says that others can put a file of theirs in the place of one, if they can: whose keys limpet uses, they
// would say. In a folder with the sticky bit they can't.
func WarnOfFolder(path string) (warning string) {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err != nil || info.Mode()&0o022 == 0 || info.Mode()&os.ModeSticky != 0 {
		return ""
	}
	return fmt.Sprintf("%s: others than its owner can replace %s (mode %04o); run 'chmod go-w' on the folder",
		dir, filepath.Base(path), info.Mode().Perm())
}

// ReadFrom reads a key ring, or a Secret that holds one; name is for messages.
func ReadFrom(name string, r io.Reader) (policyconfig.KeyRing, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return policyconfig.KeyRing{}, err
	}
	if len(data) > maxFile {
		return policyconfig.KeyRing{}, fmt.Errorf("%s: not a key ring: more than %d bytes", name, maxFile)
	}
	if _, err := ParseRoots(name, string(data)); err == nil {
		return policyconfig.KeyRing{}, fmt.Errorf(
			"%s: this is a root secret, for --root; a key ring is JSON, as 'limpet keygen' makes it",
			name,
		)
	}
	text, err := extractRing(string(data))
	if err != nil {
		return policyconfig.KeyRing{}, fmt.Errorf("%s: %w", name, err)
	}
	return Parse(name, text)
}

// Parse parses a key ring's JSON, in which every rule of policyconfig and of token must hold; name is for messages.
func Parse(name, data string) (policyconfig.KeyRing, error) {
	ring, problems := policyconfig.ParseKeyRing(data)
	var err error
	for _, p := range problems {
		what := name
		if p.Path == "keys" && p.Message == "Required value" {
			what += ": not a key ring, as 'limpet keygen' makes it"
		}
		err = errors.Join(err, fmt.Errorf("%s: %w", what, p))
	}
	if err != nil {
		return policyconfig.KeyRing{}, err
	}
	if err := Check(ring); err != nil {
		return policyconfig.KeyRing{}, fmt.Errorf("%s: %w", name, err)
	}
	return ring, nil
}

// Check builds the ring as the filter will.
func Check(ring policyconfig.KeyRing) error {
	_, err := Ring(ring)
	return err
}

// Ring is the ring as the filter has it.
func Ring(ring policyconfig.KeyRing) (*token.Ring, error) {
	keys := make([]token.Key, 0, len(ring.Keys))
	for i := range ring.Keys {
		k := &ring.Keys[i]
		keys = append(
			keys,
			token.Key{ID: k.ID, Secret: k.Secret, NotBefore: int64(k.NotBefore), NotAfter: int64(ring.EndOf(k))},
		)
	}
	return token.NewRing(keys)
}

// CheckNotExpired refuses a ring without a key that still verifies: with it, no request would have a session.
func CheckNotExpired(ring policyconfig.KeyRing, now time.Time) error {
	for i := range ring.Keys {
		if end := ring.EndOf(&ring.Keys[i]); end == 0 || int64(end) > now.Unix() {
			return nil
		}
	}
	return errors.New("keys: every key's notAfter, or the ring's, has passed, so no session could begin or go on; " +
		"'limpet keygen --add-to FILE -o FILE' puts a new key in front")
}

// Marshal gives a ring as one line of JSON, without the line's end: the form for LIMPET_KEYS.
func Marshal(ring policyconfig.KeyRing) ([]byte, error) {
	text, err := policyconfig.MarshalKeyRing(ring)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	err = json.Compact(&line, text)
	return line.Bytes(), err
}
