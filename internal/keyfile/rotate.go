package keyfile

import (
	"slices"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Rotation says how a ring renews itself.
type Rotation struct {
	// Every is how long a key signs before the next one does.
	Every time.Duration
	// Lead is how long a new key is in the ring before it signs, so that all proxies know it by then.
	Lead time.Duration
	// Overlap is for how long a key that no longer signs verifies: longer than the longest session that nobody uses.
	Overlap time.Duration
}

// Rotate gives the ring as it ought to be at a time, and when to look again: with a new key in front when the next
// has to begin to sign, and without those that are past. Since is when keys without a date began to sign. The ring
// itself stays as it is.
func (r Rotation) Rotate(
	ring policyconfig.KeyRing,
	since, now time.Time,
) (next policyconfig.KeyRing, again time.Time, err error) {
	var begins time.Time // of the newest key
	for _, k := range ring.Keys {
		at := since
		if k.NotBefore != 0 {
			at = time.Unix(int64(k.NotBefore), 0)
		}
		if at.After(begins) {
			begins = at
		}
	}
	if due := begins.Add(r.Every - r.Lead); now.Before(due) {
		return ring, due, nil
	}
	signsFrom := now.Add(r.Lead)
	ends := policyconfig.Time(signsFrom.Add(r.Overlap).Unix())
	next = policyconfig.KeyRing{NotAfter: ring.NotAfter}
	for _, k := range ring.Keys {
		if k.NotAfter == 0 {
			k.NotAfter = ends
		}
		if time.Unix(int64(k.NotAfter), 0).After(now) {
			next.Keys = append(slices.Clip(next.Keys), k)
		}
	}
	next, err = AddKey(next, ChooseID(ring, now), signsFrom)
	return next, signsFrom.Add(r.Every - r.Lead), err
}
