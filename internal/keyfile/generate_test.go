package keyfile

import (
	"bytes"
	"strings"
	"testing"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

func TestChooseID(t *testing.T) {
	now := time.Date(2026, 11, 21, 23, 30, 0, 0, time.FixedZone("", -3600)) // the 22nd in UTC
	for _, c := range []struct {
		taken []string
		want  string
	}{
		{nil, "2026-11-22"},
		{[]string{"2026-11-21"}, "2026-11-22"},
		{[]string{"2026-11-22"}, "2026-11-22-2"},
		{[]string{"2026-11-22-3", "2026-11-22-2", "2026-11-22"}, "2026-11-22-4"},
	} {
		var taken policyconfig.KeyRing
		for _, id := range c.taken {
			taken.Keys = append(taken.Keys, policyconfig.Key{ID: id})
		}
		if got := ChooseID(taken, now); got != c.want {
			t.Errorf("in a ring with %v: %s, want %s", c.taken, got, c.want)
		}
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
