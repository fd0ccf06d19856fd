package keyfile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// State is what a key is for at a time.
type State string

// The states. The first key of a ring that may sign does.
const (
	Signs    State = "signs"
	Verifies State = "verifies"
	WillSign State = "will sign"
	Expired  State = "expired"
)

// States returns the states of a ring's keys, in their order.
func States(ring policyconfig.KeyRing, now time.Time) []State {
	states := make([]State, len(ring.Keys))
	for i := range ring.Keys {
		k := &ring.Keys[i]
		switch end := ring.EndOf(k); {
		case end != 0 && now.Unix() >= int64(end):
			states[i] = Expired
		case now.Unix() < int64(k.NotBefore):
			states[i] = WillSign
		case slices.Contains(states[:i], Signs):
			states[i] = Verifies
		default:
			states[i] = Signs
		}
	}
	return states
}

// Retire returns a copy of a ring without one of its keys. It refuses where no key would sign then.
func Retire(ring policyconfig.KeyRing, id string, now time.Time) (policyconfig.KeyRing, error) {
	at := slices.IndexFunc(ring.Keys, func(k policyconfig.Key) bool { return k.ID == id })
	if at < 0 {
		var ids []string
		for i := range ring.Keys {
			ids = append(ids, ring.Keys[i].ID)
		}
		return ring, fmt.Errorf("the ring has no key %q; it has %s", id, strings.Join(ids, ", "))
	}
	ring.Keys = slices.Delete(slices.Clone(ring.Keys), at, at+1)
	if !slices.Contains(States(ring, now), Signs) {
		return ring, fmt.Errorf("without key %s none signs now, and no session could begin; "+
			"'limpet keygen --add-to FILE -o FILE' puts a new one in front, which signs after --overlap", id)
	}
	return ring, nil
}
