package keyfile

import (
	"bytes"
	"slices"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Retired gives the keys of a ring that verified until now and are not in the next one, or have ended there, with the
// time at which each may have signed last: that at which a key before it began to, where that is written, else now.
func Retired(before, after policyconfig.KeyRing, now time.Time) map[string]time.Time {
	retired, signed := map[string]time.Time{}, now
	next := States(after, now)
	for i, state := range States(before, now) {
		if state == WillSign {
			continue // it has signed nothing yet
		}
		k := &before.Keys[i]
		at := slices.IndexFunc(
			after.Keys,
			func(o policyconfig.Key) bool { return o.ID == k.ID && bytes.Equal(o.Secret, k.Secret) },
		)
		if stays := at >= 0 && next[at] != Expired; !stays && state != Expired {
			retired[k.ID] = signed
		}
		if began := time.Unix(int64(k.NotBefore), 0); k.NotBefore != 0 && began.Before(signed) {
			signed = began
		}
	}
	return retired
}
