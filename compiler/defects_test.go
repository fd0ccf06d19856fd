package compiler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// defectTests are those that reading other products has found and that concern a compiler, and the golden cases that
// show that limpet does not have them. Those of tokens (HAProxy's hash and dates, nginx's digest and its Set-Cookie
// on every response) are tests of the token and the filter.
var defectTests = map[string][]string{
	"Istio: header sessions lose draining endpoints, cookie sessions don't":    {"draining-host-keeps-its-sessions"},
	"Istio: a later Service of a split takes the earlier one's session away":   {"backend-without-policy-leaves-the-session"},
	"Envoy Gateway: no override_host_status, so sessions leave draining hosts": {"draining-host-keeps-its-sessions"},
	"Envoy Gateway: a backend of weight 0 is skipped, and its sessions break":  {"weight-zero-keeps-its-sessions"},
	"Envoy Gateway: absoluteTimeout has no effect for Session and for Header":  {"absolute-timeout-for-every-lifetime"},
	"Envoy: strict does not survive a retry": {
		"fail-is-strict-and-not-retried", "release-17-one-backend-is-strict",
	},
	"Envoy: the override_host policy sends to unhealthy and draining hosts": {}, // see TestDefectsHaveCases
}

// TestDefectsHaveCases holds that each defect has a golden case that says so, and that no golden output has Envoy's
// override_host policy, which is the defect that a compiler need not fall into.
func TestDefectsHaveCases(t *testing.T) {
	for defect, cases := range defectTests {
		for _, name := range cases {
			text, err := os.ReadFile(filepath.Join("testdata", name+".in.yaml"))
			comment, _, _ := strings.Cut(string(text), "\napiVersion:")
			if err != nil || !strings.Contains(comment, "1b") {
				t.Errorf("%s: %s does not say that it is about it: %s (%v)", defect, name, comment, err)
			}
		}
	}
	eachOutput(t, ".envoy.yaml", minBootstraps, func(name string, text []byte) {
		if strings.Contains(string(text), "load_balancing_policies.override_host") {
			t.Errorf("%s has Envoy's override_host policy", name)
		}
	})
}
