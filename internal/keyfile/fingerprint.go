package keyfile

import (
	"fmt"
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// Fingerprints tell a ring and its keys from others, and hold nothing of them. The zero value stands for no ring.
type Fingerprints struct {
	// Ring is that of the whole ring, and Gauge the same as filters show it.
	Ring  string            `json:"ring"`
	Gauge token.Fingerprint `json:"gauge"`
	Keys  []KeyFingerprint  `json:"keys"`
}

// KeyFingerprint is that of one key.
type KeyFingerprint struct {
	ID          string `json:"id"`
	Fingerprint string `json:"fingerprint"`
}

// FingerprintsOf gives those of a ring.
func FingerprintsOf(ring policyconfig.KeyRing) (Fingerprints, error) {
	built, err := Ring(ring)
	if err != nil {
		return Fingerprints{}, err
	}
	f := Fingerprints{Gauge: built.Fingerprint(), Ring: built.Fingerprint().String()}
	for i := range ring.Keys {
		key := token.Key{ID: ring.Keys[i].ID, Secret: ring.Keys[i].Secret}
		f.Keys = append(f.Keys, KeyFingerprint{key.ID, key.Fingerprint().String()})
	}
	return f, nil
}

// String is a line for people.
func (f Fingerprints) String() string {
	keys := make([]string, len(f.Keys))
	for i, k := range f.Keys {
		keys[i] = k.ID + " " + k.Fingerprint
	}
	return fmt.Sprintf(
		"fingerprints of the keys: %s; %s of Envoys with them: %d",
		strings.Join(keys, ", "),
		policyconfig.KeysGauge,
		f.Gauge,
	)
}
