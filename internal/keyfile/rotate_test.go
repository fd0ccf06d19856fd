package keyfile

import (
	"strings"
	"testing"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// TestRotate follows a ring for a year: at each moment one key signs that was there for the lead, and each key verifies for the
// overlap after it has signed.
func TestRotate(t *testing.T) {
	const day = 24 * time.Hour
	rotation := Rotation{Every: 30 * day, Lead: time.Hour, Overlap: 45 * day}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ring := NewRing("first")
	known, signed := map[string]time.Time{"first": begin.Add(-day)}, map[string]time.Time{}
	rotations := 0
	for now := begin; now.Before(begin.Add(365 * day)); now = now.Add(10 * time.Minute) {
		next, again, err := rotation.Rotate(ring, begin, now)
		if err != nil {
			t.Fatal(now, err)
		}
		if !again.After(now) {
			t.Fatalf("%v: it is looked at again at %v", now, again)
		}
		for _, k := range next.Keys {
			if known[k.ID].IsZero() {
				known[k.ID] = now
				rotations++
			}
		}
		ring = next
		signer := signingAt(ring, now)
		if signer == "" || now.Sub(known[signer]) < rotation.Lead {
			t.Fatalf("%v: %q signs, which came at %v", now, signer, known[signer])
		}
		signed[signer] = now
		for id, last := range signed {
			if now.Sub(last) < rotation.Overlap && !verifiesAt(ring, id, now) {
				t.Fatalf("%v: %s does not verify any more, and has signed at %v", now, id, last)
			}
		}
		if len(ring.Keys) > 4 {
			t.Fatalf("%v: %d keys", now, len(ring.Keys))
		}
	}
	if rotations != 12 {
		t.Errorf("%d rotations in a year", rotations)
	}
}

func signingAt(ring policyconfig.KeyRing, now time.Time) string {
	for _, k := range ring.Keys {
		if int64(k.NotBefore) <= now.Unix() && (k.NotAfter == 0 || int64(k.NotAfter) > now.Unix()) {
			return k.ID
		}
	}
	return ""
}

func verifiesAt(ring policyconfig.KeyRing, id string, now time.Time) bool {
	for _, k := range ring.Keys {
		if k.ID == id {
			return k.NotAfter == 0 || int64(k.NotAfter) > now.Unix()
		}
	}
	return false
}

// TestRotateLate: a ring that was not looked at for long gets one key, which signs after the lead, and the old one signs until then.
func TestRotateLate(t *testing.T) {
	rotation := Rotation{Every: time.Hour, Lead: time.Minute, Overlap: 2 * time.Hour}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := begin.Add(100 * time.Hour)
	next, again, err := rotation.Rotate(NewRing("old"), begin, now)
	if err != nil || len(next.Keys) != 2 || signingAt(next, now) != "old" || !strings.HasPrefix(signingAt(next, now.Add(time.Minute)), "2026-01-05-") {
		t.Errorf("%d keys, %s signs: %v", len(next.Keys), signingAt(next, now), err)
	}
	if want := now.Add(time.Hour); !again.Equal(want) {
		t.Errorf("again at %v, want %v", again, want)
	}
}
