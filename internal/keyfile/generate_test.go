package keyfile

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// TestChooseID: the id of a new key is the day's and a random part, so that two rings of one day have none in common.
func TestChooseID(t *testing.T) {
	now := time.Date(2026, 11, 22, 23, 0, 0, 0, time.FixedZone("", -3600)) // in UTC it is the 23rd
	form, seen := regexp.MustCompile(`^2026-11-23-[0-9a-f]{6}$`), policyconfig.KeyRing{}
	for range 50 {
		id := ChooseID(seen, now)
		if !form.MatchString(id) || Check(NewRing(id)) != nil {
			t.Errorf("the id is %q", id)
		}
		if slices.ContainsFunc(seen.Keys, func(k policyconfig.Key) bool { return k.ID == id }) {
			t.Errorf("%s twice", id)
		}
		seen.Keys = append(seen.Keys, policyconfig.Key{ID: id})
	}
}

// TestAddKey puts a key in front that signs later, and refuses one that the ring has.
func TestAddKey(t *testing.T) {
	old := NewRing("old")
	longer, err := AddKey(old, "new", time.Unix(1000, 0))
	if err != nil || len(longer.Keys) != 2 || longer.Keys[0].ID != "new" || longer.Keys[0].NotBefore != 1000 ||
		!bytes.Equal(longer.Keys[1].Secret, old.Keys[0].Secret) {
		t.Errorf("got %d keys, %v", len(longer.Keys), err)
	}
	if len(old.Keys) != 1 || bytes.Equal(longer.Keys[0].Secret, old.Keys[0].Secret) {
		t.Error("the old ring changed, or the new key is the old one")
	}
	if _, err := AddKey(old, "old", time.Unix(1000, 0)); err == nil || !strings.Contains(err.Error(), "Duplicate value") {
		t.Errorf("a key twice: %v", err)
	}
}
