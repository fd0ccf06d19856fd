package token

import (
	"errors"
	"strconv"
)

// Ring is an ordered set of signing keys: the first that may sign does, all that are not retired verify.
// It does not change and is safe for concurrent use.
type Ring struct {
	dates   dates
	secrets []macKey // of each key, as the start of the derivations

	fingerprint Fingerprint
}

// dates say, key by key, how tokens name it and when it signs and verifies.
type dates []keyDates

type keyDates struct {
	tag                 tag
	notBefore, notAfter int64
}

// NewRing makes a ring of at least one key. The error joins all faults of all keys, one a line, each with its path
// such as "keys[1].secret".
func NewRing(keys []Key) (*Ring, error) {
	if len(keys) == 0 {
		return nil, errors.New("keys: Required value: at least one key")
	}
	var faults []error
	r := &Ring{dates: make(dates, 0, len(keys)), secrets: make([]macKey, 0, len(keys))}
	for i := range keys {
		k := &keys[i]
		path := "keys[" + strconv.Itoa(i) + "]"
		faults = append(faults, k.validate(path), validateUnique(keys[:i], k.ID, path+".id"))
		r.dates = append(r.dates, keyDates{makeTag(labelKeyID, k.ID), k.NotBefore, k.NotAfter})
		r.secrets = append(r.secrets, newMACKey(k.Secret))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	r.fingerprint = r.fingerprintOf(keys)
	return r, nil
}

// validateUnique compares the id with those before it. Tokens tell keys apart by their tags alone, so two ids
// with one tag (odds of 1 in 4 billion) can't be in one ring either.
func validateUnique(before []Key, id, path string) error {
	for i := range before {
		other := before[i].ID
		if other == id && id != "" {
			return errors.New(path + ": Duplicate value: " + strconv.Quote(id))
		}
		if other != id && makeTag(labelKeyID, other) == makeTag(labelKeyID, id) {
			return errors.New(path + ": Invalid value: " + strconv.Quote(id) +
				": has the same tag as " + strconv.Quote(other) + "; choose another id")
		}
	}
	return nil
}

// retired reports whether the key has stopped to sign and to verify.
func (k *keyDates) retired(now int64) bool {
	return k.notAfter != 0 && now >= k.notAfter
}

// findKey returns the index of the key that has the tag and verifies at now, or -1.
func (d dates) findKey(t tag, now int64) int {
	for i := range d {
		if k := &d[i]; k.tag == t && !k.retired(now) {
			return i
		}
	}
	return -1
}

// signer returns the index of the key that signs at now, or -1.
func (d dates) signer(now int64) int {
	for i := range d {
		if k := &d[i]; now >= k.notBefore && !k.retired(now) {
			return i
		}
	}
	return -1
}
