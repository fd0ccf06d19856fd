package keyfile

import (
	"maps"
	"testing"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// TestRetired: a key that goes may have signed until one before it began to, and one that signed nothing or verifies nothing is not missed.
func TestRetired(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	at := func(hours int) policyconfig.Time {
		return policyconfig.Time(now.Add(time.Duration(hours) * time.Hour).Unix())
	}
	a, b, c := NewRing("a").Keys[0], NewRing("b").Keys[0], NewRing("c").Keys[0]
	from := func(k policyconfig.Key, begins int) policyconfig.Key { k.NotBefore = at(begins); return k }
	until := func(k policyconfig.Key, ends int) policyconfig.Key { k.NotAfter = at(ends); return k }
	another := NewRing("a").Keys[0]
	type keys []policyconfig.Key
	for name, x := range map[string]struct {
		before, after keys
		want          map[string]time.Duration // since when it has not signed
	}{
		"nothing changes":                  {keys{a, b}, keys{b, a}, nil},
		"there were none":                  {nil, keys{a}, nil},
		"the one that signs":               {keys{a, b}, keys{b}, map[string]time.Duration{"a": 0}},
		"one behind a key without a date":  {keys{a, b}, keys{a}, map[string]time.Duration{"b": 0}},
		"one behind a key with a date":     {keys{from(a, -5), b}, keys{a}, map[string]time.Duration{"b": 5 * time.Hour}},
		"two behind keys with dates":       {keys{from(a, -2), from(b, -7), c}, keys{a}, map[string]time.Duration{"b": 2 * time.Hour, "c": 7 * time.Hour}},
		"one behind a key that is to sign": {keys{from(a, 1), b}, keys{from(a, 1)}, map[string]time.Duration{"b": 0}},
		"one that is to sign":              {keys{from(a, 1), b}, keys{b}, nil},
		"one that has ended":               {keys{a, until(b, -1)}, keys{a}, nil},
		"one that would have ended":        {keys{a, until(b, 1)}, keys{a}, map[string]time.Duration{"b": 0}},
		"one that an edit ends":            {keys{a, b}, keys{a, until(b, -1)}, map[string]time.Duration{"b": 0}},
		"one that an edit ends later":      {keys{a, b}, keys{a, until(b, 1)}, nil},
		"another secret under the same id": {keys{a}, keys{another}, map[string]time.Duration{"a": 0}},
	} {
		got := map[string]time.Duration{}
		for id, signed := range Retired(policyconfig.KeyRing{Keys: x.before}, policyconfig.KeyRing{Keys: x.after}, now) {
			got[id] = now.Sub(signed)
		}
		if !maps.Equal(got, x.want) {
			t.Errorf("%s: got %v, want %v", name, got, x.want)
		}
	}
}
