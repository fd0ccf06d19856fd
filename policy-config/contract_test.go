package policyconfig

import (
	"regexp"
	"testing"
)

// Envoy's labels come from the names that the filter gives its counters.
func TestCounterLabels(t *testing.T) {
	for _, policy := range []string{"shop/cart/rule/0", "shop/a.outcome.b/rule/0/match/1", "p"} {
		name := "wasmcustom." + SessionsCounter(policy, "host-lost")
		if found := regexp.MustCompile(PolicyLabelPattern).FindStringSubmatch(name); len(found) != 3 || found[2] != policy {
			t.Errorf("%s: the label is %q, want the policy %q", name, found, policy)
		}
		if found := regexp.MustCompile(OutcomeLabelPattern).FindStringSubmatch(name); len(found) != 3 || found[2] != "host-lost" {
			t.Errorf("%s: the label is %q, want the outcome", name, found)
		}
	}
}

func TestEnvironmentVariable(t *testing.T) {
	for want, keys := range map[string]Keys{
		"":             {Ring: &KeyRing{}},
		"LIMPET_ROOT":  {Sealed: "s"},
		"LIMPET_KEYS":  {},
		"OTHER_SECRET": {FromEnv: "OTHER_SECRET"},
	} {
		if got := keys.EnvironmentVariable(); got != want {
			t.Errorf("%+v: got %q, want %q", keys, got, want)
		}
	}
}
